// Package descriptors owns descriptors 0, 1 and 2 of the process.
//
// [Take] moves the originals away before anything can write to them: the MCP protocol gets private duplicates of 0 and 1, logs one of 2. In
// their place stand /dev/null and two pipes, so that whatever user code, a C library or a child process writes is captured, and
// reading gives end of file. A goroutine per pipe drains it into the writer of the moment; neither it nor any other code here ever needs
// the GIL, so a C function that holds it cannot deadlock on a full pipe.
//
// [Stdio.Redirect] is exact: what was written before it goes to the old writers, what is written after it to the new ones.
//
// All methods may be called from any goroutine. The writers are called by one goroutine at a time per stream, under that
// stream's lock, and must not block.
package descriptors
