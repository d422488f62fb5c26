// Package cpython loads one CPython into this process and exchanges bytes with it.
//
// # Threads
//
// [Library.Main] runs CPython on the process's main OS thread until it finalizes; package main locks that thread in init. It alone
// runs Python. Every other function may be called from any goroutine, and none of them ever needs the GIL: requests and replies
// cross a socket pair ([Channel]), interrupts are signals sent to Python's thread ([Channel.Interrupt]). While Python waits for a request,
// it lends its thread ([Channel.Lend]): a goroutine that runs on it calls Python there, without the socket pair.
//
// # Ownership
//
// No Python object is ever seen in Go. Of the C API, functions of the stable ABI are called, and PyFunction's accessors and PySys_AddAuditHook,
// which every version has, found by name with dlsym, so neither headers nor a Python at link time are needed and one binary serves every minor
// version. The builtin module _ipymcp (module.c) holds references for the time of one call only, with the GIL. The argument vector handed to
// Py_BytesMain lives on the C heap until the process ends, because CPython keeps pointers into it.
//
// # Signals
//
// Signals that end a process by default, and the interrupt (SIGSTKFLT), go through a handler of this package ([GuardSignals]). SIGINT, SIGTERM
// and SIGHUP from another process are reported on a pipe and end the server, whatever handlers user code installed; so is SIGQUIT where
// nothing handles it. Everything else goes to user code's handler, and does nothing where there is none, except that SIGTERM and SIGHUP that this
// process sends itself end the server. The interrupt's handler cannot be replaced. The few signals that Go's
// runtime needs stay its own; the others have their default when CPython starts. Go's threads block those that programs wait for, so that only
// Python's take them. Other signals come by that handler where something handles them: each that does ends the wait on a lent thread, also one
// that came just before it, and runs on the alternate stack. A forked child gets default handlers back. [StackSignal] asks for the Python stack
// ([Stacks]).
//
// # Descriptors
//
// What this process has open is not open for Python ([Protect]): the program's own close, dup2, write and their like, which go before the C
// library's, fail with EBADF there. Go's system calls do not pass the C library.
//
// # Lifetime
//
// One interpreter per process, started once. CPython cannot be loaded twice or restarted.
//
// # Not supported
//
// Free-threaded builds, builds without a shared library, and versions before 3.11: [Load] says so.
package cpython
