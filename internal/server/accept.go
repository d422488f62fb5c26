package server

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/mark3labs/mcp-go/mcp"
)

// acceptLine turns what the line reader returned into a job, which has no run where nothing is left to do. more is
// false at the end of the input.
func (s *session) acceptLine(line []byte, err error) (j job, more bool) {
	switch {
	case errors.Is(err, errLineTooLong):
		return s.refusal(nil, refuse(mcp.INVALID_REQUEST, "the message is larger than %d bytes", maxLineBytes)), true
	case err != nil:
		return job{}, false
	}
	return s.accept(line), true
}

// accept does what must happen in the order of arrival, without blocking, and returns the rest.
func (s *session) accept(line []byte) job {
	m, refused := parseMessage(line)
	switch {
	case refused != nil:
		return s.refusal(m.id, refused)
	case m.method == "":
		s.answered(m)
		return job{}
	case m.id == nil:
		s.notified(m)
		return job{}
	}
	r, refused := s.open(m)
	if refused != nil {
		return s.refusal(m.id, refused)
	}
	switch r.method {
	case string(mcp.MethodInitialize):
		return s.initialize(r)
	case string(mcp.MethodToolsCall):
		s.finishHandshake()
		if refused := r.prepareCall(); refused != nil {
			return job{run: func() { r.refuse(refused) }}
		}
	case string(mcp.MethodToolsList):
		s.finishHandshake()
	}
	return job{run: func() { r.guard(r.serve) }, request: r, parked: r.method == methodListen}
}

func (s *session) refusal(id json.RawMessage, e *protocolError) job {
	return job{run: func() { s.out.send(errorMessage(id, e)) }}
}

// notified takes a notification. Those that are not known are ignored, as the protocol wants it.
func (s *session) notified(m message) {
	switch m.method {
	case string(mcp.MethodNotificationInitialized):
		s.finishHandshake()
	case string(mcp.MethodNotificationCancelled):
		s.cancelRequest(m.params)
	}
}

// initialize is worked out on the reader, so that it is over before the next message is looked at. Only the writing
// is left.
func (s *session) initialize(r *request) job {
	var line []byte
	var err error
	send := func() { r.answer(line, err) }
	func() {
		defer func() {
			if p := recover(); p != nil {
				line = errorMessage(r.id, s.server.panicked(r.method, p))
			}
		}()
		var ok bool
		line, ok, err = r.handleMessage(peer{session: s})
		s.mu.Lock()
		s.initialized = s.initialized || ok && err == nil
		s.elicits = showsForms(member(r.params, "capabilities"))
		s.mu.Unlock()
	}()
	return job{run: send}
}

// finishHandshake notes that the client has seen the answer of initialize: it says so, or uses the tools.
func (s *session) finishHandshake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready = s.initialized
}

// prepareCall takes the params of a tools/call apart and reserves a place in the namespace's queue.
func (r *request) prepareCall() *protocolError {
	c := &call{session: r.session}
	var name json.RawMessage
	var parts retry
	isObject := members(r.params, func(key string, value json.RawMessage) {
		switch key {
		case "arguments":
			c.arguments = value
		case "name":
			name = value
		case "_meta":
			c.setMeta(value)
		case "requestState":
			parts.state = value
		case "inputResponses":
			parts.responses = value
		}
	})
	switch {
	case !isObject:
		return refuse(mcp.INVALID_PARAMS, "tools/call: params must be an object with name and arguments")
	case name == nil || name[0] != '"':
		return refuse(mcp.INVALID_PARAMS, "tools/call: the name of the tool is missing or no string")
	}
	c.setRetry(parts)
	if c.tool = r.session.server.tool(decodeString(name)); c.tool != nil && !c.tool.unqueued && c.retry == nil {
		c.ticket = r.session.server.namespace.Reserve()
		c.ticket.Ask = r.session.asker(c)
	}
	r.call = c
	return nil
}

// withoutArguments returns the params of a tools/call as mcp-go gets them: it would decode the arguments several
// times, and the tool has them from the call.
func withoutArguments(params json.RawMessage) json.RawMessage {
	rest := bytes.NewBufferString("{")
	members(params, func(key string, value json.RawMessage) {
		if key == "arguments" {
			return
		}
		if rest.Len() > 1 {
			rest.WriteByte(',')
		}
		// Encoding a string cannot fail.
		_ = encode(rest, key)
		rest.WriteByte(':')
		rest.Write(value)
	})
	rest.WriteByte('}')
	return rest.Bytes()
}
