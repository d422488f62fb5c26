package server

import (
	"context"

	"ipython-mcp/shell"
)

// Namespace is the live namespace as this package needs it; *shell.Shell is one.
//
// Reserve is called in the order in which requests arrive, on the reader, and must not block. The ticket goes to one
// operation, which waits for its turn; the server releases it in any case, so that a call that is refused before it
// runs gives its place up.
//
// A failure of user code is an answer. An error means that the namespace itself could not work (*shell.StartupError,
// shell.ErrEnded) or that ctx ended. All methods may be called from any goroutine.
type Namespace interface {
	Reserve() *shell.Ticket
	// Run does a call's work in its turn. What is about executions waits for no turn.
	Run(ctx context.Context, t *shell.Ticket, c shell.Call) (*shell.Attendance, error)
	Outcome(e *shell.Execution) (shell.Outcome, error)
	Find(id string) (*shell.Execution, error)
	Attend(e *shell.Execution) *shell.Attendance
	Wait(ctx context.Context, e *shell.Execution, clock shell.Clock) error
	Interrupt(ctx context.Context, id string) (shell.InterruptAnswer, error)

	Execute(ctx context.Context, t *shell.Ticket, cell shell.Cell) (shell.ExecuteAnswer, error)
	List(ctx context.Context, t *shell.Ticket) (shell.ListAnswer, error)
	Search(ctx context.Context, t *shell.Ticket, query string, exact bool, limit int) (shell.SearchAnswer, error)
	Reload(ctx context.Context, t *shell.Ticket, modules []string, refresh bool) (shell.ReloadAnswer, error)
	Inspect(ctx context.Context, t *shell.Ticket, name string) (shell.InspectAnswer, error)
	Remove(ctx context.Context, t *shell.Ticket, names []string) (shell.RemoveAnswer, error)
	Reset(ctx context.Context, t *shell.Ticket) (shell.ResetAnswer, error)
	// Take does work in the turn of the ticket and returns what was printed meanwhile.
	Take(ctx context.Context, t *shell.Ticket, work func(shell.Turn) error) (shell.Printed, error)
	// Watch names who is told of the bindings after every operation. It is called once, before the first.
	Watch(shell.Watcher)
	// ReadOutput waits for no turn.
	ReadOutput(executionID, stream string, offset, limit int64) (shell.OutputPage, error)
}

var _ Namespace = (*shell.Shell)(nil)
