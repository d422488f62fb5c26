/* Collects small writes to descriptor 1 while a request runs, so that a program which prints many lines does not pay a system call for each. */
#ifndef IPYTHON_MCP_COMBINE_H
#define IPYTHON_MCP_COMBINE_H

#include "bridge.h"

/* Takes over C's stdout. Call it once, before CPython starts. */
void combine_prepare(const bridge_library *library);

/* What is not collected because it is large, in bytes. */
enum { COMBINE_MOST = 16 << 10 };

/* Whether small writes are collected now. */
int combine_is_collecting(void);

/* Collects what is to be written to descriptor 1, if it is small and that is done now, and reports whether it did. Never waits for Python. */
int combine_collect(const char *data, size_t length);

/* Begins to collect, if CPython is up. Descriptor 1 has to be the capture pipe. */
void combine_begin(void);

/* Writes out what is collected. Any thread may call it. */
void combine_flush(void);

/* Stops collecting and writes out what there is. */
void combine_end(void);

#endif
