/* The builtin module _ipymcp, with which Python lends its main thread: see Channel.Lend. */
#ifndef IPYTHON_MCP_MODULE_H
#define IPYTHON_MCP_MODULE_H

#include <stddef.h>

/* Looks up what the module needs of the C API, in the library that dlopen gave. Returns 0, or -1 where something is missing. */
int module_load(void *handle);

/* Makes the module known. Call it once, before CPython is initialized. */
int module_register(void);

/* Hands a request to the function that Python lent its thread with, and waits for the reply. Only for code that runs on the lent thread.
 * On success returns 0 and sets *reply (size bytes, to be freed by the caller) and *descriptor, which Python waits for between two requests;
 * -1: it has something to do. Otherwise returns -1: Python did not reply. The request stays the caller's. */
int module_dispatch(const char *request, size_t length, char **reply, size_t *size, int *descriptor);

/* Lets Python use its lent thread until the descriptor is readable. Only for code that runs on that thread. */
void module_aside(int descriptor);

#endif
