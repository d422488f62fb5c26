package dyntools

import (
	"fmt"

	"ipython-mcp/internal/bounds"
)

// Code is an error code of the client contract.
type Code string

// The codes that this package reports.
const (
	InvalidSymbolName       Code = "invalid_symbol_name"
	InvalidToolName         Code = "invalid_tool_name"
	InvalidDescription      Code = "invalid_description"
	StableToolCollision     Code = "stable_tool_collision"
	DuplicateToolName       Code = "duplicate_tool_name"
	DuplicateSymbol         Code = "duplicate_symbol"
	RegistryFull            Code = "registry_full"
	NameNotFound            Code = "name_not_found"
	NotCallable             Code = "not_callable"
	UnsupportedSignature    Code = "unsupported_signature"
	UnsupportedCallableKind Code = "unsupported_callable_kind"
	InvalidArguments        Code = "invalid_arguments"
	StaleRegistration       Code = "stale_registration"
)

// Error is a refusal that the client reads. Message is one line for a model: what was tried, with which value,
// what to do.
type Error struct {
	Code    Code
	Message string
	// Problems holds the single findings of invalid_arguments, sorted by path; nil for other codes.
	Problems []Problem
}

// Error returns the message without the code, which travels in a field of its own.
func (e *Error) Error() string { return e.Message }

func refuse(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// quotedChars bounds a name or value that an error message repeats, in characters.
const quotedChars = 80

// quoted renders a name for a message: bounded, with quotes and control characters escaped.
func quoted(s string) string {
	s, _ = bounds.Cut(s, quotedChars)
	return fmt.Sprintf("%q", s)
}
