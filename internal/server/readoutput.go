package server

import (
	"context"
	"fmt"

	"ipython-mcp/shell"
)

type readOutputInput struct {
	ExecutionID string `json:"execution_id" jsonschema_description:"The execution_id of an execute answer."`
	Stream      string `json:"stream,omitempty" jsonschema:"enum=stdout,enum=stderr,default=stdout" jsonschema_description:"Which of the two."`
	Offset      int    `json:"offset,omitempty" jsonschema:"default=0" jsonschema_description:"Where to start, in characters."`
	Limit       int    `json:"limit,omitempty" jsonschema_description:"How many characters; by default as many as one answer holds."`
}

var readOutputText = toolText{
	name:  "read_output",
	title: "Read long output",
	hints: hints{readOnly: true, idempotent: true},
	input: readOutputInput{},
	description: `
Read a part of what an execution printed, when its answer left characters out. next_offset is where the following part
starts, null at the end. The output of the last 50 executions is kept.`,
}

// readOutput pages through the text that an answer of execute cut. It waits for nobody's turn.
func (s *Server) readOutput() operation[shell.OutputPage] {
	return operation[shell.OutputPage]{
		run: func(_ context.Context, _ *shell.Ticket, args arguments) (shell.OutputPage, error) {
			stream := args.text("stream")
			if stream == "" {
				stream = "stdout"
			}
			offset, limit := args.integer("offset", 0), args.integer("limit", s.limits.TextChars)
			return s.namespace.ReadOutput(args.text("execution_id"), stream, int64(offset), int64(limit))
		},
		failure: func(a *shell.OutputPage) **shell.Error { return &a.Error },
		complete: func(a *shell.OutputPage, args arguments) {
			if a.ExecutionID == "" {
				a.ExecutionID, a.Stream = args.text("execution_id"), args.text("stream")
			}
		},
		render:     renderOutputPage,
		unqueued:   true,
		structured: true,
	}
}

func renderOutputPage(a shell.OutputPage) string {
	var p page
	p.add(a.Text)
	p.failed(a.Error)
	if a.NextOffset != nil {
		p.addf("[%d of %d characters; go on with offset=%d]", *a.NextOffset, a.TotalChars, *a.NextOffset)
	}
	if a.TotalChars > 0 {
		return p.or(fmt.Sprintf("[nothing is left from offset=%d on: %d of %d characters can be read]", a.Offset, a.SpooledChars, a.TotalChars))
	}
	return p.or("nothing was printed")
}
