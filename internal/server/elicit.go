package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"ipython-mcp/internal/bounds"
	"ipython-mcp/shell"
)

// What running code asks is put to the client's user as elicitation/create: a request of the server's own, or, where the client
// takes none, a part of an answer (parking.go).

const (
	// answerMember is the one field of the form.
	answerMember = "value"
	// maxFieldTitleChars bounds the name of the field, which clients show beside it.
	maxFieldTitleChars = 100
)

var errDisconnected = errors.New("got no answer: the client has disconnected")

// showsForms reports whether a client of these capabilities can put a form to its user.
func showsForms(capabilities json.RawMessage) bool {
	capability := member(capabilities, "elicitation")
	modes := 0
	isObject := members(capability, func(string, json.RawMessage) { modes++ })
	return isObject && (modes == 0 || member(capability, "form") != nil)
}

// asker returns what puts the questions of a call to the user; nil where that cannot be done.
func (s *session) asker(c *call) shell.Asker {
	switch {
	case c.takesQuestions():
		return s.park(c)
	case c.stateless:
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.elicits {
		return nil
	}
	return s.ask
}

// ask is a shell.Asker.
func (s *session) ask(ctx context.Context, q shell.Question) (string, error) {
	id, answers := s.openQuestion()
	if answers == nil {
		return "", errDisconnected
	}
	line, err := requestMessage(id, string(mcp.MethodElicitationCreate), form(q))
	if err != nil {
		return "", err
	}
	s.out.send(line)
	select {
	case m, answered := <-answers:
		if !answered {
			return "", errDisconnected
		}
		return answerIn(m)
	case <-ctx.Done():
		if s.closeQuestion(id) {
			s.send(string(mcp.MethodNotificationCancelled), mcp.CancelledNotificationParams{
				RequestId: mcp.NewRequestId(id), Reason: "the code does not wait for the answer any more",
			})
		}
		return "", context.Cause(ctx)
	}
}

// form is what the client shows its user.
func form(q shell.Question) mcp.ElicitationParams {
	message, title := q.Prompt, q.Prompt[strings.LastIndexByte(q.Prompt, '\n')+1:]
	if message == "" {
		message, title = "The running code asks for a line of input.", "Input"
	}
	if q.Secret {
		message += "\n\nThe code asks for a secret, but the answer is not hidden: it can show up in what this client displays and logs."
	}
	title, _ = bounds.Cut(title, maxFieldTitleChars)
	return mcp.ElicitationParams{Message: message, RequestedSchema: map[string]any{
		"type":       "object",
		"properties": map[string]any{answerMember: map[string]string{"type": "string", "title": title}},
		"required":   []string{answerMember},
	}}
}

// answerIn is the text in a response. An error says why there is none, as shell.Asker wants it.
func answerIn(m message) (string, error) {
	if m.failure != nil {
		text := string(member(m.failure, "code"))
		if said := member(m.failure, "message"); said != nil && said[0] == '"' {
			text += ": " + decodeString(said)
		}
		text, _ = bounds.Cut(text, maxErrorChars)
		return "", fmt.Errorf("got no answer: the client reports the error %s", text)
	}
	switch string(member(m.result, "action")) {
	case `"accept"`:
	case `"decline"`:
		return "", errors.New("was declined by the user")
	case `"cancel"`:
		return "", errors.New("was cancelled by the user")
	default:
		return "", errors.New("got no answer: what the client says does not have the form of the protocol")
	}
	value := member(member(m.result, "content"), answerMember)
	switch {
	case value == nil: // the user has left the field empty
		return "", nil
	case value[0] != '"':
		return "", errors.New("got no answer: what the client says is no text")
	}
	text := decodeString(escapeLoneSurrogates(value))
	return strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r"), nil
}

// openQuestion lists a question as open. The channel gets the response, and is closed where none can come any more; it is nil if that is known
// already.
func (s *session) openQuestion() (id string, answers <-chan message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.questions == nil {
		return "", nil
	}
	s.asked++
	id = fmt.Sprintf("ask-%d", s.asked)
	answer := make(chan message, 1)
	s.questions[id] = answer
	return id, answer
}

// closeQuestion reports whether a question was still open.
func (s *session) closeQuestion(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, open := s.questions[id]
	delete(s.questions, id)
	return open
}

// answered takes a response. One that answers nothing is late, or was never wanted.
func (s *session) answered(m message) {
	if m.id == nil || m.id[0] != '"' {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	id := decodeString(m.id)
	if answer, open := s.questions[id]; open {
		delete(s.questions, id)
		answer <- m
	}
}

// closeQuestionsLocked says that no response will come any more.
func (s *session) closeQuestionsLocked() {
	for _, answer := range s.questions {
		close(answer)
	}
	s.questions = nil
	s.parking.close()
}
