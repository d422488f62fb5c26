package shell

import (
	"context"
	"sync/atomic"
	"time"

	"ipython-mcp/internal/bounds"
)

// Statuses of an execution.
const (
	StatusOK          = "ok"
	StatusError       = "error"
	StatusRunning     = "running"
	StatusInterrupted = "interrupted" // ended by an interrupt, its time limit or the client
	StatusBusy        = "busy"        // never began: another one ran
)

// Outcome is what an execution ends with.
type Outcome interface {
	Status() string
	// Bytes is about how much memory it takes.
	Bytes() int
}

// Call is what one request wants done in its turn.
type Call struct {
	Tool string // its name
	// Cell is the cell that runs, nil for other work. Its execution can be asked for at any time, not only once its id has been told,
	// and another call of the same cell waits for it instead of running.
	Cell *Cell
	// Work does it. Its context ends, with an *Interruption, when the work is to be interrupted.
	Work func(context.Context) Outcome
	// Began is called with the call's part in an execution: in its own before the work, in another's that it waits for. May be nil.
	Began func(*Attendance)
	// Early is called when the clock ends while the work goes on, on any goroutine. The call can be answered then.
	Early func(*Attendance)
	// Unfinished is what there is to say while it runs.
	Unfinished func(*Execution) Outcome
	Timeout    time.Duration // after which it is interrupted; 0: never
	Clock      Clock
}

// Execution is a call from the beginning of its turn on. It goes on whether or not somebody waits for it.
type Execution struct {
	ID    string
	call  Call
	begun time.Time
	done  chan struct{} // closed at the end
	// ctx is that of the work; interrupt ends it.
	ctx       context.Context
	interrupt context.CancelCauseFunc
	recording atomic.Pointer[recording] // nil until the work has begun to be recorded

	// The rest is guarded by the mutex of executions.
	waiting  int     // calls that have not been answered yet
	stopping bool    // it is being interrupted
	kept     bool    // it is found by its id
	outcome  Outcome // nil until the end, and where it is not kept any more
	status   string  // the outcome's
	bytes    int     // what keeping the outcome counts
}

// Tool is the name of the tool that was called.
func (e *Execution) Tool() string { return e.call.Tool }

// Elapsed is the time since it began.
func (e *Execution) Elapsed() time.Duration { return time.Since(e.begun) }

// Output is what it has printed so far.
func (e *Execution) Output() (stdout, stderr bounds.Snapshot) {
	if r := e.recording.Load(); r != nil {
		return r.stdout.Snapshot(), r.stderr.Snapshot()
	}
	return bounds.Snapshot{}, bounds.Snapshot{}
}

// ended reports whether it is over.
func (e *Execution) ended() bool { return happened(e.done) }
