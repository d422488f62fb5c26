package server

import (
	"context"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"ipython-mcp/dyntools"
	"ipython-mcp/internal/bounds"
	"ipython-mcp/shell"
)

type registerInput struct {
	Name        string `json:"name" jsonschema_description:"The callable's name at the top level, without dots."`
	ToolName    string `json:"tool_name,omitempty" jsonschema_description:"The tool's name; by default the callable's."`
	Description string `json:"description,omitempty" jsonschema_description:"By default the callable's documentation."`
}

type unregisterInput struct {
	Names []string `json:"names" jsonschema_description:"Names of registered tools."`
}

// registerAnswer is the answer of register_tool.
type registerAnswer struct {
	OK           bool             `json:"ok"`
	Registration *dyntools.Answer `json:"registration"`
	Error        *shell.Error     `json:"error"`
	Note         string           `json:"note,omitempty"` // for the model: how to reach the tool
	shell.Printed
}

// unregisterAnswer is the answer of unregister_tool.
type unregisterAnswer struct {
	OK           bool         `json:"ok"`
	Unregistered []string     `json:"unregistered"`
	Unknown      []string     `json:"unknown"`
	Revision     int64        `json:"revision"`
	Error        *shell.Error `json:"error"`
	shell.Printed
}

var registerText = toolText{
	name:  "register_tool",
	title: "Register a tool",
	hints: hints{idempotent: true},
	input: registerInput{},
	description: `
Publish one function or class of the session as a tool of its own, whose input schema comes from its signature: each
argument of a call is then checked and converted to its annotated type.

Every parameter needs an annotation: str, int, float, bool, None, list, set, frozenset, tuple, dict[str, T], unions,
Literal, Enum, TypedDict, dataclasses, pydantic models, datetime, date, time, timedelta, UUID, Path, bytes (as base64).
Positional-only parameters, *args, **kwargs and coroutine or generator functions are refused. Parameter descriptions
come from the docstring or from Annotated[T, "text"].

The tool follows its name: redefined with the same signature, it calls the new function. After a change of the
signature it leaves the list and answers stale_registration until it is registered again.

The tool appears in tools/list at once; if you do not see it there, call it through call_function by its tool name.`,
}

var unregisterText = toolText{
	name:  "unregister_tool",
	title: "Unregister tools",
	hints: hints{idempotent: true},
	input: unregisterInput{},
	description: `
Take registered tools out of the tool list. The functions themselves stay. Every name ends up in exactly one list:
unregistered, or unknown (no such registration; the server's own tools are unknown too).`,
}

// addRegistrationTools is the part of the tool table that concerns dynamic tools.
func (s *Server) addRegistrationTools(add func(*tool, error)) {
	register, err := define(s, registerText, operation[registerAnswer]{
		run: func(ctx context.Context, t *shell.Ticket, args arguments) (registerAnswer, error) {
			return s.registerTool(ctx, t, args.object)
		},
		failure:    func(a *registerAnswer) **shell.Error { return &a.Error },
		render:     renderRegister,
		structured: true,
	})
	if err == nil {
		// An argument of another type has an error code of its own.
		register.schema, err = compileSchema(json.RawMessage(`{"type":"object","required":["name"],` +
			`"properties":{"name":true,"tool_name":true,"description":true},"additionalProperties":false}`))
	}
	add(register, err)
	add(define(s, unregisterText, operation[unregisterAnswer]{
		run: func(ctx context.Context, t *shell.Ticket, args arguments) (unregisterAnswer, error) {
			return s.unregisterTool(ctx, t, args.texts("names"))
		},
		failure: func(a *unregisterAnswer) **shell.Error { return &a.Error },
		complete: func(a *unregisterAnswer, _ arguments) {
			orEmpty(&a.Unregistered)
			orEmpty(&a.Unknown)
		},
		render:     renderUnregister,
		structured: true,
	}))
}

// registerTool checks, describes and registers in one turn, so that the schema is that of what the name is bound to.
func (s *Server) registerTool(ctx context.Context, t *shell.Ticket, raw json.RawMessage) (registerAnswer, error) {
	var answer registerAnswer
	request, err := dyntools.ParseRequest(raw)
	if err != nil {
		answer.Error = errorOf(err)
		return answer, nil
	}
	printed, err := s.namespace.Take(ctx, t, func(turn shell.Turn) error {
		if err := s.registry.Check(request); err != nil {
			answer.Error = errorOf(err)
			return nil
		}
		described, err := turn.Describe(request.Symbol)
		if err != nil || described.Error != nil {
			answer.Error = described.Error
			return err
		}
		return s.registerBinding(request, described.Binding, &answer)
	})
	answer.Printed = printed
	return answer, err
}

func (s *Server) registerBinding(request dyntools.Request, raw json.RawMessage, answer *registerAnswer) error {
	var binding dyntools.Binding
	if err := json.Unmarshal(raw, &binding); err != nil {
		return fmt.Errorf("reading what a name is bound to: %w", err)
	}
	registration, changed, err := s.registry.Register(request, binding)
	if err != nil {
		answer.Error = errorOf(err)
		return nil
	}
	answer.OK, answer.Registration = true, &registration
	answer.Note = fmt.Sprintf("Clients that do not read the tool list again reach this tool through call_function "+
		"with the name %s.", registration.ToolName)
	if changed {
		s.announce()
	}
	return nil
}

// unregisterTool waits for its turn like any operation, so that calls that arrived before it find their tools.
func (s *Server) unregisterTool(ctx context.Context, t *shell.Ticket, names []string) (unregisterAnswer, error) {
	var answer unregisterAnswer
	printed, err := s.namespace.Take(ctx, t, func(shell.Turn) error {
		answer.Revision = s.registry.View().Revision()
		if problem := s.namesProblem(names); problem != "" {
			answer.Error = &shell.Error{Code: "invalid_names", Message: problem}
			return nil
		}
		removal := s.registry.Unregister(names)
		answer.OK, answer.Revision = true, removal.Revision
		answer.Unregistered, answer.Unknown = removal.Unregistered, removal.Unknown
		if removal.ListChanged {
			s.announce()
		}
		return nil
	})
	answer.Printed = printed
	return answer, err
}

// namesProblem says why there are too few, too many or too long names; empty: there are not. The bounds are remove's.
func (s *Server) namesProblem(names []string) string {
	switch most := s.limits.Results; {
	case len(names) == 0:
		return "the names must be a list with at least one string"
	case len(names) > most:
		return fmt.Sprintf("%d names in one request; at most %d are taken", len(names), most)
	}
	for i, name := range names {
		if n := utf8.RuneCountInString(name); n > s.limits.TextChars {
			return fmt.Sprintf("name %d has %d characters; at most %d are looked up", i, n, s.limits.TextChars)
		}
	}
	return ""
}

func renderRegister(a registerAnswer) string {
	var p page
	p.printed(a.Stdout, a.Stderr)
	if r := a.Registration; r != nil {
		p.addf("tool %s calls %s (revision %d)", r.ToolName, r.Name, r.Revision)
		description, _ := bounds.Cut(r.Description, maxErrorChars)
		p.add(line(description))
		p.add(string(r.InputSchema))
		p.add(a.Note)
	}
	p.failed(a.Error)
	return p.or("nothing was registered")
}

func renderUnregister(a unregisterAnswer) string {
	var p page
	p.printed(a.Stdout, a.Stderr)
	p.names("unregistered", a.Unregistered)
	p.names("unknown", a.Unknown)
	p.failed(a.Error)
	return p.or("no names were given")
}
