package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"ipython-mcp/shell"
)

// call is the part of a tools/call that concerns its tool.
type call struct {
	tool          *tool           // nil: unknown
	arguments     json.RawMessage // as sent; nil where there are none
	progressToken json.RawMessage // a string or a number as sent; nil where none is wanted
	modern        bool            // the request chooses a revision by itself
	ticket        *shell.Ticket   // nil for an unknown tool
}

func (c *call) setMeta(meta json.RawMessage) {
	c.modern = mentionsEra(meta)
	members(meta, func(key string, value json.RawMessage) {
		if key == "progressToken" && isRequestID(value) {
			c.progressToken = value
		}
	})
}

// reply is a tool's answer before it is put into a message.
type reply struct {
	value   any    // what structuredContent holds
	text    string // the text block
	failure *shell.Error
	refused bool // the server could not work; failure says why
}

// perform runs a call to its reply, and gives its ticket back. A call that is not run because of its arguments is a
// protocolError.
func (s *Server) perform(ctx context.Context, c *call) (rep reply, refused *protocolError) {
	begun := time.Now()
	outcome := "panic"
	defer func() {
		c.ticket.Release()
		if p := recover(); p != nil {
			refused = s.panicked("tool "+c.tool.definition.Name, p)
		}
		s.log.LogAttrs(ctx, slog.LevelInfo, "tool call", slog.String("tool", c.tool.definition.Name),
			slog.String("outcome", outcome), slog.Duration("duration", time.Since(begun)))
	}()
	args, refused := c.tool.check(c.arguments)
	if refused != nil {
		outcome = "invalid params"
		return reply{}, refused
	}
	defer s.followStartup(ctx, begun)()
	rep, err := c.tool.run(ctx, c.ticket, args)
	switch {
	case err != nil && ctx.Err() != nil:
		outcome = "cancelled"
		return rep, refuse(mcp.INTERNAL_ERROR, "%s was cancelled", c.tool.definition.Name)
	case err != nil:
		rep = c.tool.refuse(refusalOf(err), args)
	}
	outcome = "ok"
	if rep.failure != nil {
		outcome = rep.failure.Code
	}
	return rep, nil
}

// refusalOf says why the namespace could not work.
func refusalOf(err error) *shell.Error {
	var startup *shell.StartupError
	switch {
	case errors.As(err, &startup):
		return &shell.Error{Code: "startup_failed", Message: err.Error()}
	case errors.Is(err, shell.ErrEnded):
		return &shell.Error{Code: "interpreter_ended", Message: err.Error()}
	}
	return &shell.Error{Code: "internal_error", Message: err.Error()}
}

// handle is how mcp-go reaches a tool, for calls that choose a revision by themselves. The call with its arguments
// comes with the context; mcp-go has seen everything but the arguments.
func (s *Server) handle(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	r := requestFrom(ctx)
	if r.call.tool == nil {
		// It was registered after the call had arrived.
		r.refusal = refuse(mcp.INVALID_PARAMS, "the tool has just appeared; call it again")
		return nil, errors.New(r.refusal.message)
	}
	rep, refused := s.perform(ctx, r.call)
	if refused != nil {
		r.refusal = refused
		return nil, errors.New(refused.message)
	}
	var structured bytes.Buffer
	if err := s.encodeStructured(&structured, rep.value); err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{
		Content:              []mcp.Content{mcp.NewTextContent(rep.text)},
		RawStructuredContent: structured.Bytes(),
		IsError:              rep.refused,
	}, nil
}

var _ mcpserver.ToolHandlerFunc = (*Server)(nil).handle
