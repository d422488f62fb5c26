package shell

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"ipython-mcp/internal/bounds"
)

// Standing is an answer that tells what has become of the execution it is about: *ExecuteAnswer and *CallAnswer.
type Standing interface {
	// SetStatus says what has become of it; the id is empty for one that never began.
	SetStatus(status, id string)
	// Continue says that it still runs, and what it has printed and displayed so far.
	Continue(e *Execution)
}

// SetStatus implements Standing.
func (a *ExecuteAnswer) SetStatus(status, id string) {
	a.Status = status
	if id != "" {
		a.ExecutionID = &id
	}
}

// Continue implements Standing.
func (a *ExecuteAnswer) Continue(e *Execution) {
	a.SetStatus(StatusRunning, e.ID)
	a.ElapsedSeconds, a.Note = roundSeconds(e.Elapsed()), e.Obstacle()
	if r := e.recording.Load(); r != nil {
		a.show(r, r.stdout.Snapshot(), r.stderr.Snapshot())
		shown := r.sketched()
		a.DisplayData, a.Illustrated = shown.displays, shown.part
		a.Truncated.DisplayData, a.Truncated.Items = shown.cut, shown.omitted
	}
}

// show puts the two streams into the answer.
func (a *ExecuteAnswer) show(r *recording, stdout, stderr bounds.Snapshot) {
	a.Stdout, a.Truncated.StdoutOmittedChars = r.render("stdout", stdout), stdout.Omitted
	a.Stderr, a.Truncated.StderrOmittedChars = r.render("stderr", stderr), stderr.Omitted
	a.Truncated.Stdout = stdout.Omitted > 0
	a.Truncated.Stderr = stderr.Omitted > 0
}

// SetStatus implements Standing.
func (a *CallAnswer) SetStatus(status, id string) { a.Status, a.ExecutionID = status, id }

// Continue implements Standing.
func (a *CallAnswer) Continue(e *Execution) {
	a.SetStatus(StatusRunning, e.ID)
	a.ElapsedSeconds, a.Note = roundSeconds(e.Elapsed()), e.Obstacle()
	if r := e.recording.Load(); r != nil {
		a.Stdout, a.Stderr = r.stdout.Snapshot().Render(""), r.stderr.Snapshot().Render("")
		shown := r.sketched()
		a.DisplayData, a.Illustrated, a.Truncated = shown.displays, shown.part, shown.cut
	}
}

// Obstacle is what keeps work that has not ended from it, where that is known.
func (e *Execution) Obstacle() string {
	var why *Interruption
	r := e.recording.Load()
	switch {
	case errors.As(context.Cause(e.ctx), &why):
		return fmt.Sprintf("it was interrupted (%s), but its code does not look for interrupts, or catches them; the tool interrupt "+
			"says where it is", why.Reason)
	case r != nil && r.questions.Load() > 0:
		return "its code waits for the user to answer a question"
	}
	return ""
}

// roundSeconds is a duration in seconds as people read it, to a tenth.
func roundSeconds(d time.Duration) float64 { return math.Round(d.Seconds()*10) / 10 }
