package cpython

import (
	"errors"

	"golang.org/x/sys/unix"
)

// lendFrame asks Python for its thread. It is no request: nothing replies to it.
const lendFrame = `{"lend":true}`

// lent is the side of the channel that belongs to Python's thread. There is one interpreter per process, and C calls it without saying
// which.
var lent struct {
	work chan func() // what Python's thread is to run; holds one
	// Used by Python's thread alone.
	descriptor int               // readable when Python needs its thread; -1: it does now
	take       func([]byte) bool // of the Call that runs
}

func init() { lent.work = make(chan func(), 1) }

// Lend has Python's thread run work once the interpreter waits for a request, and reports whether it will. A Call that work makes then runs
// on that thread, without switching to another and back; Calls of other goroutines wait until the work returns, which it must do
// when [Channel.Wait] says so. Python runs nothing meanwhile, but its other threads do.
func (c *Channel) Lend(work func()) bool {
	if !c.up.Load() { // it may never run
		return false
	}
	select {
	case lent.work <- work:
	default:
		return false
	}
	if c.Send([]byte(lendFrame)) == nil {
		return true
	}
	<-lent.work
	return false
}

// Reclaim takes back the work of a Lend that Python's thread has not come to, nil where there is none. What Python was sent about it does
// nothing then, or takes the work of the next Lend.
func (c *Channel) Reclaim() (work func()) { return takeWork() }

func takeWork() (work func()) {
	select {
	case work = <-lent.work:
	default:
	}
	return work
}

// Wait waits until something can be read from the input, which is none if it is negative: then it does not wait. It returns false where
// Python needs its thread before that. Only for work that was lent the thread.
func (c *Channel) Wait(input int) bool {
	if lent.descriptor < 0 {
		return false
	}
	events := [...]unix.PollFd{
		{Fd: int32(input), Events: unix.POLLIN},
		{Fd: int32(c.python), Events: unix.POLLIN},
		{Fd: int32(lent.descriptor), Events: unix.POLLIN},
		{Fd: int32(c.signals), Events: unix.POLLIN},
	}
	limit := -1
	if input < 0 {
		limit = 0
	}
	// A signal that interrupts it is one that Python may have to handle. One that came before it does not interrupt it, but has counted.
	_, err := unix.Poll(events[:], limit)
	needed := events[1].Revents != 0 || events[2].Revents != 0 || events[3].Revents != 0
	return err == nil && !needed && (input < 0 || events[0].Revents != 0)
}

// Aside does work that takes long and calls nothing of this channel. On the lent thread it does so beside that, which Python has
// meanwhile; it does not serve requests, though. A panic of the work is the caller's.
func (c *Channel) Aside(work func()) {
	var ends [2]int
	if !isPythonThread() || unix.Pipe2(ends[:], unix.O_CLOEXEC) != nil {
		work()
		return
	}
	done := make(chan any)
	go func() {
		defer func() {
			panicked := recover()
			_, _ = unix.Write(ends[1], []byte{0}) // a pipe of our own takes it
			done <- panicked
		}()
		work()
	}()
	aside(ends[0])
	panicked := <-done
	_, _ = unix.Close(ends[0]), unix.Close(ends[1])
	lent.descriptor = -1 // what Python has to do now is not known here
	if panicked != nil {
		panic(panicked)
	}
}

// runLent runs on Python's thread what waits for that.
func runLent(descriptor int) {
	lent.descriptor = descriptor
	if work := takeWork(); work != nil {
		work()
	}
}

var errNoReply = errors.New("the Python interpreter did not reply")

// callHere is Call on Python's thread.
func callHere(request []byte, take func(frame []byte) (last bool)) error {
	lent.take = take
	frame, descriptor, replied := dispatch(request)
	lent.take = nil
	if !replied {
		return errNoReply
	}
	lent.descriptor = descriptor
	FlushC()
	take(frame)
	return nil
}
