// Command ipython-mcp gives an MCP client one live IPython namespace over stdio.
package main

import (
	"os"
	"runtime"
)

// The main goroutine stays on the process's main OS thread: CPython's main thread has to be that one, so that signal handlers, asyncio
// and GUI checks of user code hold.
func init() { runtime.LockOSThread() }

func main() { os.Exit(run(os.Args[1:])) }
