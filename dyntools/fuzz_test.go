package dyntools

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

var toolNamePattern = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_-]*$`)

// FuzzNames: an accepted name obeys the rules, and a refusal is bounded and readable.
func FuzzNames(f *testing.F) {
	for _, name := range []string{"f", "größe", "a.b", "_x", "exit", "list", "class", "a\x00", "\xff", "a-b"} {
		f.Add(name, name)
	}
	f.Fuzz(func(t *testing.T, symbol, tool string) {
		err := NewRegistry(testOptions).Check(Request{Symbol: symbol, ToolName: &tool})
		if err != nil {
			var refused *Error
			if !errors.As(err, &refused) || !utf8.ValidString(err.Error()) || utf8.RuneCountInString(err.Error()) > 600 {
				t.Fatalf("refusal %q", err)
			}
			return
		}
		if symbol[0] == '_' || strings.ContainsAny(symbol, ". -\x00\n") || !utf8.ValidString(symbol) {
			t.Errorf("symbol %q was accepted", symbol)
		}
		if !toolNamePattern.MatchString(tool) || len(tool) > 16 || tool == "list" {
			t.Errorf("tool name %q was accepted", tool)
		}
	})
}

// FuzzArguments: whatever a client sends is either a JSON object that fits, or invalid_arguments, the same each
// time.
func FuzzArguments(f *testing.F) {
	for _, arguments := range []string{
		``, `{}`, `{"a":1}`, `{"a":1,"b":[1,2.5]}`, `{"a":true}`, `{"a":1e999999999}`, `{"a":1,"b":[1,1]}`,
		`{"a":1,"c":{"k":[1,"x",2]}}`, `[`, `"\ud800"`,
		`{"a":1,"d":"z"}`, `{"a":-0.0e-400}`,
	} {
		f.Add([]byte(arguments))
	}
	s := schemaOf(f, "a", intType, "b?", listsType,
		"c?", `{"kind":"union","items":[{"kind":"dict","of":`+pairType+`},{"kind":"none"}]}`,
		"d?", `{"kind":"union","items":[`+choiceType+`,`+intSet+`,{"kind":"none"}]}`)
	f.Fuzz(func(t *testing.T, raw []byte) {
		sent, err := s.Validate(raw)
		if err == nil {
			var object map[string]json.RawMessage
			if err := json.Unmarshal(sent, &object); err != nil || object["a"] == nil {
				t.Fatalf("%q was accepted as %q", raw, sent)
			}
			return
		}
		var refused *Error
		if !errors.As(err, &refused) || refused.Code != InvalidArguments || len(refused.Problems) == 0 {
			t.Fatalf("%q: %v", raw, err)
		}
		for _, p := range refused.Problems {
			if !strings.HasPrefix(p.Path, "/") || p.Message == "" || !utf8.ValidString(p.Path+p.Message) {
				t.Errorf("%q: problem %+q", raw, p)
			}
		}
		if _, again := s.Validate(raw); again == nil || again.Error() != err.Error() {
			t.Errorf("%q: %v, then %v", raw, err, again)
		}
	})
}

// FuzzCallable: no description that decodes makes NewSchema panic; what it accepts is bounded and hashes the same
// again.
func FuzzCallable(f *testing.F) {
	for _, parameter := range []string{
		`"annotation":` + twoLists + `,"default":[]`,
		`"annotation":{"kind":"union","items":[null]}`,
		`"annotation":{"kind":"enum","values":["\u2028"]}`,
		`"annotation":{"kind":"typed_dict","fields":[{"name":"","annotation":{"kind":"none"},"default":null}]}`,
	} {
		f.Add([]byte(`{"callable_kind":"plain","parameters":[{"name":"x","kind":"keyword_only",` + parameter + `}]}`))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var c Callable
		if json.Unmarshal(raw, &c) != nil {
			return
		}
		s, err := NewSchema(&c, 100)
		if err != nil {
			codeOf(t, err)
			return
		}
		again, err := NewSchema(&c, 100)
		if err != nil || again.Fingerprint != s.Fingerprint || len(s.Input) > MaxSchemaBytes || !json.Valid(s.Advertised) {
			t.Errorf("%q: %v, %s", raw, err, s.Input)
		}
	})
}
