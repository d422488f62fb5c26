package shell

import "encoding/json"

// Error describes what went wrong in an answer: user code that failed, or a request that names nothing. Codes are those of the
// client contract (syntax_error, execution_error, name_not_found …). Source: the embedded Python package, or this package for
// errors that Python is never asked about.
type Error struct {
	Code               string    `json:"code"`
	Message            string    `json:"message"`
	ErrorType          *string   `json:"error_type"`
	Location           *Location `json:"location"`
	Traceback          *string   `json:"traceback"`
	Retryable          bool      `json:"retryable"`
	RetryAfterSeconds  *float64  `json:"retry_after_seconds"`
	MessageTruncated   bool      `json:"message_truncated"`
	LocationTruncated  bool      `json:"location_truncated"`
	TracebackTruncated bool      `json:"traceback_truncated"`
}

// Location is a place in source text: 1-based line and column, as Python counts them.
type Location struct {
	Line     *int    `json:"line"`
	Column   *int    `json:"column"`
	Filename *string `json:"filename"`
}

// Printed is what an operation other than execute wrote to descriptors 1 and 2; absent where it wrote nothing.
type Printed struct {
	Stdout string `json:"stdout,omitempty"`
	Stderr string `json:"stderr,omitempty"`
}

// ExecuteAnswer is the answer of execute.
type ExecuteAnswer struct {
	OK             bool              `json:"ok"`
	Status         string            `json:"status"`
	ExecutionID    *string           `json:"execution_id"`
	ExecutionCount *int              `json:"execution_count"`
	Result         json.RawMessage   `json:"result"`
	Stdout         string            `json:"stdout"`
	Stderr         string            `json:"stderr"`
	DisplayData    []DisplayData     `json:"display_data"`
	Error          *Error            `json:"error"`
	Truncated      ExecuteTruncation `json:"truncated"`
	// ElapsedSeconds is how long it has run; 0 once it has ended.
	ElapsedSeconds float64 `json:"elapsed_seconds,omitempty"`
	// Note is what keeps it from ending, where that is known.
	Note string `json:"note,omitempty"`
	// BackgroundOutput is what threads and children wrote between the previous answer and this call.
	BackgroundOutput string `json:"background_output,omitempty"`
	Illustrated
}

// DisplayData is one published MIME bundle.
type DisplayData struct {
	Data     json.RawMessage `json:"data"`
	Metadata json.RawMessage `json:"metadata"`
}

// ExecuteTruncation says which parts of an ExecuteAnswer were cut; the counts are exact and in code points.
type ExecuteTruncation struct {
	Stdout             bool  `json:"stdout"`
	Stderr             bool  `json:"stderr"`
	Result             bool  `json:"result"`
	DisplayData        bool  `json:"display_data"`
	Traceback          bool  `json:"traceback"`
	Items              bool  `json:"items"`
	StdoutOmittedChars int64 `json:"stdout_omitted_chars"`
	StderrOmittedChars int64 `json:"stderr_omitted_chars"`
}

// ListAnswer is the answer of list: the visible callables, sorted by name.
type ListAnswer struct {
	Functions []ListedFunction `json:"functions"`
	Truncated bool             `json:"truncated"`
	Error     *Error           `json:"error"`
	Printed
}

// ListedFunction is one visible callable.
type ListedFunction struct {
	Name        string `json:"name"`
	Signature   string `json:"signature"`
	Module      string `json:"module"`
	Description string `json:"description"`
	Truncated   struct {
		Signature   bool `json:"signature"`
		Module      bool `json:"module"`
		Description bool `json:"description"`
	} `json:"truncated"`
}

// CallAnswer is the answer of call_function. Status, ExecutionID, ElapsedSeconds and Note are there where they say more than OK does.
type CallAnswer struct {
	OK            bool            `json:"ok"`
	Name          string          `json:"name"`
	Result        json.RawMessage `json:"result"`
	Error         *Error          `json:"error"`
	Truncated     bool            `json:"truncated"`
	NameTruncated bool            `json:"name_truncated"`
	DisplayData   []DisplayData   `json:"display_data,omitempty"`
	Printed

	Status         string  `json:"status,omitempty"`
	ExecutionID    string  `json:"execution_id,omitempty"`
	ElapsedSeconds float64 `json:"elapsed_seconds,omitempty"`
	Note           string  `json:"note,omitempty"`
	Illustrated
}

// SearchAnswer is the answer of search.
type SearchAnswer struct {
	Results   []SearchResult `json:"results"`
	Truncated bool           `json:"truncated"`
	Error     *Error         `json:"error"`
	Printed
}

// SearchResult is one visible name that matches.
type SearchResult struct {
	Name           string `json:"name"`
	Kind           string `json:"kind"`
	QualifiedType  string `json:"qualified_type"`
	Representation string `json:"representation"`
	Description    string `json:"description"`
	Truncated      struct {
		QualifiedType  bool `json:"qualified_type"`
		Representation bool `json:"representation"`
		Description    bool `json:"description"`
	} `json:"truncated"`
}

// ReloadAnswer is the answer of reload: one result per requested name, in request order.
type ReloadAnswer struct {
	Results []ReloadResult `json:"results"`
	Error   *Error         `json:"error"`
	Printed
}

// ReloadResult says how one module fared and which top-level name it is bound to.
type ReloadResult struct {
	Module    string  `json:"module"`
	OK        bool    `json:"ok"`
	Binding   *string `json:"binding"`
	Error     *Error  `json:"error"`
	Truncated bool    `json:"truncated"`
	// Stale are names that still belong to the version before the reload, Refreshed those that were bound anew on request.
	// They are absent where there are none.
	Stale          []StaleName `json:"stale,omitempty"`
	Refreshed      []string    `json:"refreshed,omitempty"`
	NamesTruncated bool        `json:"names_truncated,omitempty"` // either list was cut
}

// StaleName is a top-level name that still belongs to an old version of a module.
type StaleName struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
	// Tool is the registered tool that calls it; package server fills it in.
	Tool *string `json:"tool"`
}

// InspectAnswer is the answer of inspect.
type InspectAnswer struct {
	OK             bool    `json:"ok"`
	Name           string  `json:"name"`
	Kind           *string `json:"kind"`
	QualifiedType  *string `json:"qualified_type"`
	Callable       bool    `json:"callable"`
	Signature      *string `json:"signature"`
	Module         *string `json:"module"`
	Documentation  *string `json:"documentation"`
	Representation *string `json:"representation"`
	Truncated      struct {
		QualifiedType  bool `json:"qualified_type"`
		Signature      bool `json:"signature"`
		Module         bool `json:"module"`
		Documentation  bool `json:"documentation"`
		Representation bool `json:"representation"`
	} `json:"truncated"`
	Error *Error `json:"error"`
	Printed
}

// RemoveAnswer is the answer of remove; each requested name stands once, in exactly one list.
type RemoveAnswer struct {
	OK      bool     `json:"ok"`
	Removed []string `json:"removed"`
	Refused []string `json:"refused"`
	Unknown []string `json:"unknown"`
	Error   *Error   `json:"error"`
	Printed
}

// ResetAnswer is the answer of reset.
type ResetAnswer struct {
	OK             bool     `json:"ok"`
	Removed        []string `json:"removed"`
	ExecutionCount int      `json:"execution_count"`
	Error          *Error   `json:"error"`
	Printed
}
