// Package envprov decides, before anything starts, which Python serves and with which settings.
//
// [ParseSettings] reads the variables that describe the environment, and reports every problem in them at once.
// [Locate] asks an interpreter where its shared library is. [Provision] makes the configured uv environment where it is
// missing, or says why the one that is there cannot be used; [Look] says what Provision would do, and does nothing.
// [Redactor] keeps secrets out of every message.
//
// # The workspace
//
// An environment lives in <workspace>/<name>/, with its description in ipython-mcp.json. It is there completely or not
// at all: it is made in <workspace>/.<name>.tmp-<random>/ and renamed. Whoever makes it holds <workspace>/.<name>.lock,
// so a temporary directory whose lock is free belongs to a start that was killed; the next start in the workspace
// removes it. A finished environment is never changed, except that its links to an interpreter that has gone are
// pointed at the present one, and that the time of its description is that of the packages that are known to serve.
//
// # Callers
//
// Pure Go; every function may be called from any goroutine, and Provision from any number of processes on one
// workspace. Nothing here loads Python into this process or knows MCP. uv and Python are run as children; uv's process
// group is ended at the time limit and when the context ends, and uv ends with the thread that started it, so Provision
// is best called on a thread that lives as long as the process.
package envprov
