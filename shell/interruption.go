package shell

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"
)

// The same work is interrupted again, for code that catches the first interrupt: not before it has had time to clean up, and then from
// time to time.
const (
	cleanupPatience        = time.Second
	againInterruptInterval = 300 * time.Millisecond
)

// interrupter interrupts the work of one turn, and never what comes after it.
type interrupter struct {
	shell *Shell
	since time.Time // when the work began
	done  chan struct{}

	mu   sync.Mutex // held while an interrupt is sent
	over bool
}

func (s *Shell) newInterrupter() *interrupter {
	return &interrupter{shell: s, since: time.Now(), done: make(chan struct{})}
}

// end says that the work is over: from its return on, nothing is interrupted. What work has left behind that an interrupt has ended, the
// commands of a shell line for one, is interrupted, too.
func (i *interrupter) end() {
	i.mu.Lock()
	i.over = true
	i.mu.Unlock()
	close(i.done)
	if i.shell.hit && i.shell.children != nil {
		i.shell.children(i.since)
	}
}

// interruptUntilOver interrupts the work, again and again for code that catches the first KeyboardInterrupt, until it is over. What
// has not ended by the second time may be waiting for a child that it has started.
func (i *interrupter) interruptUntilOver() {
	i.interrupt(nil)
	again := time.NewTimer(cleanupPatience)
	defer again.Stop()
	for {
		select {
		case <-i.done:
			return
		case <-again.C:
			i.interrupt(i.shell.children)
			again.Reset(againInterruptInterval)
		}
	}
}

func (i *interrupter) interrupt(children func(since time.Time)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.over {
		return
	}
	i.shell.engine.Interrupt()
	if children != nil {
		children(i.since)
	}
}

// Interruption is why work was interrupted: the cause with which its context ends.
type Interruption struct{ Reason string }

func (i *Interruption) Error() string {
	return fmt.Sprintf("the code was interrupted: %s; the namespace keeps what it had done", i.Reason)
}

func timedOut(limit time.Duration) *Interruption {
	seconds := strconv.FormatFloat(limit.Seconds(), 'g', -1, 64)
	return &Interruption{Reason: fmt.Sprintf("it had run for %s s, its time limit (timeout_seconds)", seconds)}
}

// keyboardInterrupt is the class of the exception that an interrupt raises.
const keyboardInterrupt = "KeyboardInterrupt"

// ExplainInterruption reports whether an answer's error, which may be nil, comes from an interruption of the context that has
// ended the ticket's code, and then puts the reason into it. Code may make any other exception of a KeyboardInterrupt: what it
// then fails with is the interruption's work all the same.
func ExplainInterruption(ctx context.Context, t *Ticket, e *Error) bool {
	var cause *Interruption
	if e == nil || t == nil || !t.hit || !errors.As(context.Cause(ctx), &cause) {
		return false
	}
	e.Message, e.MessageTruncated = cause.Error(), false
	if e.ErrorType != nil && *e.ErrorType != keyboardInterrupt {
		e.Message += ". It ended with " + *e.ErrorType
	}
	return true
}

// CodeInterrupted is the error code of a call that was interrupted before it ran.
const CodeInterrupted = "interrupted"

// InterruptedError is the error of a call that was interrupted before it ran, nil where err is something else.
func InterruptedError(err error) *Error {
	var cause *Interruption
	if !errors.As(err, &cause) {
		return nil
	}
	class := keyboardInterrupt
	return &Error{Code: CodeInterrupted, Message: cause.Error(), ErrorType: &class}
}

// stop interrupts an execution that has not ended.
func (s *Shell) stop(e *Execution, why *Interruption) bool {
	running := s.executions.stop(e)
	if running {
		e.interrupt(why)
	}
	return running
}
