package dyntools

import (
	"bytes"
	"encoding/json"
)

// Request is what a client asks register_tool for.
type Request struct {
	Symbol      string
	ToolName    *string // nil: the symbol's name
	Description *string // nil: the docstring
}

// ParseRequest reads the arguments of register_tool and reports a wrong type under the code of its argument. An
// optional argument that is null counts as left out; arguments that it does not know are left to the caller.
func ParseRequest(arguments json.RawMessage) (Request, error) {
	var raw struct {
		Name        json.RawMessage `json:"name"`
		ToolName    json.RawMessage `json:"tool_name"`
		Description json.RawMessage `json:"description"`
	}
	if err := json.Unmarshal(arguments, &raw); err != nil {
		return Request{}, refuse(InvalidArguments, "the arguments are no JSON object: %v", err)
	}
	var r Request
	symbol, ok := optionalString(raw.Name)
	if !ok || symbol == nil {
		return Request{}, refuse(InvalidSymbolName, "name must be a string: the top-level name of a callable")
	}
	r.Symbol = *symbol
	if r.ToolName, ok = optionalString(raw.ToolName); !ok {
		return Request{}, refuse(InvalidToolName, "tool_name must be a string, or left out to use the name")
	}
	if r.Description, ok = optionalString(raw.Description); !ok {
		return Request{}, refuse(InvalidDescription, "description must be a string, or left out to use the docstring")
	}
	return r, nil
}

// optionalString returns nil for an absent or null value, and false for one that is no string.
func optionalString(raw json.RawMessage) (*string, bool) {
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return nil, true
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, false
	}
	return &s, true
}

// tool returns the tool name and whether it is the default.
func (r Request) tool() (string, bool) {
	if r.ToolName == nil {
		return r.Symbol, true
	}
	return *r.ToolName, false
}
