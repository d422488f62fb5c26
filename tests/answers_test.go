package tests

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// answer is what a tool gave.
type answer struct {
	IsError    bool
	Content    []struct{ Type, Text, Data, MIMEType string }
	Structured json.RawMessage `json:"structuredContent"`
}

// text is the text block for people.
func (a answer) text() string {
	var all strings.Builder
	for _, c := range a.Content {
		all.WriteString(c.Text)
	}
	return all.String()
}

// execution is the structured answer of execute.
type execution struct {
	OK             bool
	Status         string
	ExecutionID    *string `json:"execution_id"`
	ExecutionCount *int    `json:"execution_count"`
	Result         json.RawMessage
	Stdout, Stderr string
	DisplayData    []struct{ Data, Metadata map[string]any } `json:"display_data"`
	Error          *failure
	Truncated      struct {
		Stdout, Stderr, Result, Traceback, Items bool
		DisplayData                              bool  `json:"display_data"`
		StdoutOmitted                            int64 `json:"stdout_omitted_chars"`
		StderrOmitted                            int64 `json:"stderr_omitted_chars"`
	}
	BackgroundOutput string `json:"background_output"`
	Note             string
}

// failure is the error of an answer.
type failure struct {
	Code, Message string
	ErrorType     string `json:"error_type"`
	Traceback     string
}

func (f *failure) String() string {
	if f == nil {
		return "no error"
	}
	return fmt.Sprintf("%s: %s: %s\n%s", f.Code, f.ErrorType, f.Message, f.Traceback)
}

func decodeInto[T any](t *testing.T, raw json.RawMessage) T {
	t.Helper()
	var value T
	if err := json.Unmarshal(raw, &value); err != nil {
		t.Fatalf("%v: %.300s", err, raw)
	}
	return value
}

func (s *server) sendCall(tool string, arguments any) string {
	s.t.Helper()
	return s.send("tools/call", map[string]any{"name": tool, "arguments": arguments})
}

func (s *server) sendCell(code string) string {
	s.t.Helper()
	return s.sendCall("execute", map[string]any{"code": code})
}

// toolAnswer waits for the answer to a call that the protocol must not refuse.
func (s *server) toolAnswer(id string) answer {
	s.t.Helper()
	r := s.awaitResponse(id)
	if r.Error != nil {
		s.t.Fatalf("the call was refused: %+v", *r.Error)
	}
	return decodeInto[answer](s.t, r.Result)
}

func (s *server) call(tool string, arguments any) answer {
	s.t.Helper()
	return s.toolAnswer(s.sendCall(tool, arguments))
}

func (s *server) executionOf(id string) execution {
	s.t.Helper()
	return decodeInto[execution](s.t, s.toolAnswer(id).Structured)
}

// cell runs a cell and returns its answer.
func (s *server) cell(code string) execution {
	s.t.Helper()
	return s.executionOf(s.sendCell(code))
}

// value runs a cell that must succeed and returns its value as JSON.
func (s *server) value(code string) string {
	s.t.Helper()
	return string(s.succeed(code).Result)
}

// succeed runs a cell that must succeed.
func (s *server) succeed(code string) execution {
	s.t.Helper()
	e := s.cell(code)
	if !e.OK {
		s.t.Fatalf("%.300s failed: %v", code, e.Error)
	}
	return e
}

// equals runs a cell and compares its value.
func (s *server) equals(code, want string) {
	s.t.Helper()
	if got := s.value(code); got != want {
		s.t.Errorf("%.300s is %.500s, want %s", code, got, want)
	}
}

// works checks that the next cell after something dreadful is an ordinary one.
func (s *server) works(after string) {
	s.t.Helper()
	if trouble := s.trouble(); trouble != "" {
		s.t.Fatalf("after %s the next cell gives %s", after, trouble)
	}
}

// trouble runs an ordinary cell and says what is not ordinary about its answer.
func (s *server) trouble() string {
	s.t.Helper()
	r, arrived := s.answerWithin(s.sendCell("print('alive')\n1 + 1"), patience)
	switch {
	case !arrived:
		return "no answer"
	case r.Error != nil:
		return r.Error.Message
	}
	e := decodeInto[execution](s.t, decodeInto[answer](s.t, r.Result).Structured)
	if !e.OK || string(e.Result) != "2" || !strings.Contains(e.Stdout, "alive\n") {
		return fmt.Sprintf("%s; error %v", r.Result, e.Error)
	}
	return ""
}

// running sends a cell and returns once it runs.
func (s *server) running(code string) (id string) {
	s.t.Helper()
	flag := filepath.Join(s.tmp, "running")
	id = s.sendCell(fmt.Sprintf("open(%q, 'w').close()\n%s", flag, code))
	eventually(s.t, "the start of "+code, func() bool { return os.Remove(flag) == nil })
	return id
}

// equalJSON compares two JSON texts by value; numbers stay as they are written.
func equalJSON(t *testing.T, a, b string) bool {
	t.Helper()
	decode := func(text string) string {
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.UseNumber()
		var value any
		if err := decoder.Decode(&value); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		encoded, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		return string(encoded)
	}
	return decode(a) == decode(b)
}

// keysOf lists the keys of a JSON object, sorted.
func keysOf(t *testing.T, object json.RawMessage) string {
	t.Helper()
	return strings.Join(slices.Sorted(maps.Keys(decodeInto[map[string]json.RawMessage](t, object))), " ")
}
