package tests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// response is a decoded JSON-RPC response.
type response struct {
	Result json.RawMessage
	Error  *rpcError
	raw    []byte
}

type rpcError struct {
	Code    int
	Message string
}

// notification is a message that the server sent by itself.
type notification struct {
	ID     json.RawMessage // of a request; nil: none
	Method string
	Params json.RawMessage
}

// JSON-RPC error codes.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeUnknownMethod  = -32601
	codeInvalidParams  = -32602
)

// receiveLocked files a line of stdout, or fails the test where it is no message of the protocol.
func (s *server) receiveLocked(line []byte) {
	s.transcript.add("<", line)
	var m struct {
		JSONRPC string
		ID      json.RawMessage
		Method  *string
		Params  json.RawMessage
		Result  json.RawMessage
		Error   *rpcError
	}
	if err := json.Unmarshal(line, &m); err != nil || m.JSONRPC != "2.0" || !bytes.HasSuffix(line, []byte("\n")) {
		s.t.Errorf("stdout carries what is no message (%v): %.300q", err, line)
		return
	}
	s.messages = append(s.messages, line)
	if m.Method != nil {
		s.requests = append(s.requests, notification{m.ID, *m.Method, m.Params})
		return
	}
	if _, twice := s.responses[string(m.ID)]; twice && string(m.ID) != "null" {
		s.t.Errorf("the request %s was answered twice", m.ID)
	}
	if (m.Result == nil) == (m.Error == nil) {
		s.t.Errorf("a response needs either a result or an error: %.300q", line)
	}
	s.responses[string(m.ID)] = response{m.Result, m.Error, line}
}

// holdsWithin waits until a condition on what has arrived holds, or the limit passes. It is called with s.mu held.
func (s *server) holdsWithin(limit time.Duration, holds func() bool) bool {
	deadline := time.Now().Add(limit)
	alarm := time.AfterFunc(limit, s.arrived.Broadcast)
	defer alarm.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for !holds() {
		if s.closed || !time.Now().Before(deadline) {
			return false
		}
		s.arrived.Wait()
	}
	return true
}

func (s *server) answerWithin(id string, limit time.Duration) (found response, arrived bool) {
	arrived = s.holdsWithin(limit, func() (is bool) {
		found, is = s.responses[id]
		return is
	})
	return found, arrived
}

func (s *server) awaitWithin(id string, limit time.Duration) response {
	s.t.Helper()
	found, arrived := s.answerWithin(id, limit)
	if !arrived {
		s.t.Fatalf("the answer to %s did not arrive within %v, or before the end of stdout", id, limit)
	}
	return found
}

func (s *server) awaitResponse(id string) response {
	s.t.Helper()
	return s.awaitWithin(id, patience)
}

// answered reports whether an answer to the request has arrived so far.
func (s *server) answered(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, is := s.responses[id]
	return is
}

// neverAnswered checks that nothing was sent for a request, up to now.
func (s *server) neverAnswered(id string) {
	s.t.Helper()
	if s.answered(id) {
		s.t.Errorf("the request %s was answered", id)
	}
}

// notified lists what the server sent by itself so far.
func (s *server) notified() []notification {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

func (s *server) sendLine(line string) {
	s.t.Helper()
	s.mu.Lock()
	s.transcript.add(">", []byte(line))
	s.mu.Unlock()
	if _, err := io.WriteString(s.stdin, line+"\n"); err != nil {
		s.t.Fatalf("sending %.80s: %v", line, err)
	}
}

// exchange sends a line and waits for the answer with the given id.
func (s *server) exchange(line, id string) response {
	s.t.Helper()
	s.sendLine(line)
	return s.awaitResponse(id)
}

// send sends a request and returns its id.
func (s *server) send(method string, params any) string {
	s.t.Helper()
	s.nextID++
	id := fmt.Sprint(s.nextID)
	s.sendMessage(map[string]any{"jsonrpc": "2.0", "id": s.nextID, "method": method, "params": params})
	return id
}

func (s *server) notify(method string, params any) {
	s.t.Helper()
	s.sendMessage(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
}

func (s *server) sendMessage(message map[string]any) {
	s.t.Helper()
	if message["params"] == nil {
		delete(message, "params")
	}
	encoded, err := json.Marshal(message)
	if err != nil {
		s.t.Fatal(err)
	}
	s.sendLine(string(encoded))
}

// request sends a request and waits for its result or its error.
func (s *server) request(method string, params any) (json.RawMessage, *rpcError) {
	s.t.Helper()
	r := s.awaitResponse(s.send(method, params))
	return r.Result, r.Error
}

// prompt is the time in which the server answers what needs no Python. The contract of the interactive clients is
// 100 ms; a busy test machine gets more.
const prompt = time.Second

// promptly sends a request that must be answered at once, whatever Python does.
func (s *server) promptly(method string, params any) json.RawMessage {
	s.t.Helper()
	r := s.awaitWithin(s.send(method, params), prompt)
	if r.Error != nil {
		s.t.Fatalf("%s was refused: %+v", method, *r.Error)
	}
	return r.Result
}

func (s *server) initialize(revision string) json.RawMessage {
	s.t.Helper()
	return s.shakeHands(initializeParams(revision))
}

func (s *server) shakeHands(params map[string]any) json.RawMessage {
	s.t.Helper()
	result, refused := s.request("initialize", params)
	if refused != nil {
		s.t.Fatalf("initialize was refused: %+v", *refused)
	}
	s.notify("notifications/initialized", nil)
	return result
}

func initializeParams(revision string) map[string]any {
	return map[string]any{
		"protocolVersion": revision, "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "test", "version": "1"},
	}
}

// cancel withdraws a request as a client does.
func (s *server) cancel(id string) {
	s.t.Helper()
	s.notify("notifications/cancelled", map[string]any{"requestId": json.RawMessage(id), "reason": "test"})
}

// write writes a file of the library directory.
func (s *server) write(name, text string) {
	s.t.Helper()
	path := filepath.Join(s.library, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}
