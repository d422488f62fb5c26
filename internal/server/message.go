package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"ipython-mcp/internal/bounds"
)

// message is a line of the client, taken apart once. Its byte slices belong to it.
type message struct {
	id     json.RawMessage // a string or a number exactly as sent; nil where there is none
	method string          // empty: a response
	params json.RawMessage // nil where there is none or null

	result, failure json.RawMessage // of a response; one of them is nil
}

// protocolError is a JSON-RPC error.
type protocolError struct {
	code    int
	message string
	data    any // nil: none
}

// maxErrorChars bounds the message of a JSON-RPC error, which may quote the client's text.
const maxErrorChars = 500

func refuse(code int, format string, args ...any) *protocolError {
	text, _ := bounds.Cut(fmt.Sprintf(format, args...), maxErrorChars)
	return &protocolError{code: code, message: text}
}

var null = json.RawMessage("null")

// parseMessage takes a line apart. With an error, the message has an id where the client's could be read.
func parseMessage(line []byte) (message, *protocolError) {
	if !utf8.Valid(line) {
		return message{}, refuse(mcp.PARSE_ERROR, "the message is not valid UTF-8")
	}
	if !json.Valid(line) {
		return message{}, refuse(mcp.PARSE_ERROR, "the message is not valid JSON: %s", syntaxProblem(line))
	}
	var m message
	var version, method json.RawMessage
	isObject := members(line, func(key string, value json.RawMessage) {
		switch key {
		case "jsonrpc":
			version = value
		case "id":
			m.id = value
		case "method":
			method = value
		case "params":
			m.params = value
		case "result":
			m.result = value
		case "error":
			m.failure = value
		}
	})
	if !isObject {
		return message{}, refuse(mcp.INVALID_REQUEST, "%s", notAnObject(line))
	}
	if method == nil && (m.result != nil || m.failure != nil) {
		return m, nil
	}
	if bytes.Equal(m.params, null) {
		m.params = nil
	}
	return m, m.check(version, method)
}

// check completes the message with its method, or says what is wrong with it.
func (m *message) check(version, method json.RawMessage) *protocolError {
	if m.id != nil && !isRequestID(m.id) {
		m.id = nil
		return refuse(mcp.INVALID_REQUEST, "the id of a request is a string or a number")
	}
	if string(version) != `"2.0"` {
		return refuse(mcp.INVALID_REQUEST, `the message lacks "jsonrpc": "2.0"`)
	}
	if method == nil || method[0] != '"' {
		return refuse(mcp.INVALID_REQUEST, "the method of a request is a string")
	}
	if m.method = decodeString(method); m.method == "" {
		return refuse(mcp.INVALID_REQUEST, "the method of a request is empty")
	}
	return nil
}

func isRequestID(raw json.RawMessage) bool {
	return raw[0] == '"' || raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9'
}

// idKey is what two ids have in common that are the same to a client: the text of a string, the digits of a number. A
// string and a number are never the same.
func idKey(raw json.RawMessage) string {
	if raw[0] == '"' {
		return `"` + decodeString(raw)
	}
	return string(raw)
}

func notAnObject(line []byte) string {
	if line[skipSpace(line, 0)] == '[' {
		return "batches are not supported; send one message per line"
	}
	return "the message is not a JSON object"
}

func syntaxProblem(line []byte) string {
	var raw json.RawMessage
	if err := json.Unmarshal(line, &raw); err != nil {
		return err.Error()
	}
	return "unknown problem"
}
