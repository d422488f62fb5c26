package shell

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// ReportInterval is the least time between two reports of one call.
const ReportInterval = 250 * time.Millisecond

// Clock says how long a call waits, and who hears of it meanwhile.
type Clock struct {
	Reply time.Duration // for its turn and its end, in all
	Start time.Duration // for the start of the namespace, where that is longer; Reply then counts from its end, but within Start
	// Report is called from time to time with the execution that runs, nil if none does; mine says that it is the call's own. May be
	// nil.
	Report func(running *Execution, mine bool)
}

// BusyError says that a call was withdrawn because its turn had not come when its clock ended.
type BusyError struct {
	Running *Execution // nil where nothing runs: the namespace starts, or another call is just about to begin
	Waited  time.Duration
	Starts  bool // the namespace is still starting
}

func (e *BusyError) Error() string { return "another call is running" }

// Attendance is the interest of one call in an execution.
type Attendance struct {
	Execution *Execution

	shell *Shell
	over  atomic.Bool
}

// Leave says that the call has been answered or, with the reason, that it was cancelled: the last call that is cancelled takes the
// work along. Leaving again does nothing.
func (a *Attendance) Leave(cancelled error) {
	if a.over.Swap(true) {
		return
	}
	if a.shell.executions.leave(a.Execution, cancelled != nil) {
		a.Execution.interrupt(&Interruption{Reason: cancelled.Error()})
	}
}

// Run waits for the ticket's turn and does the call's work as an execution of its own. Where the same cell runs already, it
// waits for that one instead, until its end or the clock's. Errors are a *BusyError, and the cause of the context where that
// ended before the work began. Whoever got an Attendance must leave it once the call is answered.
func (s *Shell) Run(ctx context.Context, t *Ticket, c Call) (*Attendance, error) {
	begun := time.Now()
	if e := s.executions.join(c.Cell); e != nil {
		t.Release()
		a := &Attendance{Execution: e, shell: s}
		c.began(a)
		return a, waitFor(ctx, e, begun.Add(c.Clock.Reply), c.Clock)
	}
	deadline, err := s.waitTurn(ctx, t, begun, c.Clock)
	if err != nil {
		t.Release()
		return nil, err
	}
	e := s.executions.begin(c)
	t.execution = e
	a := &Attendance{Execution: e, shell: s}
	c.began(a)
	// The work is done here: a goroutine for it would cost the wake-up of a thread.
	stop := a.attend(ctx, deadline)
	outcome := c.Work(e.ctx)
	t.Release()
	s.executions.end(e, outcome)
	stop()
	e.interrupt(nil)
	return a, nil
}

func (c *Call) began(a *Attendance) {
	if c.Began != nil {
		c.Began(a)
	}
}

// attend has timers do for the call what its goroutine cannot while it works, until stop is called.
func (a *Attendance) attend(ctx context.Context, deadline time.Time) (stop func()) {
	e, c := a.Execution, a.Execution.call
	stopCancel := context.AfterFunc(ctx, func() { a.Leave(context.Cause(ctx)) })
	var reply, limit *time.Timer
	if rest := time.Until(deadline); rest > 0 {
		reply = time.AfterFunc(rest, func() { c.Early(a) })
	} else {
		c.Early(a)
	}
	if c.Timeout > 0 {
		limit = time.AfterFunc(c.Timeout, func() { a.shell.stop(e, timedOut(c.Timeout)) })
	}
	stopReports := repeat(c.Clock.report(e, true))
	return func() {
		stopCancel()
		for _, timer := range []*time.Timer{reply, limit} {
			if timer != nil {
				timer.Stop()
			}
		}
		stopReports()
	}
}

// report returns what tells of an execution, nil where nobody wants to hear.
func (c Clock) report(e *Execution, mine bool) func() {
	if c.Report == nil {
		return nil
	}
	return func() { c.Report(e, mine) }
}

// repeat calls report, which may be nil, from time to time until stop is called.
func repeat(report func()) (stop func()) {
	if report == nil {
		return func() {}
	}
	var mu sync.Mutex // guards stopped
	stopped := false
	var timer *time.Timer
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(ReportInterval, func() {
		report()
		mu.Lock()
		defer mu.Unlock()
		if !stopped {
			timer.Reset(ReportInterval)
		}
	})
	return func() {
		mu.Lock()
		defer mu.Unlock()
		stopped = true
		timer.Stop()
	}
}

// Outcome returns what an execution has ended with, or what there is to say while it runs. The error says why an outcome is not kept.
func (s *Shell) Outcome(e *Execution) (Outcome, error) { return s.executions.outcome(e) }

// Find returns the execution of that id; with none, the one that runs, else the last. An error is an *UnknownExecutionError.
func (s *Shell) Find(id string) (*Execution, error) { return s.executions.find(id) }

// Wait returns at the end of an execution or of the clock, and with the cause of the context where that ends before.
func (s *Shell) Wait(ctx context.Context, e *Execution, clock Clock) error {
	return waitFor(ctx, e, time.Now().Add(clock.Reply), clock)
}

// Attend has one more call take part in an execution, as one that Run has joined to it: its cancellation counts.
func (s *Shell) Attend(e *Execution) *Attendance {
	s.executions.attend(e)
	return &Attendance{Execution: e, shell: s}
}

func waitFor(ctx context.Context, e *Execution, deadline time.Time, c Clock) error {
	_, err := await(ctx, e.done, deadline, c.report(e, true))
	return err
}

// waitTurn waits for the start of the namespace, and then for the turn. It returns when the clock of the call ends.
func (s *Shell) waitTurn(ctx context.Context, t *Ticket, begun time.Time, c Clock) (deadline time.Time, err error) {
	var report func()
	if c.Report != nil {
		report = func() { c.Report(s.executions.tell(), false) }
	}
	deadline = begun.Add(c.Reply)
	if !happened(s.up) {
		last := begun.Add(max(c.Reply, c.Start))
		up, err := await(ctx, s.up, last, report)
		switch {
		case err != nil:
			return deadline, err
		case !up:
			return deadline, &BusyError{Waited: time.Since(begun), Starts: true}
		}
		if deadline = time.Now().Add(c.Reply); deadline.After(last) {
			deadline = last
		}
	}
	mine, err := await(ctx, t.turn, deadline, report)
	switch {
	case err != nil:
		return deadline, err
	case !mine:
		return deadline, &BusyError{Running: s.executions.tell(), Waited: time.Since(begun)}
	case ctx.Err() != nil: // a context that ended while the turn came withdraws the call all the same
		return deadline, context.Cause(ctx)
	}
	return deadline, nil
}

func happened(event <-chan struct{}) bool {
	select {
	case <-event:
		return true
	default:
		return false
	}
}

// await returns true when the event has come, false when the deadline comes first, and the context's cause when that ends before. It
// calls report, which may be nil, from time to time.
func await(ctx context.Context, event <-chan struct{}, deadline time.Time, report func()) (came bool, err error) {
	if happened(event) {
		return true, nil
	}
	limit := time.NewTimer(time.Until(deadline))
	defer limit.Stop()
	defer repeat(report)()
	select {
	case <-event:
		return true, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	case <-limit.C:
		return happened(event), nil
	}
}
