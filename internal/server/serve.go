package server

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"
)

// serve answers a request, except initialize. Two kinds take a short way that leads to the same answer: ping, and
// tools/call of a tool that exists, both in the legacy era. HandleMessage decodes a message about ten times, which
// costs more than the rest of a call. It adds nothing to a legacy call that this server uses: no hook touches calls,
// no tool is a task, none asks the client through it.
func (r *request) serve() {
	switch {
	case r.call != nil && r.call.tool != nil:
		if !r.call.modern {
			r.serveCall()
			return
		}
		defer func() {
			if !r.call.performed {
				r.call.ticket.Release()
			}
		}()
	case r.method == string(mcp.MethodPing) && !mentionsEra(r.params):
		r.answer(resultMessage(r.id, struct{}{}))
		return
	}
	switch {
	case r.method == methodListen:
		r.serveListen()
		return
	case r.call != nil:
		r.params = withoutArguments(r.params)
	}
	line, _, err := r.handleMessage(peer{session: r.session, call: r.call})
	r.answer(line, err)
}

func (r *request) serveCall() {
	s := r.session.server
	defer s.logPerformed(r.call)
	reply, refused := s.perform(r.ctx, r.call, func(early reply) {
		r.guard(func() { r.answerBeside(s.callMessage(r.id, early)) })
		r.session.release(r)
	})
	if refused != nil {
		r.refuse(refused)
		return
	}
	r.answer(s.callMessage(r.id, reply))
}

// mentionsEra reports whether params (or _meta) may choose a protocol revision for this request alone. mcp-go decides
// what that means; the test errs only on its side.
func mentionsEra(raw json.RawMessage) bool { return bytes.Contains(raw, []byte("protocolVersion")) }

// handleMessage has mcp-go answer and encodes the answer, which is ok if it is no error. The id it is given is the
// raw id as a string: whatever mcp-go does with an id (it rounds large numbers) is harmless to a string, and the
// client's own bytes are put back here.
func (r *request) handleMessage(p peer) (line []byte, ok bool, err error) {
	core := r.session.server.core
	var b bytes.Buffer
	request := struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      string          `json:"id"`
		Method  string          `json:"method"`
		Params  json.RawMessage `json:"params,omitempty"`
	}{mcp.JSONRPC_VERSION, string(r.id), r.method, r.params}
	if err := encode(&b, request); err != nil {
		return nil, false, err
	}
	switch answer := core.HandleMessage(core.WithContext(r.ctx, p), b.Bytes()).(type) {
	case mcp.JSONRPCResponse:
		if r.refusal != nil {
			return errorMessage(r.id, r.refusal), false, nil
		}
		if closed, is := answer.Result.(mcp.SubscriptionsListenResult); is && closed.Meta != nil {
			closed.Meta.SetSubscriptionID(r.id)
		}
		line, err = resultMessage(r.id, answer.Result)
		return line, true, err
	case mcp.JSONRPCError:
		return errorMessage(r.id, r.errorOf(answer)), false, nil
	}
	return errorMessage(r.id, refuse(mcp.INTERNAL_ERROR, "%s got no answer", r.method)), false, nil
}

// errorOf is mcp-go's error, or what a handler said instead.
func (r *request) errorOf(e mcp.JSONRPCError) *protocolError {
	if r.refusal != nil {
		return r.refusal
	}
	refused := refuse(e.Error.Code, "%s", e.Error.Message)
	refused.data = e.Error.Data
	return refused
}

// hooks keeps the decoder's view of our types out of the answers to params that mcp-go cannot decode.
func hooks() *mcpserver.Hooks {
	h := &mcpserver.Hooks{}
	h.AddOnError(func(ctx context.Context, _ any, method mcp.MCPMethod, _ any, err error) {
		var unparsable *mcpserver.UnparsableMessageError
		var cursor base64.CorruptInputError
		r := requestFrom(ctx)
		switch {
		case r == nil:
		case errors.As(err, &unparsable):
			r.refusal = refuse(mcp.INVALID_PARAMS, "%s: the params do not have the form of the protocol", method)
		case errors.As(err, &cursor):
			r.refusal = refuse(mcp.INVALID_PARAMS, "%s: the cursor is none of this server's", method)
		}
	})
	return h
}
