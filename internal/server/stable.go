package server

import (
	"context"
	"slices"

	"ipython-mcp/dyntools"
	"ipython-mcp/internal/bounds"
	"ipython-mcp/shell"
)

// stableNames lists the stable tools in the order in which clients see them.
var stableNames = []string{
	"execute", "list", "call_function", "search", "reload", "inspect", "remove", "reset",
	"register_tool", "unregister_tool", "read_output", "get_execution", "interrupt",
}

func isStable(name string) bool { return slices.Contains(stableNames, name) }

// stableTools is the tool table. The texts are in texts.go, the text blocks of the answers in render.go.
func (s *Server) stableTools() ([]*tool, error) {
	ns := s.namespace
	var tools []*tool
	var problem error
	add := func(t *tool, err error) {
		if problem == nil {
			problem = err
		}
		tools = append(tools, t)
	}
	add(define(s, executeText, operation[shell.ExecuteAnswer]{
		run: func(ctx context.Context, t *shell.Ticket, args arguments) (shell.ExecuteAnswer, error) {
			return ns.Execute(ctx, t, cellOf(args))
		},
		failure:  func(a *shell.ExecuteAnswer) **shell.Error { return &a.Error },
		complete: completeExecute,
		render:   renderExecute,
		cell:     cellOf,
		images:   func(a shell.ExecuteAnswer) []shell.Image { return a.Images },
	}))
	add(define(s, listText, operation[shell.ListAnswer]{
		run: func(ctx context.Context, t *shell.Ticket, _ arguments) (shell.ListAnswer, error) {
			return ns.List(ctx, t)
		},
		failure:    func(a *shell.ListAnswer) **shell.Error { return &a.Error },
		complete:   func(a *shell.ListAnswer, _ arguments) { orEmpty(&a.Functions) },
		render:     renderList,
		structured: true,
	}))
	add(define(s, callText, operation[shell.CallAnswer]{
		run:     s.callFunction,
		failure: func(a *shell.CallAnswer) **shell.Error { return &a.Error },
		complete: func(a *shell.CallAnswer, args arguments) {
			if a.Name == "" {
				a.Name, a.NameTruncated = bounds.Cut(args.text("name"), s.limits.TextChars)
			}
		},
		render: renderCall,
		images: imagesOfCall,
	}))
	add(define(s, searchText, operation[shell.SearchAnswer]{
		run: func(ctx context.Context, t *shell.Ticket, args arguments) (shell.SearchAnswer, error) {
			return ns.Search(ctx, t, args.text("query"), args.flag("exact"), args.integer("limit", defaultSearchLimit))
		},
		failure:    func(a *shell.SearchAnswer) **shell.Error { return &a.Error },
		complete:   func(a *shell.SearchAnswer, _ arguments) { orEmpty(&a.Results) },
		render:     renderSearch,
		structured: true,
	}))
	s.addModuleAndNameTools(add, ns)
	s.addRegistrationTools(add)
	add(define(s, readOutputText, s.readOutput()))
	add(s.getExecutionTool())
	add(define(s, interruptText, s.interrupt()))
	return tools, problem
}

// addModuleAndNameTools is the rest of the table.
func (s *Server) addModuleAndNameTools(add func(*tool, error), ns Namespace) {
	add(define(s, reloadText, operation[shell.ReloadAnswer]{
		run: func(ctx context.Context, t *shell.Ticket, args arguments) (shell.ReloadAnswer, error) {
			return ns.Reload(ctx, t, args.texts("modules"), args.flag("refresh"))
		},
		failure:    func(a *shell.ReloadAnswer) **shell.Error { return &a.Error },
		complete:   s.completeReload,
		render:     renderReload,
		structured: true,
	}))
	add(define(s, inspectText, operation[shell.InspectAnswer]{
		run: func(ctx context.Context, t *shell.Ticket, args arguments) (shell.InspectAnswer, error) {
			return ns.Inspect(ctx, t, args.text("name"))
		},
		failure: func(a *shell.InspectAnswer) **shell.Error { return &a.Error },
		complete: func(a *shell.InspectAnswer, args arguments) {
			if a.Name == "" {
				a.Name, _ = bounds.Cut(args.text("name"), s.limits.TextChars)
			}
		},
		render:     renderInspect,
		structured: true,
	}))
	add(define(s, removeText, operation[shell.RemoveAnswer]{
		run: func(ctx context.Context, t *shell.Ticket, args arguments) (shell.RemoveAnswer, error) {
			return ns.Remove(ctx, t, args.texts("names"))
		},
		failure: func(a *shell.RemoveAnswer) **shell.Error { return &a.Error },
		complete: func(a *shell.RemoveAnswer, _ arguments) {
			orEmpty(&a.Removed)
			orEmpty(&a.Refused)
			orEmpty(&a.Unknown)
		},
		render:     renderRemove,
		structured: true,
	}))
	add(define(s, resetText, operation[shell.ResetAnswer]{
		run: func(ctx context.Context, t *shell.Ticket, _ arguments) (shell.ResetAnswer, error) {
			return ns.Reset(ctx, t)
		},
		failure:    func(a *shell.ResetAnswer) **shell.Error { return &a.Error },
		complete:   func(a *shell.ResetAnswer, _ arguments) { orEmpty(&a.Removed) },
		render:     renderReset,
		structured: true,
	}))
}

// cellOf is the cell that a call of execute is about.
func cellOf(args arguments) shell.Cell {
	return shell.Cell{Code: args.text("code"), Scratch: args.refused("persist")}
}

// completeExecute fills in what an answer without an execution lacks.
func completeExecute(a *shell.ExecuteAnswer, _ arguments) {
	orEmpty(&a.DisplayData)
	if a.Status == "" {
		a.Status = shell.StatusError
	}
}

// completeReload names the registered tools that still call what a reload has replaced.
func (s *Server) completeReload(a *shell.ReloadAnswer, _ arguments) {
	orEmpty(&a.Results)
	view := s.registry.View()
	for i := range a.Results {
		stale := a.Results[i].Stale
		for j := range stale {
			if r, found := view.LookupSymbol(stale[j].Name); found && r.State == dyntools.Live {
				stale[j].Tool = &r.ToolName
			}
		}
	}
}

func imagesOfCall(a shell.CallAnswer) []shell.Image { return a.Images }

// orEmpty makes a list that is nil empty: clients see [], never null.
func orEmpty[T any](list *[]T) {
	if *list == nil {
		*list = []T{}
	}
}
