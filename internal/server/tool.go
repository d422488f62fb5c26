package server

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"ipython-mcp/shell"
)

// tool is an entry of the tool table.
type tool struct {
	definition mcp.Tool
	schema     *jsonschema.Schema // of the arguments; nil: run checks them
	run        func(ctx context.Context, t *shell.Ticket, args arguments) (reply, error)
	refuse     func(e *shell.Error, args arguments) reply // the answer where run returned an error

	unqueued   bool                                           // run needs no turn, and gets no ticket
	cell       func(args arguments) shell.Cell                // the cell that run executes; nil: none
	unfinished func(e *shell.Execution, args arguments) reply // the answer while run has not returned
}

// hints are a tool's annotations. Each is stated, because the defaults of clients differ.
type hints struct{ readOnly, destructive, idempotent, openWorld bool }

// toolText is what a client reads about a tool.
type toolText struct {
	name, title, description string
	hints                    hints
	input                    any // a struct whose tags are the schema of the arguments
}

// operation connects a tool with its answer type.
type operation[Answer any] struct {
	run func(ctx context.Context, t *shell.Ticket, args arguments) (Answer, error)
	// failure is where the answer keeps its error.
	failure func(*Answer) **shell.Error
	// complete fills in what an answer that Go made, rather than Python, lacks: [] where it would say null, and the
	// like. May be nil.
	complete func(*Answer, arguments)
	render   func(Answer) string
	// unqueued says that the operation needs no turn.
	unqueued bool
	// cell is the cell that the operation executes. May be nil: none.
	cell func(arguments) shell.Cell
	// images returns what comes behind the text; nil: nothing ever.
	images func(Answer) []shell.Image
	// structured says that every answer has structuredContent, so that an output schema can be declared.
	structured bool
}

// define makes a tool of its text and its operation. It fails where the tool could not be listed or its arguments not
// be checked.
func define[Answer any](s *Server, text toolText, o operation[Answer]) (*tool, error) {
	input, err := inputSchema(text.input)
	if err != nil {
		return nil, fmt.Errorf("tool %s: %w", text.name, err)
	}
	definition := mcp.NewToolWithRawSchema(text.name, unwrap(text.description), input)
	definition.Title = text.title
	definition.Annotations = annotations(text.title, text.hints)
	if o.structured {
		var none Answer
		if definition.RawOutputSchema, err = outputSchema(none, s.compact); err != nil {
			return nil, fmt.Errorf("tool %s: %w", text.name, err)
		}
	}
	// mcp-go leaves tools/list unanswered where one tool cannot be encoded.
	if _, err := json.Marshal(definition); err != nil {
		return nil, fmt.Errorf("tool %s cannot be encoded: %w", text.name, err)
	}
	schema, err := compileSchema(input)
	if err != nil {
		return nil, fmt.Errorf("tool %s: %w", text.name, err)
	}
	return o.tool(definition, schema), nil
}

// tool connects the operation with what clients see of it.
func (o operation[Answer]) tool(definition mcp.Tool, schema *jsonschema.Schema) *tool {
	finish := func(a Answer, args arguments) reply {
		if o.complete != nil {
			o.complete(&a, args)
		}
		rep := reply{value: a, text: o.render(a), failure: *o.failure(&a)}
		if o.images != nil {
			rep.images = o.images(a)
		}
		return rep
	}
	return &tool{
		definition: definition,
		schema:     schema,
		run: func(ctx context.Context, t *shell.Ticket, args arguments) (reply, error) {
			answer, err := o.run(ctx, t, args)
			if err != nil {
				return reply{}, err
			}
			interrupted := shell.ExplainInterruption(ctx, t, *o.failure(&answer))
			if interrupted {
				setStatus(&answer, shell.StatusInterrupted, t.ExecutionID())
			}
			rep := finish(answer, args)
			if interrupted {
				rep.status = shell.StatusInterrupted
			}
			return rep, nil
		},
		refuse: func(e *shell.Error, args arguments) reply {
			var answer Answer
			*o.failure(&answer) = e
			status := refusedStatus(e)
			if status != shell.StatusError {
				setStatus(&answer, status, "")
			}
			rep := finish(answer, args)
			rep.refused, rep.status = true, status
			return rep
		},
		unqueued: o.unqueued,
		cell:     o.cell,
		unfinished: func(e *shell.Execution, args arguments) reply {
			var answer Answer
			standing, is := any(&answer).(shell.Standing)
			if is {
				standing.Continue(e)
			} else {
				*o.failure(&answer) = unfinishedError(e)
			}
			rep := finish(answer, args)
			rep.refused, rep.status = !is, shell.StatusRunning
			return rep
		},
	}
}

func annotations(title string, h hints) mcp.ToolAnnotation {
	return mcp.ToolAnnotation{
		Title:           title,
		ReadOnlyHint:    &h.readOnly,
		DestructiveHint: &h.destructive,
		IdempotentHint:  &h.idempotent,
		OpenWorldHint:   &h.openWorld,
	}
}
