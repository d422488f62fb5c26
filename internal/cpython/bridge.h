/* The C side of package cpython: load libpython, run it, interrupt it, route termination signals. */
#ifndef IPYTHON_MCP_BRIDGE_H
#define IPYTHON_MCP_BRIDGE_H

#include <stddef.h>

typedef struct {
	const char *(*get_version)(void);
	int (*bytes_main)(int argc, char **argv);
	int (*is_initialized)(void);
	int (*add_pending_call)(int (*call)(void *argument), void *argument);
	int (*add_audit_hook)(int (*hook)(const char *event, void *arguments, void *data), void *data);
} bridge_library;

/* Opens the library at path and looks up what bridge_library names. Returns 0, or -1 with the loader's message copied into error
 * (size bytes, always terminated). The handle is never closed: CPython cannot be unloaded. */
int bridge_load(const char *path, bridge_library *library, char *error, size_t size);

/* Py_GetVersion: a static string of the library's, valid before the interpreter is initialized. */
const char *bridge_version(const bridge_library *library);

/* Py_BytesMain on the calling thread, which becomes the target of bridge_interrupt. argv and its strings stay with CPython. */
int bridge_main(const bridge_library *library, int argc, char **argv);

/* Whether the calling thread is inside bridge_main. */
int bridge_is_python_thread(void);

/* Sends the interrupting signal to the thread inside bridge_main. Returns 0, or an error number (ESRCH when there is none). */
int bridge_interrupt(void);

/* Sends another signal to that thread, but only where something handles it, so that it cannot end the process. Returns 0, or an error number
 * (ESRCH when there is no thread, or no handler). */
int bridge_ask(int number);

/* Puts the routing handler in front of whatever handles SIGINT, SIGTERM, SIGHUP and the interrupt now; bridge_main does so for other signals.
 * Fixes the server's process id, the descriptor that foreign signals are reported to (one byte each), and Go's own handler. Call it once. */
void bridge_guard_signals(int notify);

/* Puts the routing handler back where it was replaced; nothing before bridge_guard_signals. */
void bridge_repair_guard(void);

/* An event descriptor that does not block: each signal that is handled in this process adds to it. */
void bridge_wake_by(int fd);

/* Sets it to zero. */
void bridge_forget_wakes(void);

/* Flushes C's stdout, whose buffer C extensions and ctypes may have filled. */
void bridge_flush(void);

#endif
