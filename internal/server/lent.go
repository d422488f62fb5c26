package server

import "io"

// Thread is the interpreter's thread. A call that runs on it needs no switch to another thread and back, which costs as
// much as a quick call; for a client that makes one call after the other, it is the reader's as well.
type Thread interface {
	// Lend has the thread run work while the interpreter waits for a request, and reports whether it will.
	Lend(work func()) bool
	// Reclaim takes back what was lent the thread and has not begun; nil where there is none.
	Reclaim() (work func())
	// Wait waits on the lent thread until the descriptor can be read, for a negative one not at all. It is false when the interpreter needs
	// the thread.
	Wait(input int) bool
}

// Polled is an input that can be waited for on a lent thread.
type Polled interface {
	io.Reader
	// Descriptor is what is readable when Read returns at once; -1 where that cannot be told.
	Descriptor() int
}

// Outlet is an output that can tell whether writing to it has to wait for its reader.
type Outlet interface {
	io.Writer
	// Takes reports whether a write of so many bytes does not have to wait.
	Takes(size int) bool
}

// wantsThread reports whether a job is better run on the interpreter's thread.
func (s *session) wantsThread(j job) bool {
	return s.server.thread != nil && s.input != nil && j.fitsThread() && j.request.call != nil
}

// fitsThread reports whether a job never waits for what another goroutine may have to do on the interpreter's thread.
func (j job) fitsThread() bool {
	switch {
	case j.parked || j.request == nil: // without a request, it writes to the client
		return false
	case j.request.call == nil || j.request.call.tool == nil:
		return true
	}
	// A call of the modern era runs on a goroutine beside the one that waits for its first answer.
	return !j.request.call.modern && j.request.call.ticket.First()
}

// workLent runs a job on the interpreter's thread, and is the reader there afterwards if nobody else has become it.
func (s *session) workLent(j job, serial uint64) {
	s.workHere(j)
	if s.resume(serial) && !s.readLent() {
		go s.read() // ends like any reader
	}
}

// runOverdue runs beside the thread what it was lent for and has not begun: a background task, or a signal handler, keeps it. The clocks of
// a call go, and it can be interrupted, from its beginning on.
func (s *session) runOverdue() {
	if s.server.thread == nil {
		return
	}
	if work := s.server.thread.Reclaim(); work != nil {
		go work() // ends like any job
	}
}

// readLent is the loop of the reader on the interpreter's thread. It reports whether the role has been taken over, or
// the input has ended.
func (s *session) readLent() bool {
	for {
		if !s.awaitLine() {
			return false
		}
		line, err := s.lines.next()
		if s.ended() {
			return true
		}
		j, _ := s.acceptLine(line, err)
		if j.run == nil {
			continue
		}
		if s.begin(j) || !j.fitsThread() {
			go s.work(j)
			continue
		}
		serial := s.assume()
		s.workHere(j)
		if !s.resume(serial) {
			return true
		}
	}
}

// awaitLine waits until a whole line is there. It is false where the interpreter needs the thread, and where a line is
// not there at once, which another goroutine waits for.
func (s *session) awaitLine() bool {
	if s.lines.complete() {
		return s.server.thread.Wait(-1) // background tasks have a turn between calls that come at once, too
	}
	descriptor := s.input.Descriptor()
	return descriptor >= 0 && s.server.thread.Wait(descriptor) && s.lines.fill()
}

// workHere runs a job on the interpreter's thread. What may have to wait for the client is left to a goroutine.
func (s *session) workHere(j job) {
	j.request.lent = true
	j.run()
	if rest := j.request.rest; rest != nil {
		go s.work(job{run: rest, request: j.request})
		return
	}
	s.finish(j)
}
