package shell

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"
)

const (
	// keptExecutions is how many executions can be asked for by their id.
	keptExecutions = 50
	// keptBytes bounds what the outcomes of all but the last of them take.
	keptBytes = 16 << 20
)

// UnknownExecutionError says that there is no execution of that id.
type UnknownExecutionError struct{ ID string }

func (e *UnknownExecutionError) Error() string {
	if e.ID == "" {
		return "nothing has been executed yet"
	}
	return fmt.Sprintf("no execution %.40q is known; the last %d are kept", e.ID, keptExecutions)
}

// executions knows the execution that runs, and the newest that have ended.
type executions struct {
	mu           sync.Mutex
	cells, calls int          // ids given so far
	current      *Execution   // the one that began last
	kept         []*Execution // oldest first
	bytes        int          // of their outcomes
}

// begin makes the execution of a call whose turn has come.
func (x *executions) begin(c Call) *Execution {
	x.mu.Lock()
	defer x.mu.Unlock()
	e := &Execution{call: c, begun: time.Now(), done: make(chan struct{}), waiting: 1}
	if c.Cell != nil {
		x.cells++
		e.ID = "e" + strconv.Itoa(x.cells)
		x.keepLocked(e)
	} else {
		x.calls++
		e.ID = "c" + strconv.Itoa(x.calls)
	}
	x.current = e
	e.ctx, e.interrupt = context.WithCancelCause(context.Background())
	return e
}

// end says that the work is over.
func (x *executions) end(e *Execution, outcome Outcome) {
	x.mu.Lock()
	defer x.mu.Unlock()
	e.outcome, e.status = outcome, outcome.Status()
	if e.kept {
		e.bytes = outcome.Bytes()
		x.bytes += e.bytes
		x.trimLocked()
	}
	close(e.done)
}

// keepLocked makes an execution one that is found by its id. It must be the newest.
func (x *executions) keepLocked(e *Execution) {
	if e.kept || e.ended() {
		return
	}
	e.kept = true
	x.kept = append(x.kept, e)
	if len(x.kept) > keptExecutions {
		oldest := x.kept[0]
		x.kept, x.bytes = x.kept[1:], x.bytes-oldest.bytes
		if r := oldest.recording.Load(); r != nil {
			r.free()
		}
	}
}

// trimLocked drops the oldest outcomes where all of them take too much. The last one stays, and one that a call is still to
// be answered with.
func (x *executions) trimLocked() {
	for _, e := range x.kept[:len(x.kept)-1] {
		if x.bytes <= keptBytes {
			return
		}
		if e.waiting == 0 {
			x.bytes -= e.bytes
			e.outcome, e.bytes = nil, 0
		}
	}
}

// join returns the execution that runs the same cell, which then has one more call waiting for it, or nil.
func (x *executions) join(cell *Cell) *Execution {
	x.mu.Lock()
	defer x.mu.Unlock()
	e := x.current
	if cell == nil || e == nil || e.call.Cell == nil || *e.call.Cell != *cell || e.stopping || e.ended() {
		return nil
	}
	e.waiting++
	return e
}

// attend says that one more call waits for an execution.
func (x *executions) attend(e *Execution) {
	x.mu.Lock()
	defer x.mu.Unlock()
	e.waiting++
}

// leave says that a call has had its answer, or was cancelled. The last one that is cancelled takes what runs along.
func (x *executions) leave(e *Execution, cancelled bool) (interrupt bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	e.waiting--
	x.keepLocked(e)
	return cancelled && e.waiting == 0 && x.stopLocked(e)
}

// stop says that an execution is to be interrupted, and reports whether it runs.
func (x *executions) stop(e *Execution) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.keepLocked(e)
	return x.stopLocked(e)
}

func (x *executions) stopLocked(e *Execution) bool {
	if e.ended() {
		return false
	}
	e.stopping = true
	return true
}

// tell returns the execution that runs, whose id is about to be told to somebody, or nil.
func (x *executions) tell() *Execution {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.current == nil || x.current.ended() {
		return nil
	}
	x.keepLocked(x.current)
	return x.current
}

// find returns the execution of that id; with none, the one that runs, else the last.
func (x *executions) find(id string) (*Execution, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	running := x.current != nil && !x.current.ended()
	switch {
	case running && (id == "" || id == x.current.ID):
		return x.current, nil
	case id == "" && len(x.kept) > 0:
		return x.kept[len(x.kept)-1], nil
	case id == "":
		return nil, &UnknownExecutionError{}
	}
	for _, e := range x.kept {
		if e.ID == id {
			return e, nil
		}
	}
	return nil, &UnknownExecutionError{id}
}

// statusOf returns what has become of an execution.
func (x *executions) statusOf(e *Execution) string {
	x.mu.Lock()
	defer x.mu.Unlock()
	if e.ended() {
		return e.status
	}
	return StatusRunning
}

// outcome returns what an execution has ended with, or what there is to say while it runs.
func (x *executions) outcome(e *Execution) (Outcome, error) {
	x.mu.Lock()
	ended, outcome := e.ended(), e.outcome
	x.keepLocked(e) // what there is to say of one that runs tells its id
	x.mu.Unlock()
	switch {
	case !ended:
		return e.call.Unfinished(e), nil
	case outcome == nil:
		return nil, fmt.Errorf("execution %s has ended, but its answer was too large to be kept beside later ones; read_output still "+
			"has what a cell printed", e.ID)
	}
	return outcome, nil
}
