// Package shell owns the live IPython namespace, seen from Go: one [Shell], one queue, one operation at a time in arrival order.
//
// A caller reserves a [Ticket] the moment a request arrives ([Shell.Reserve], never blocks) and hands it to one operation, which waits for
// its turn, runs in the interpreter and gives the ticket back. The first ticket belongs to the start of the namespace itself, so that operations which
// arrive early wait for it; if the start fails, each of them answers a [StartupError].
//
// A call that [Shell.Run] takes is an [Execution] from its turn on. Its work is done on the call's own goroutine, and timers keep its
// clocks: the call can be answered before the work is over (Early), joined by another call of the same cell, found by its id, and
// interrupted through the context of the work, which nothing else ends.
//
// What user code prints belongs to the operation that runs: its two streams are collected (bounded, the whole text spooled to disk)
// from the moment it starts to the moment its reply is there. What arrives between operations is kept for the next execution's
// background_output.
//
// What user code asks a person ([Question]) is put to the [Asker] of the ticket whose turn it is, on a goroutine that ends with the question.
//
// All methods may be called from any goroutine. Nothing here knows cgo or MCP: the interpreter is an [Engine], the descriptors are an
// [Output]. The embedded Python package under python/ is the other half; shell/answers.go is the form of what crosses.
package shell
