/* Collects small writes to descriptor 1 while a request runs, so that a program which prints many lines does not pay a system call for each. */
#ifndef IPYTHON_MCP_COMBINE_H
#define IPYTHON_MCP_COMBINE_H

#include "bridge.h"

/* Takes over C's stdout. Call it once, before CPython starts. */
void combine_prepare(const bridge_library *library);

/* Begins to collect, if CPython is up. Descriptor 1 has to be the capture pipe. */
void combine_begin(void);

/* Writes out what is collected. Any thread may call it. */
void combine_flush(void);

/* Stops collecting and writes out what there is. */
void combine_end(void);

#endif
