package server

import (
	"context"
	"encoding/json"
	"io"
	"sync"

	"ipython-mcp/dyntools"
	"ipython-mcp/shell"
)

// fakeNamespace answers without Python. A hook that is nil gives a plain answer.
type fakeNamespace struct {
	*shell.Shell // its turns and executions are real, its interpreter is never asked
	execute      func(ctx context.Context, code string) (shell.ExecuteAnswer, error)
	run          func(ctx context.Context) // what happens while a call waits for its turn
	fail         error                     // what every other operation returns
	silent       bool                      // calls are not recorded, for benchmarks

	// callTool answers for the interpreter; nil: the arguments are returned.
	callTool func(shell.ToolCall) shell.ToolAnswer

	turn     sync.Mutex                  // held while somebody has a turn
	watcher  shell.Watcher               // told of bindings by rebind
	bindings map[string]dyntools.Binding // what names are bound to; guarded by turn

	mu    sync.Mutex
	calls []string // name and arguments of each operation, as JSON
}

func newFakeNamespace() *fakeNamespace {
	s := shell.New(shell.Options{Engine: newScriptedEngine(), Output: noOutput{}})
	if err := s.Start(shell.Settings{}, io.Discard); err != nil {
		panic(err) // the engine answers everything
	}
	return &fakeNamespace{Shell: s, bindings: make(map[string]dyntools.Binding)}
}

func (f *fakeNamespace) Run(ctx context.Context, t *shell.Ticket, c shell.Call) (*shell.Attendance, error) {
	if f.run != nil {
		f.run(ctx)
	}
	return f.Shell.Run(ctx, t, c)
}

func (f *fakeNamespace) Interrupt(ctx context.Context, id string) (shell.InterruptAnswer, error) {
	if f.fail != nil {
		return shell.InterruptAnswer{}, f.fail
	}
	return f.Shell.Interrupt(ctx, id)
}

func (f *fakeNamespace) record(op string, args ...any) {
	if f.silent {
		return
	}
	line, _ := json.Marshal(append([]any{op}, args...))
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, string(line))
}

func (f *fakeNamespace) Execute(ctx context.Context, _ *shell.Ticket, cell shell.Cell) (shell.ExecuteAnswer, error) {
	code := cell.Code
	if cell.Scratch {
		f.record("execute", code, "scratch")
	} else if len(code) < 1<<16 {
		f.record("execute", code)
	}
	if f.execute != nil {
		return f.execute(ctx, code)
	}
	if f.fail != nil {
		return shell.ExecuteAnswer{}, f.fail
	}
	return executed(code), nil
}

// executed is the answer of a cell that printed something and returned its own text.
func executed(code string) shell.ExecuteAnswer {
	id, count := "e1", 1
	result, _ := json.Marshal(code)
	return shell.ExecuteAnswer{
		OK: true, Status: shell.StatusOK, ExecutionID: &id, ExecutionCount: &count, Result: result,
	}
}

func (f *fakeNamespace) List(context.Context, *shell.Ticket) (shell.ListAnswer, error) {
	f.record("list")
	return shell.ListAnswer{Functions: []shell.ListedFunction{
		{
			Name: "mean", Signature: "(values)", Module: "__main__",
			Description: "Average <b>of</b> values & more.\nSecond line.",
		},
	}, Truncated: true}, f.fail
}

func (f *fakeNamespace) Search(
	_ context.Context, _ *shell.Ticket, query string, exact bool, limit int,
) (shell.SearchAnswer, error) {
	f.record("search", query, exact, limit)
	return shell.SearchAnswer{Results: []shell.SearchResult{
		{Name: "df", Kind: "variable", QualifiedType: "pandas.DataFrame", Representation: "   a\n0  1"},
	}}, f.fail
}

func (f *fakeNamespace) Reload(
	_ context.Context, _ *shell.Ticket, modules []string, refresh bool,
) (shell.ReloadAnswer, error) {
	f.record("reload", modules, refresh)
	binding := "np"
	return shell.ReloadAnswer{Results: []shell.ReloadResult{
		{Module: "numpy", OK: true, Binding: &binding},
		{Module: "nope", Error: &shell.Error{Code: "reload_error", Message: "No module named 'nope'"}},
	}}, f.fail
}

func (f *fakeNamespace) Inspect(_ context.Context, _ *shell.Ticket, name string) (shell.InspectAnswer, error) {
	f.record("inspect", name)
	kind, doc := "function", "Return the mean."
	return shell.InspectAnswer{OK: true, Name: name, Kind: &kind, Callable: true, Documentation: &doc}, f.fail
}

func (f *fakeNamespace) Remove(_ context.Context, _ *shell.Ticket, names []string) (shell.RemoveAnswer, error) {
	f.record("remove", names)
	return shell.RemoveAnswer{OK: true, Removed: names, Refused: []string{"_"}}, f.fail
}

func (f *fakeNamespace) ReadOutput(id, stream string, offset, limit int64) (shell.OutputPage, error) {
	f.record("read_output", id, stream, offset, limit)
	if f.fail != nil {
		return shell.OutputPage{}, f.fail
	}
	if id != "e1" {
		return shell.OutputPage{ExecutionID: id, Stream: stream, Error: &shell.Error{Code: "execution_not_found", Message: "none"}}, nil
	}
	next := offset + 4
	return shell.OutputPage{
		OK: true, ExecutionID: id, Stream: stream, Offset: offset, Text: "text", NextOffset: &next, TotalChars: 9, SpooledChars: 9,
	}, nil
}

func (f *fakeNamespace) Reset(context.Context, *shell.Ticket) (shell.ResetAnswer, error) {
	f.record("reset")
	return shell.ResetAnswer{OK: true, ExecutionCount: 7}, f.fail
}
