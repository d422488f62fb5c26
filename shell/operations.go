package shell

import (
	"context"

	"ipython-mcp/internal/bounds"
)

// Cell is what Execute runs.
type Cell struct {
	Code    string
	Scratch bool // leaves no name behind
}

// Execute runs one cell.
func (s *Shell) Execute(ctx context.Context, t *Ticket, cell Cell) (ExecuteAnswer, error) {
	if t.execution == nil { // no Call runs it
		t.execution = s.executions.begin(Call{Tool: "execute", Cell: &cell})
	}
	r := s.record(t.execution.ID)
	r.takesBackground = true
	var answer ExecuteAnswer
	args := map[string]any{"code": cell.Code, "persist": !cell.Scratch}
	if err := s.perform(ctx, t, "execute", args, &answer, r); err != nil {
		return ExecuteAnswer{}, err
	}
	if err := s.illustrate(ctx, answer.DisplayData, &answer.Illustrated); err != nil {
		return ExecuteAnswer{}, err
	}
	answer.Status = StatusOK
	if !answer.OK {
		answer.Status = StatusError
	}
	if answer.ExecutionCount != nil {
		answer.ExecutionID = &r.id
	}
	stdout, stderr := r.close()
	answer.show(r, stdout, stderr)
	answer.BackgroundOutput = r.background.Render("")
	return answer, nil
}

// List names the visible callables.
func (s *Shell) List(ctx context.Context, t *Ticket) (ListAnswer, error) {
	return ask[ListAnswer](ctx, s, t, "list", struct{}{}, func(a *ListAnswer) *Printed { return &a.Printed })
}

// Search finds visible names by case-insensitive substring, or one by its exact name. The limit is clamped to 1…Limits.Results.
func (s *Shell) Search(ctx context.Context, t *Ticket, query string, exact bool, limit int) (SearchAnswer, error) {
	args := map[string]any{"query": query, "exact": exact, "limit": min(max(limit, 1), s.limits.Results)}
	return ask[SearchAnswer](ctx, s, t, "search", args, func(a *SearchAnswer) *Printed { return &a.Printed })
}

// Reload imports or reloads modules, one result each. With refresh, names that were imported from them are bound anew.
func (s *Shell) Reload(ctx context.Context, t *Ticket, modules []string, refresh bool) (ReloadAnswer, error) {
	args := map[string]any{"modules": modules, "refresh": refresh}
	return ask[ReloadAnswer](ctx, s, t, "reload", args, func(a *ReloadAnswer) *Printed { return &a.Printed })
}

// Inspect describes what a dotted name stands for.
func (s *Shell) Inspect(ctx context.Context, t *Ticket, name string) (InspectAnswer, error) {
	args := map[string]string{"name": name}
	return ask[InspectAnswer](ctx, s, t, "inspect", args, func(a *InspectAnswer) *Printed { return &a.Printed })
}

// Remove deletes names from the namespace.
func (s *Shell) Remove(ctx context.Context, t *Ticket, names []string) (RemoveAnswer, error) {
	args := map[string]any{"names": names}
	return ask[RemoveAnswer](ctx, s, t, "remove", args, func(a *RemoveAnswer) *Printed { return &a.Printed })
}

// Reset removes every unprotected name and restores the protected bindings.
func (s *Shell) Reset(ctx context.Context, t *Ticket) (ResetAnswer, error) {
	var answer ResetAnswer
	printed, err := s.printing(ctx, t, func() error {
		err := s.exchange("reset", struct{}{}, &answer)
		if err == nil && answer.OK && s.watcher != nil {
			s.watcher.Cleared()
		}
		return err
	})
	if err != nil {
		return ResetAnswer{}, err
	}
	answer.Printed = printed
	return answer, nil
}

// ask performs an operation whose output, if any, goes into its answer's Printed part.
func ask[Answer any](
	ctx context.Context, s *Shell, t *Ticket, op string, args any, printed func(*Answer) *Printed,
) (Answer, error) {
	var answer, none Answer
	text, err := s.printing(ctx, t, func() error { return s.exchange(op, args, &answer) })
	if err != nil {
		return none, err
	}
	*printed(&answer) = text
	return answer, nil
}

// printing does the work of one operation in its turn and returns what was printed meanwhile.
func (s *Shell) printing(ctx context.Context, t *Ticket, work func() error) (Printed, error) {
	r := &recording{stdout: bounds.NewStream(s.limits.TextChars, nil), stderr: bounds.NewStream(s.limits.TextChars, nil)}
	if err := s.within(ctx, t, r, work); err != nil {
		return Printed{}, err
	}
	stdout, stderr := r.close()
	return Printed{Stdout: stdout.Render(""), Stderr: stderr.Render("")}, nil
}
