package server

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"sync/atomic"
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
	modern        bool            // the request may choose a revision by itself
	stateless     bool            // it does, and one without server-to-client requests
	forms         bool            // the request says that the client can show forms
	session       *session
	retry         *retry        // the answer to a question; nil: none
	ticket        *shell.Ticket // nil for an unknown tool, and for a call that needs no turn

	early      func(reply) bool                 // answers before the work has ended, unless something else has; set by perform
	attendance atomic.Pointer[shell.Attendance] // nil until the call has an execution
	answered   atomic.Bool                      // there is a first answer, which alone is logged
	logged     *loggedCall                      // what is left to log, by who has performed the call; nil: nothing
	performed  bool                             // the ticket is given back by who performs it
}

func (c *call) setMeta(meta json.RawMessage) {
	members(meta, func(key string, value json.RawMessage) {
		switch {
		case key == "progressToken" && isRequestID(value):
			c.progressToken = value
		case key == mcp.MetaKeyProtocolVersion:
			c.stateless = value[0] == '"' && mcp.IsModernProtocol(decodeString(value))
		case key == mcp.MetaKeyClientCapabilities:
			c.forms = showsForms(value)
		}
	})
	c.modern = c.stateless || mentionsEra(meta) // a key can be spelled with escapes
}

// reply is a tool's answer before it is put into a message.
type reply struct {
	value   any    // what structuredContent holds
	text    string // the text block
	failure *shell.Error
	refused bool // the server could not work; failure says why
	images  []shell.Image

	status string         // of an execution, where failure does not say it
	broken *protocolError // the tool panicked; nothing else is set
	asks   *parked        // the code asks before it goes on; nothing else is set
}

// isStructured says whether the message has structuredContent: clients that find it drop the images.
func (rep reply) isStructured() bool { return len(rep.images) == 0 }

// perform runs a call to its end, and gives its ticket back. A call that is not run because of its arguments is a
// protocolError. Where the work takes longer than the call waits, early gets what there is to say until then, on another
// goroutine; the reply that perform returns is nobody's then.
func (s *Server) perform(ctx context.Context, c *call, early func(reply)) (rep reply, refused *protocolError) {
	begun := time.Now()
	defer c.ticket.Release()
	args, refused := c.tool.check(c.arguments)
	if refused == nil && c.retry != nil {
		refused = c.session.parking.claim(c)
	}
	if refused != nil {
		c.note("invalid params", begun)
		return reply{}, refused
	}
	c.early = func(rep reply) bool {
		first := !c.answered.Swap(true)
		if first {
			s.logCall(c, loggedCall{rep.outcome(), time.Since(begun)})
			early(rep)
		}
		return first
	}
	rep, err := s.answer(ctx, c, args, begun)
	switch {
	case ctx.Err() != nil: // also of a call that was answered early
		c.note("cancelled", begun)
		return rep, refuse(mcp.INTERNAL_ERROR, "%s was cancelled", c.tool.definition.Name)
	case err != nil:
		rep = c.tool.refuse(refusalOf(err), args)
	}
	c.note(rep.outcome(), begun)
	return rep, rep.broken
}

// loggedCall is what the log says of a call.
type loggedCall struct {
	outcome  string
	duration time.Duration
}

// note keeps what the log is to say of a call that has not been answered.
func (c *call) note(outcome string, begun time.Time) {
	if !c.answered.Swap(true) {
		c.logged = &loggedCall{outcome, time.Since(begun)}
	}
}

// logPerformed logs a call after its answer, for which the client does not wait then.
func (s *Server) logPerformed(c *call) {
	if c.logged != nil {
		s.logCall(c, *c.logged)
	}
}

func (s *Server) logCall(c *call, about loggedCall) {
	s.log.LogAttrs(context.Background(), slog.LevelInfo, "tool call", slog.String("tool", c.tool.definition.Name),
		slog.String("outcome", about.outcome), slog.Duration("duration", about.duration))
}

// outcome is one word for the log.
func (r reply) outcome() string {
	switch {
	case r.broken != nil:
		return "panic"
	case r.asks != nil:
		return string(mcp.ResultTypeInputRequired)
	case r.failure != nil:
		return r.failure.Code
	}
	return r.Status()
}

// refusalOf says why the namespace could not work.
func refusalOf(err error) *shell.Error {
	var startup *shell.StartupError
	var busy *shell.BusyError
	if interrupted := shell.InterruptedError(err); interrupted != nil {
		return interrupted
	}
	switch {
	case errors.As(err, &busy):
		return busyError(busy)
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
	// The request's own context: mcp-go ends its own when handle returns, and the code of a call that was answered early goes on.
	rep, refused := s.performEarly(r.ctx, r.call)
	if refused != nil {
		r.refusal = refused
		return nil, errors.New(refused.message)
	}
	if rep.asks != nil {
		return rep.asks.inputRequired(), nil
	}
	result := &mcp.CallToolResult{Content: []mcp.Content{mcp.NewTextContent(rep.text)}, IsError: rep.refused}
	for _, image := range rep.images {
		data := base64.StdEncoding.EncodeToString(image.Data)
		result.Content = append(result.Content, mcp.NewImageContent(data, image.MIME))
	}
	if rep.isStructured() {
		var structured bytes.Buffer
		if err := s.encodeStructured(&structured, rep.value); err != nil {
			return nil, err
		}
		result.RawStructuredContent = structured.Bytes()
	}
	return result, nil
}

// performEarly performs a call and returns the first reply that there is.
func (s *Server) performEarly(ctx context.Context, c *call) (reply, *protocolError) {
	type result struct {
		reply   reply
		refused *protocolError
	}
	first := make(chan result, 2) // what comes early, and the end
	c.performed = true
	go func() {
		defer func() {
			if p := recover(); p != nil {
				first <- result{refused: s.panicked("tool "+c.tool.definition.Name, p)}
			}
		}()
		rep, refused := s.perform(ctx, c, func(early reply) { first <- result{reply: early} })
		s.logPerformed(c)
		first <- result{rep, refused}
	}()
	r := <-first
	return r.reply, r.refused
}

var _ mcpserver.ToolHandlerFunc = (*Server)(nil).handle
