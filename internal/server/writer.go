package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
)

// writer puts whole messages on the wire, one Write each. Any goroutine may use it.
type writer struct {
	mu     sync.Mutex // held while a message is written, however long the client does not read
	out    io.Writer
	closed atomic.Bool // nothing is written any more
	failed func(error) // called once, with the first error
}

func newWriter(out io.Writer, failed func(error)) *writer { return &writer{out: out, failed: failed} }

// send writes one message, to which it adds the newline. It drops the message once the writer is closed or has failed.
func (w *writer) send(message []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writeLocked(message)
}

// sendAtOnce is send where that does not have to wait for anybody, and reports whether it was.
func (w *writer) sendAtOnce(message []byte) bool {
	outlet, is := w.out.(Outlet)
	if !is || !w.mu.TryLock() {
		return false
	}
	defer w.mu.Unlock()
	if !outlet.Takes(len(message) + 1) {
		return false
	}
	w.writeLocked(message)
	return true
}

func (w *writer) writeLocked(message []byte) {
	if w.closed.Load() {
		return
	}
	if _, err := w.out.Write(append(message, '\n')); err != nil && !w.closed.Swap(true) {
		w.failed(err)
	}
}

// response begins a response message; its caller appends a member and the closing brace.
func response(id json.RawMessage) *bytes.Buffer {
	if id == nil {
		id = null
	}
	b := new(bytes.Buffer)
	b.Grow(512)
	b.WriteString(`{"jsonrpc":"2.0","id":`)
	b.Write(id)
	return b
}

// resultMessage encodes a successful answer.
func resultMessage(id json.RawMessage, result any) ([]byte, error) {
	b := response(id)
	b.WriteString(`,"result":`)
	if err := encode(b, result); err != nil {
		return nil, err
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// errorMessage encodes a JSON-RPC error; a nil id stands for null.
func errorMessage(id json.RawMessage, e *protocolError) []byte {
	b := response(id)
	b.WriteString(`,"error":`)
	body := struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    any    `json:"data,omitempty"`
	}{e.code, e.message, e.data}
	if err := encode(b, body); err != nil {
		return errorMessage(id, &protocolError{code: e.code, message: e.message})
	}
	b.WriteByte('}')
	return b.Bytes()
}

// notificationMessage encodes a notification; params may be nil.
func notificationMessage(method string, params any) ([]byte, error) {
	return requestMessage("", method, params)
}

// requestMessage encodes a request of the server's own; without an id it is a notification. params may be nil.
func requestMessage(id, method string, params any) ([]byte, error) {
	b := new(bytes.Buffer)
	body := struct {
		JSONRPC string `json:"jsonrpc"`
		ID      string `json:"id,omitempty"`
		Method  string `json:"method"`
		Params  any    `json:"params,omitempty"`
	}{"2.0", id, method, params}
	if err := encode(b, body); err != nil {
		return nil, fmt.Errorf("cannot encode the message %s: %v", method, err)
	}
	return b.Bytes(), nil
}

// encode appends a value as JSON on one line, with <, > and & as they are.
func encode(b *bytes.Buffer, value any) error {
	encoder := json.NewEncoder(b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err
	}
	b.Truncate(b.Len() - 1) // the encoder's newline
	return nil
}
