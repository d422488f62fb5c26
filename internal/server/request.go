package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
)

const methodListen = string(mcp.MethodSubscriptionsListen)

// maxInFlight bounds how many requests of one session can be unanswered; more are refused.
const maxInFlight = 1 << 16

// codeTooManyRequests is a JSON-RPC error code of the range that servers may use.
const codeTooManyRequests = -32000

// errClientCancelled is the cause with which a request's context ends when the client cancels the request.
var errClientCancelled = errors.New("cancelled by the client")

// request is one request from its arrival to its answer.
type request struct {
	session *session
	id      json.RawMessage
	key     string
	method  string
	params  json.RawMessage
	ctx     context.Context
	cancel  context.CancelCauseFunc
	call    *call // of tools/call

	released bool // its job no longer counts; guarded by session.mu

	lent bool   // the job runs on the interpreter's thread, and must not wait for the client
	rest func() // what it has left to another goroutine therefore

	// refusal is an answer that replaces mcp-go's; set by the job.
	refusal *protocolError

	// sending is held while progress is written and to settle who comes first, progress or answer.
	sending sync.Mutex
}

type requestKey struct{}

func requestFrom(ctx context.Context) *request {
	r, _ := ctx.Value(requestKey{}).(*request)
	return r
}

// open makes a request of a message and lists it as in flight.
func (s *session) open(m message) (*request, *protocolError) {
	r := &request{session: s, id: m.id, key: idKey(m.id), method: m.method, params: m.params}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inflight[r.key] != nil {
		return nil, refuse(mcp.INVALID_REQUEST, "a request with the id %s is still in flight", m.id)
	}
	if len(s.inflight) >= maxInFlight {
		return nil, refuse(codeTooManyRequests, "%d requests are in flight; wait for answers", maxInFlight)
	}
	ctx, cancel := context.WithCancelCause(s.ctx)
	r.ctx, r.cancel = context.WithValue(ctx, requestKey{}, r), cancel
	s.inflight[r.key] = r
	return r, nil
}

// take removes a request from those in flight. Whoever gets true decides its fate: its answer, or silence.
func (s *session) take(r *request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inflight[r.key] != r {
		return false
	}
	delete(s.inflight, r.key)
	delete(s.listeners, r.key)
	return true
}

func (s *session) holds(r *request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inflight[r.key] == r
}

// cancelRequest withdraws a request on behalf of the client; nothing will be sent for it. An id that is not in flight
// is ignored. initialize cannot be cancelled.
func (s *session) cancelRequest(params json.RawMessage) {
	id := member(params, "requestId")
	if id == nil || !isRequestID(id) {
		return
	}
	s.mu.Lock()
	r := s.inflight[idKey(id)]
	s.mu.Unlock()
	if r != nil && r.method != string(mcp.MethodInitialize) && s.take(r) {
		r.cancel(errClientCancelled)
	}
}

// answer sends the message that ends a request, unless the client has cancelled it or the session has ended. It belongs to the request's job.
func (r *request) answer(line []byte, err error) { r.send(line, err, r.lent) }

// answerBeside is answer on another goroutine than the job's, for which it does not wait.
func (r *request) answerBeside(line []byte, err error) { r.send(line, err, false) }

func (r *request) send(line []byte, err error, atOnce bool) {
	if err != nil {
		// The error's text may quote the answer.
		log := r.session.server.log
		log.Error("cannot encode an answer", "method", loggable(r.method), "error", fmt.Sprintf("%T", err))
		line = errorMessage(r.id, refuse(mcp.INTERNAL_ERROR, "the answer cannot be encoded as JSON"))
	}
	r.sending.Lock()
	mine := r.session.take(r)
	r.sending.Unlock()
	delivered := mine && !r.session.ended()
	switch {
	case !delivered:
	case !atOnce:
		r.session.out.send(line)
	case !r.session.out.sendAtOnce(line):
		r.rest = func() {
			r.session.out.send(line)
			r.leave(true)
		}
		return
	}
	r.leave(delivered)
}

// leave tells everybody that the request is over.
func (r *request) leave(delivered bool) {
	if r.call != nil {
		if !delivered {
			r.session.parking.undelivered(r.call)
		}
		if a := r.call.attendance.Load(); a != nil {
			a.Leave(r.withdrawn(delivered))
		}
	}
	r.cancel(nil)
}

// withdrawn is why a call was cancelled; nil for one whose answer was delivered.
func (r *request) withdrawn(delivered bool) error {
	if delivered {
		return nil
	}
	// A request is withdrawn a moment before its context ends.
	return cmp.Or(context.Cause(r.ctx), errClientCancelled)
}

func (r *request) refuse(e *protocolError) { r.answer(errorMessage(r.id, e), nil) }

// guard runs a function that answers the request, and answers for it if it panics.
func (r *request) guard(f func()) {
	defer func() {
		if p := recover(); p != nil {
			r.refuse(r.session.server.panicked(loggable(r.method), p))
		}
	}()
	f()
}

// panicked logs a panic with its stack, but not its value, which may hold the client's text.
func (s *Server) panicked(where string, value any) *protocolError {
	reason := fmt.Sprintf("%T", value)
	if err, isRuntime := value.(interface {
		error
		RuntimeError()
	}); isRuntime {
		reason = err.Error()
	}
	s.log.Error("panic in a handler", "in", where, "reason", reason, "stack", string(debug.Stack()))
	return refuse(mcp.INTERNAL_ERROR, "internal error in %s; the log has the details", where)
}

// loggable returns a method if it is one of the protocol's; any other is the client's own text and is not logged.
func loggable(method string) string {
	switch mcp.MCPMethod(method) {
	case mcp.MethodInitialize, mcp.MethodPing, mcp.MethodToolsList, mcp.MethodToolsCall, mcp.MethodServerDiscover,
		mcp.MethodSubscriptionsListen:
		return method
	}
	return "another method"
}
