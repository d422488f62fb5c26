package server

import (
	"context"
	"encoding/json"
	"testing"

	"ipython-mcp/dyntools"
	"ipython-mcp/shell"
)

// Take runs the work at once, one caller at a time.
func (f *fakeNamespace) Take(
	_ context.Context, _ *shell.Ticket, work func(shell.Turn) error,
) (shell.Printed, error) {
	f.turn.Lock()
	defer f.turn.Unlock()
	if f.fail != nil {
		return shell.Printed{}, f.fail
	}
	return shell.Printed{}, work(fakeTurn{f})
}

// Watch keeps the watcher for bind.
func (f *fakeNamespace) Watch(w shell.Watcher) { f.watcher = w }

// fakeTurn is a turn of a fakeNamespace.
type fakeTurn struct{ namespace *fakeNamespace }

func (t fakeTurn) Describe(name string) (shell.DescribeAnswer, error) {
	t.namespace.record("describe", name)
	binding, is := t.namespace.bindings[name]
	if !is {
		binding = dyntools.Binding{Symbol: name, State: dyntools.BoundMissing}
	}
	raw, err := json.Marshal(binding)
	return shell.DescribeAnswer{Binding: raw}, err
}

func (t fakeTurn) CallTool(call shell.ToolCall) (shell.ToolAnswer, error) {
	t.namespace.record("call_tool", call.ToolName, call.Symbol, call.Token, call.Arguments)
	if t.namespace.callTool != nil {
		return t.namespace.callTool(call), nil
	}
	return shell.ToolAnswer{CallAnswer: shell.CallAnswer{OK: true, Name: call.ToolName, Result: call.Arguments}}, nil
}

func (t fakeTurn) CallFunction(name string, arguments json.RawMessage) (shell.CallAnswer, error) {
	t.namespace.record("call_function", name, arguments)
	if name == "gone" {
		return shell.CallAnswer{Name: name, Error: &shell.Error{Code: "name_not_found", Message: "no"}}, nil
	}
	return shell.CallAnswer{OK: true, Name: name, Result: arguments}, nil
}

// bound is a name that is bound to a function of one integer parameter, or of none where that is empty.
func bound(name, parameter string) dyntools.Binding {
	callable := &dyntools.Callable{Kind: "plain", Token: name + "(" + parameter + ")", Docstring: "Return it."}
	if parameter != "" {
		callable.Parameters = []dyntools.Parameter{
			{Name: parameter, Kind: "positional_or_keyword", Annotation: &dyntools.Type{Kind: "int"}},
		}
	}
	return dyntools.Binding{Symbol: name, State: dyntools.BoundCallable, Callable: callable}
}

// bind changes what a name is bound to, as an operation would that has its turn.
func (f *fakeNamespace) bind(t *testing.T, binding dyntools.Binding) {
	t.Helper()
	f.turn.Lock()
	defer f.turn.Unlock()
	f.rebind(t, binding)
}

func (f *fakeNamespace) rebind(t *testing.T, binding dyntools.Binding) {
	t.Helper()
	f.bindings[binding.Symbol] = binding
	raw, err := json.Marshal([]dyntools.Binding{binding})
	if err == nil {
		err = f.watcher.Reconcile(raw)
	}
	if err != nil {
		t.Error(err)
	}
}

// register registers a function without parameters under its own name, as a client would.
func register(t *testing.T, s *Server, name string) {
	t.Helper()
	namespace, is := s.namespace.(*fakeNamespace)
	if !is {
		t.Fatal("the namespace is no fake")
	}
	namespace.bind(t, bound(name, ""))
	answer, err := s.registerTool(t.Context(), nil, json.RawMessage(`{"name":"`+name+`"}`))
	if err != nil || !answer.OK {
		t.Fatalf("registering %s: %+v, %v", name, answer, err)
	}
}

func unregister(t *testing.T, s *Server, name string) {
	t.Helper()
	answer, err := s.unregisterTool(t.Context(), nil, []string{name})
	if err != nil || len(answer.Unregistered) != 1 {
		t.Fatalf("unregistering %s: %+v, %v", name, answer, err)
	}
}
