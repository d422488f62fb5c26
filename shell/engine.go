package shell

import "io"

// Engine runs requests in the interpreter.
type Engine interface {
	// Call sends one request and hands over what Python sends then, until take says that it was the reply, however long user code runs.
	// Calls do not overlap.
	Call(request []byte, take func(frame []byte) (last bool)) error
	// Send sends Python an answer to what it has asked in the call that runs. Any goroutine may use it, also when that call has just ended.
	Send(frame []byte) error
	// Interrupt raises KeyboardInterrupt in the call that runs now, never in a later one; it reports whether one ran.
	Interrupt() bool
}

// Output is where descriptors 1 and 2 of the process end.
type Output interface {
	// Redirect sends what was written so far to the writers of before, and everything later to these.
	Redirect(stdout, stderr io.Writer)
	// Restore repairs descriptors 0 to 2 where user code closed or replaced them.
	Restore() error
}
