package server

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"ipython-mcp/internal/bounds"
	"ipython-mcp/shell"
)

// The text block of an answer is for people, and for clients that do not look at structuredContent: readable as it
// stands, without JSON around it, in the order in which a terminal would have shown it.

// page collects parts of a text block, each on lines of its own and as a terminal would show it.
type page struct{ strings.Builder }

func (p *page) add(part string) {
	if part == "" {
		return
	}
	if p.Len() > 0 && !strings.HasSuffix(p.String(), "\n") {
		p.WriteByte('\n')
	}
	p.WriteString(bounds.Shown(part))
}

func (p *page) addf(format string, args ...any) { p.add(fmt.Sprintf(format, args...)) }

// printed adds both streams, the second under a heading.
func (p *page) printed(stdout, stderr string) {
	p.add(stdout)
	if stderr != "" {
		p.add("[stderr]")
		p.add(stderr)
	}
}

// failed adds an error: its traceback, which ends in the exception's own words, and the message where that says more; or its code and
// message.
func (p *page) failed(e *shell.Error) {
	switch {
	case e == nil:
	case e.Traceback != nil && *e.Traceback != "":
		p.add(*e.Traceback)
		if !strings.Contains(*e.Traceback, e.Message) {
			p.add(e.Message)
		}
	case e.ErrorType != nil && *e.ErrorType != "":
		p.addf("%s: %s", *e.ErrorType, e.Message)
	default:
		p.addf("%s: %s", e.Code, e.Message)
	}
}

// running adds what to do about code that still runs, and the note on it.
func (p *page) running(id string, seconds float64, note string) {
	p.addf("[execution %s still runs after %v s: get_execution waits for its end, interrupt stops it]", id, seconds)
	if note != "" {
		p.addf("[%s]", note)
	}
}

// or returns the page, or something to say where there is nothing.
func (p *page) or(nothing string) string {
	if p.Len() == 0 {
		return nothing
	}
	return p.String()
}

func renderExecute(a shell.ExecuteAnswer) string {
	var p page
	if a.BackgroundOutput != "" {
		p.add("[output since the last call]")
		p.add(a.BackgroundOutput)
		if a.Stdout != "" {
			p.add("[stdout]")
		}
	}
	p.printed(a.Stdout, a.Stderr)
	p.displayed(a.DisplayData)
	if a.Truncated.Items {
		p.addf("(more was displayed than the %d items that are kept)", len(a.DisplayData))
	}
	p.result(a.Result, a.Truncated.Result)
	p.failed(a.Error)
	if a.Status == shell.StatusRunning {
		p.running(*a.ExecutionID, a.ElapsedSeconds, a.Note)
	}
	return p.or("(no output)")
}

func renderCall(a shell.CallAnswer) string {
	var p page
	p.printed(a.Stdout, a.Stderr)
	p.displayed(a.DisplayData)
	if a.OK && isNull(a.Result) {
		p.add("null")
	}
	p.result(a.Result, a.Truncated)
	p.failed(a.Error)
	if a.Status == shell.StatusRunning {
		p.running(a.ExecutionID, a.ElapsedSeconds, a.Note)
	}
	return p.or("(no output)")
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || bytes.Equal(raw, null) }

// maxResultChars bounds what the text block shows of a value in JSON. Each of its parts has a limit of its own; all of
// them together may be a hundred times as long, which structuredContent has.
const maxResultChars = 16 << 10

// result adds a result, and says where it is not the whole value.
func (p *page) result(raw json.RawMessage, truncated bool) {
	text := renderResult(raw)
	isText := len(raw) > 0 && raw[0] == '"'
	if shown, cut := bounds.Cut(text, maxResultChars); cut && !isText {
		p.add(shown)
		p.addf("(the result is longer: %d of its %d characters are shown here; look at parts of it)", maxResultChars, utf8.RuneCountInString(text))
		return
	}
	p.add(text)
	if _, opaque := opaqueText(raw); truncated && !opaque {
		p.add("(the result is cut: the value has more than this; look at parts of it)")
	}
}

// renderResult returns a result as text: a string as it is, a value that is not JSON as its text or representation,
// anything else as JSON. A result of null is no text, as a terminal shows none.
func renderResult(raw json.RawMessage) string {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	switch {
	case isNull(raw):
		return ""
	case raw[0] == '"':
		var text string
		if json.Unmarshal(raw, &text) == nil {
			return cmp.Or(text, "''")
		}
	case bytes.Contains(raw, []byte(`"json_compatible"`)):
		if text, is := opaqueText(raw); is {
			return text
		}
	}
	return string(raw)
}

// opaqueText returns what there is to read of a value that is not JSON, if raw describes one.
func opaqueText(raw json.RawMessage) (text string, is bool) {
	var opaque struct {
		JSONCompatible *bool   `json:"json_compatible"`
		Type           *string `json:"type"`
		Representation *string `json:"representation"`
		Text           string  `json:"text"`
	}
	if json.Unmarshal(raw, &opaque) != nil || opaque.JSONCompatible == nil || *opaque.JSONCompatible ||
		opaque.Type == nil || opaque.Representation == nil {
		return "", false
	}
	if opaque.Text != "" {
		return opaque.Text, true
	}
	return *opaque.Representation, true
}
