package shell

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
)

// Watcher is told what some names are bound to: the registry of dynamic tools. Its methods are called by the operation
// whose turn it is, before that operation answers and before the next one begins. The JSON on both sides is that of
// package dyntools.
type Watcher interface {
	// Watched returns the tokens to compare, an object by name; nil: none.
	Watched() json.RawMessage
	// Reconcile hears of the names that are not bound to what their tokens say any more, an array of bindings.
	Reconcile(bindings json.RawMessage) error
	// Cleared hears that a reset removed every name.
	Cleared()
}

// Watch makes w the watcher. Call it once, before the first operation.
func (s *Shell) Watch(w Watcher) { s.watcher = w }

func (s *Shell) watched() json.RawMessage {
	if s.watcher == nil {
		return nil
	}
	return s.watcher.Watched()
}

// news returns the tokens to compare, nil where they are those that Python has already.
func news(tokens, told json.RawMessage) json.RawMessage {
	switch {
	case bytes.Equal(tokens, told):
		return nil
	case tokens == nil:
		return json.RawMessage("{}")
	}
	return tokens
}

func (s *Shell) reconcile(bindings json.RawMessage) error {
	if s.watcher == nil || len(bindings) == 0 || string(bindings) == "[]" {
		return nil
	}
	return s.watcher.Reconcile(bindings)
}

// Turn is one operation's turn: as long as it lasts, no other operation runs.
type Turn interface {
	// Describe returns what a top-level name is bound to, in the JSON of package dyntools.
	Describe(name string) (DescribeAnswer, error)
	// CallTool calls what a top-level name is bound to, if that is what the call was validated for.
	CallTool(call ToolCall) (ToolAnswer, error)
	// CallFunction calls what a dotted name stands for; arguments is a JSON object of keyword arguments.
	CallFunction(name string, arguments json.RawMessage) (CallAnswer, error)
}

// ToolCall is a call of a dynamic tool.
type ToolCall struct {
	ToolName  string
	Symbol    string
	Token     string          // of the binding that the arguments were validated for
	Arguments json.RawMessage // as the client wrote them
}

// DescribeAnswer is the answer of a description; Binding is null where there is an Error.
type DescribeAnswer struct {
	Binding json.RawMessage `json:"binding"`
	Error   *Error          `json:"error"`
}

// ToolAnswer is the answer of a call of a dynamic tool.
type ToolAnswer struct {
	CallAnswer
	// Changed says that the name is bound to something else, which the watcher has heard, and that nothing was called.
	Changed bool `json:"changed"`
}

// Take waits for the ticket's turn, does the work in it, and returns what was printed meanwhile. An interruption of the
// turn is an answer of what runs in it.
func (s *Shell) Take(ctx context.Context, t *Ticket, work func(Turn) error) (Printed, error) {
	return s.printing(ctx, t, func() error { return work(turn{ctx, s}) })
}

// turn is a Turn; it must not be kept.
type turn struct {
	ctx   context.Context // of the work
	shell *Shell
}

func (t turn) Describe(name string) (answer DescribeAnswer, err error) {
	err = t.shell.exchange("describe", map[string]string{"symbol": name}, &answer)
	return answer, err
}

func (t turn) CallTool(call ToolCall) (answer ToolAnswer, err error) {
	if !json.Valid(call.Arguments) {
		return answer, fmt.Errorf("cannot encode the call of %q: the arguments are no JSON", call.ToolName)
	}
	err = t.shell.exchange("call_tool", map[string]string{
		"name": call.ToolName, "symbol": call.Symbol, "token": call.Token, "arguments": string(call.Arguments),
	}, &answer)
	return answer, t.illustrated(&answer.CallAnswer, err)
}

func (t turn) CallFunction(name string, arguments json.RawMessage) (answer CallAnswer, err error) {
	err = t.shell.exchange("call_function", map[string]any{"name": name, "arguments": arguments}, &answer)
	return answer, t.illustrated(&answer, err)
}

func (t turn) illustrated(answer *CallAnswer, err error) error {
	if err != nil {
		return err
	}
	return t.shell.illustrate(t.ctx, answer.DisplayData, &answer.Illustrated)
}
