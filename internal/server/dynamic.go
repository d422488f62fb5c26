package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"ipython-mcp/dyntools"
	"ipython-mcp/shell"
)

// maxRebinds is how often a call starts again because its name was rebound, by a thread or a task of user code, between
// the check of its arguments and the call.
const maxRebinds = 3

// newRegistry makes the registry of the dynamic tools.
func newRegistry(o Options) *dyntools.Registry {
	return dyntools.NewRegistry(dyntools.Options{
		ToolNameChars:    o.Limits.ToolNameChars,
		DescriptionChars: o.Limits.ToolDescriptionChars,
		MaxTools:         o.Limits.DynamicTools,
		StableTools:      stableNames,
		ModuleBindings:   o.ModuleBindings,
	})
}

// dynamicTool returns the tool of a registration, live or stale.
func (s *Server) dynamicTool(r *dyntools.Registration) *tool {
	name := r.ToolName
	return operation[shell.CallAnswer]{
		run: func(ctx context.Context, t *shell.Ticket, args arguments) (shell.CallAnswer, error) {
			return s.inTurn(ctx, t, func(turn shell.Turn) (shell.CallAnswer, error) {
				return s.callTool(turn, name, args.object)
			})
		},
		failure:  func(a *shell.CallAnswer) **shell.Error { return &a.Error },
		complete: func(a *shell.CallAnswer, _ arguments) { a.Name = name },
		render:   renderCall,
		images:   imagesOfCall,
	}.tool(definitionOf(name, r.Description, r.Schema.Advertised), nil)
}

func definitionOf(name, description string, schema json.RawMessage) mcp.Tool {
	definition := mcp.NewToolWithRawSchema(name, description, schema)
	definition.Annotations = annotations("", hints{destructive: true, openWorld: true})
	return definition
}

// inTurn answers a call in its turn.
func (s *Server) inTurn(
	ctx context.Context, t *shell.Ticket, work func(shell.Turn) (shell.CallAnswer, error),
) (answer shell.CallAnswer, err error) {
	printed, err := s.namespace.Take(ctx, t, func(turn shell.Turn) (err error) {
		answer, err = work(turn)
		return err
	})
	answer.Printed = printed
	return answer, err
}

// callTool checks the arguments against the schema that is registered now and calls exactly the binding that it was
// made of. All of it happens in one turn; only threads and tasks of user code can rebind the name meanwhile.
func (s *Server) callTool(turn shell.Turn, name string, raw json.RawMessage) (shell.CallAnswer, error) {
	for range maxRebinds {
		registered, is := s.registry.View().Lookup(name)
		if !is {
			return refusedCall(name, fmt.Sprintf("tool %s is not registered any more; call register_tool", name)), nil
		}
		if err := registered.Call(); err != nil {
			return shell.CallAnswer{Name: name, Error: errorOf(err)}, nil
		}
		checked, err := registered.Schema.Validate(raw)
		if err != nil {
			return shell.CallAnswer{Name: name, Error: errorOf(err)}, nil
		}
		answer, err := turn.CallTool(shell.ToolCall{
			ToolName: name, Symbol: registered.Symbol, Token: registered.Token, Arguments: checked,
		})
		if err != nil || !answer.Changed {
			return answer.CallAnswer, err
		}
	}
	const why = "tool %s was not called: what its name is bound to changes all the time"
	return refusedCall(name, fmt.Sprintf(why, name)), nil
}

func refusedCall(name, message string) shell.CallAnswer {
	return shell.CallAnswer{
		Name:  name,
		Error: &shell.Error{Code: string(dyntools.StaleRegistration), Message: message},
	}
}

// errorOf puts a refusal of the registry into an answer's form.
func errorOf(err error) *shell.Error {
	var refused *dyntools.Error
	if errors.As(err, &refused) {
		return &shell.Error{Code: string(refused.Code), Message: refused.Message}
	}
	return &shell.Error{Code: "internal_error", Message: err.Error()}
}

// GetSessionTools implements mcp-go's SessionWithTools: it is how a call that chooses a revision by itself finds the
// dynamic tool that it was accepted for.
func (p peer) GetSessionTools() map[string]mcpserver.ServerTool {
	if p.call == nil || p.call.tool == nil || isStable(p.call.tool.definition.Name) {
		return nil
	}
	definition := p.call.tool.definition
	return map[string]mcpserver.ServerTool{definition.Name: {Tool: definition, Handler: p.session.server.handle}}
}

// SetSessionTools implements SessionWithTools; tools come from the registry alone.
func (peer) SetSessionTools(map[string]mcpserver.ServerTool) {}

// listed is tools/list: the stable tools as the table has them, then the live registrations of one state of the
// registry by name. mcp-go also asks it whether a call's tool may be called, which was decided before.
func (s *Server) listed(ctx context.Context, tools []mcp.Tool) []mcp.Tool {
	if r := requestFrom(ctx); r != nil && r.call != nil {
		return tools
	}
	dynamic := s.registry.View().Tools()
	ordered := make([]mcp.Tool, 0, len(tools)+len(dynamic))
	for _, name := range stableNames {
		for _, t := range tools {
			if t.Name == name {
				ordered = append(ordered, t)
			}
		}
	}
	for _, t := range dynamic {
		ordered = append(ordered, definitionOf(t.Name, t.Description, t.InputSchema))
	}
	return ordered
}
