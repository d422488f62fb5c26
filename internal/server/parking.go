package server

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"ipython-mcp/internal/bounds"
	"ipython-mcp/shell"
)

// From revision 2026-07-28 on, a server sends no requests: a call is answered with what is needed to go on (an
// input-required result), and the client calls again with that, the retry. The code that asks is parked meanwhile. A
// question leaves with the first call that waits for its code: the one that began it, one that joined it, a retry of an
// earlier question, or, where all of these have been answered, the next get_execution.

// inputKey names the only request of an input-required result.
const inputKey = "input"

// parking is what a session knows about parked code.
type parking struct {
	mu        sync.Mutex
	questions []*parked // open ones
	waiting   []*waiter // calls that can take a question along, oldest first
	closed    bool      // no answer can come any more
}

// parked is an open question.
type parked struct {
	ctx       context.Context // ends before the execution does, and when the code waits no more
	state     string          // what the retry says to name it: random, so that it cannot be forged
	question  shell.Question
	execution *shell.Execution
	answers   chan json.RawMessage // gets the client's result; closed where none can come any more
	patience  time.Duration
	limit     *time.Timer // ends patience, which begins again when the question leaves
	carrier   *call       // the call that it left with; nil: none so far. Guarded by parking.mu
}

// waiter is a call that waits for an execution.
type waiter struct {
	call      *call
	execution *shell.Execution
}

// retry is what a call carries that answers a question.
type retry struct {
	state     json.RawMessage // nil: missing
	responses json.RawMessage // nil: missing

	question *parked         // set by claim
	answer   json.RawMessage // the client's result, set by claim; nil: missing, the question is to be asked again
}

// setRetry makes the call a retry where it carries any part of one. Parts that are not what the protocol wants are left
// to mcp-go, which refuses them. Only revisions without server-to-client requests know retries.
func (c *call) setRetry(parts retry) {
	for _, part := range []*json.RawMessage{&parts.state, &parts.responses} {
		if bytes.Equal(*part, null) {
			*part = nil
		}
	}
	if c.stateless && (parts.state != nil || parts.responses != nil) {
		c.retry = &parts
	}
}

// takesQuestions reports whether the call can be answered with a question.
func (c *call) takesQuestions() bool { return c.stateless && c.forms }

// park is a shell.Asker for a call that takes questions.
func (s *session) park(c *call) shell.Asker {
	return func(ctx context.Context, question shell.Question) (string, error) {
		patience := s.server.patience
		q := &parked{
			ctx: ctx, state: rand.Text(), question: question, execution: c.attendance.Load().Execution,
			answers: make(chan json.RawMessage, 1), patience: patience, limit: time.NewTimer(patience),
		}
		return s.parking.ask(q)
	}
}

// ask opens a question and waits for the answer.
func (p *parking) ask(q *parked) (string, error) {
	defer q.limit.Stop()
	p.open(q)
	select {
	case answer, given := <-q.answers:
		return parkedAnswer(answer, given)
	case <-q.limit.C:
		if carried, open := p.drop(q); open {
			return "", q.expired(carried)
		}
		answer, given := <-q.answers // it was on its way
		return parkedAnswer(answer, given)
	case <-q.ctx.Done():
		p.drop(q)
		return "", context.Cause(q.ctx)
	}
}

func parkedAnswer(answer json.RawMessage, given bool) (string, error) {
	if !given {
		return "", errDisconnected
	}
	return answerIn(message{result: answer})
}

// expired says why a question has no answer, as shell.Asker wants it.
func (q *parked) expired(carried bool) error {
	if carried {
		return fmt.Errorf("got no answer: the client did not call again within %v s", q.patience.Seconds())
	}
	return fmt.Errorf("got no answer: its call had been answered before, and within %v s no get_execution of a client that can ask "+
		"came to take the question along", q.patience.Seconds())
}

// open lists a question and sends it out with a call that waits for its execution, if there is one.
func (p *parking) open(q *parked) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		close(q.answers)
		return
	}
	p.questions = append(p.questions, q)
	p.sendLocked(q)
}

// drop takes a question back, and reports whether it had left and whether it was still open.
func (p *parking) drop(q *parked) (carried, open bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return q.carrier != nil, p.removeLocked(q)
}

func (p *parking) removeLocked(q *parked) (open bool) {
	before := len(p.questions)
	p.questions = slices.DeleteFunc(p.questions, func(other *parked) bool { return other == q })
	return len(p.questions) < before
}

// sendLocked answers the first of the calls that wait for the question's execution with it. A call that has been
// answered already declines. A question that the code has given up stays listed for a moment, and goes nowhere.
func (p *parking) sendLocked(q *parked) {
	if q.ctx.Err() != nil {
		return
	}
	for _, w := range p.waiting {
		if w.execution == q.execution && w.call.early(reply{asks: q}) {
			q.carrier = w.call
			q.limit.Reset(q.patience)
			return
		}
	}
}

// wait has a call take a question of an execution along, one that waits already or comes while the call waits: until
// done is called.
func (p *parking) wait(c *call, e *shell.Execution) (done func()) {
	if !c.takesQuestions() {
		return func() {}
	}
	w := &waiter{call: c, execution: e}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting = append(p.waiting, w)
	for _, q := range p.questions {
		if q.execution == e && q.carrier == nil {
			p.sendLocked(q)
		}
	}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.waiting = slices.DeleteFunc(p.waiting, func(other *waiter) bool { return other == w })
	}
}

// undelivered says that a call's answer was not sent. A question that was to leave with it takes the next one.
func (p *parking) undelivered(c *call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, q := range p.questions {
		if q.carrier == c {
			q.carrier = nil
			p.sendLocked(q)
		}
	}
}

// close says that no call will come any more.
func (p *parking) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, q := range p.questions {
		close(q.answers)
	}
	p.questions = nil
}

// claim finds the question that a retry is about. Where the retry brings an answer, the question is closed: a second
// retry finds it no more.
func (p *parking) claim(c *call) *protocolError {
	if c.retry.state == nil {
		return refuse(mcp.INVALID_PARAMS, "tools/call: inputResponses came without the requestState that they belong to; nothing was run")
	}
	state := decodeString(c.retry.state)
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.questions, func(q *parked) bool {
		return q.state == state && q.carrier != nil && q.ctx.Err() == nil
	})
	if i < 0 {
		return refuse(mcp.INVALID_PARAMS, "tools/call: the requestState names no open question: it has been answered or given up, or was "+
			"never asked on this connection. Nothing was run; get_execution says what has become of the code")
	}
	q := p.questions[i]
	if !q.carrier.isLike(c) {
		return refuse(mcp.INVALID_PARAMS, "tools/call: the requestState belongs to a call of another tool or with other arguments; call that "+
			"one again. Nothing was run, and the question is still open")
	}
	c.retry.question, c.retry.answer = q, member(c.retry.responses, inputKey)
	if c.retry.answer != nil {
		p.removeLocked(q)
	}
	return nil
}

// isLike reports whether two calls are of the same tool with the same arguments.
func (c *call) isLike(other *call) bool {
	return c.tool.definition.Name == other.tool.definition.Name && sameJSON(orEmptyObject(c.arguments), orEmptyObject(other.arguments))
}

// orEmptyObject is what arguments that are missing stand for.
func orEmptyObject(arguments json.RawMessage) json.RawMessage {
	if arguments == nil || bytes.Equal(arguments, null) {
		return json.RawMessage("{}")
	}
	return arguments
}

func sameJSON(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	first, err := bounds.CanonicalJSON(a)
	second, wrong := bounds.CanonicalJSON(b)
	return errors.Join(err, wrong) == nil && bytes.Equal(first, second)
}

// resume answers a retry: it hands the answer to the code that waits for it, and then waits like any call. Nothing is
// run anew.
func (s *Server) resume(ctx context.Context, c *call, args arguments, begun time.Time) (reply, error) {
	q := c.retry.question
	if c.retry.answer == nil {
		return reply{asks: q}, nil
	}
	if c.tool.unqueued { // get_execution, which only looks at an execution
		q.answers <- c.retry.answer
		return s.look(ctx, c.tool, args, q.execution)
	}
	c.attendance.Store(s.namespace.Attend(q.execution))
	defer c.session.parking.wait(c, q.execution)()
	q.answers <- c.retry.answer
	if err := s.namespace.Wait(ctx, q.execution, s.clockOf(ctx, c.tool, args, begun)); err != nil {
		return reply{}, err
	}
	return s.outcome(q.execution)
}

// inputRequired is the question as the answer of a call.
func (q *parked) inputRequired() *mcp.CallToolResult {
	return mcpserver.NewInputRequestBuilder(q.state).Elicit(inputKey, form(q.question)).ToolResult()
}
