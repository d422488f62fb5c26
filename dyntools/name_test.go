package dyntools

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// testOptions are small limits, so that tests reach them.
var testOptions = Options{
	ToolNameChars: 16, DescriptionChars: 20, MaxTools: 3,
	StableTools: []string{"execute", "list"}, ModuleBindings: []string{"np"},
}

// codeOf returns the code of an *Error, and "" for nil.
func codeOf(t testing.TB, err error) Code {
	t.Helper()
	if err == nil {
		return ""
	}
	var refused *Error
	if !errors.As(err, &refused) {
		t.Fatalf("error %v is no *Error", err)
	}
	if refused.Message == "" || len(refused.Message) > 5000 {
		t.Errorf("message of %d bytes", len(refused.Message))
	}
	return refused.Code
}

func TestNames_symbol(t *testing.T) {
	r := NewRegistry(testOptions)
	tool := "fine"
	for want, symbols := range map[Code][]string{
		"": {
			"f", "camelCase9", "match", "type", "inn", "größe", "名前", "ªº", "x٣", "a·b", "℘", "a\u0e33", "ﾊﾞ",
		},
		InvalidSymbolName: {
			"", "9f", "a b", "a-b", "a.b", "f\x00", "\xff", "a\u200b", "😀", "٣x", "\u037a", "\ufdfa", "\u0e33", "\uff9e",
			"class", "None", "await", "_", "_f", "__name__",
			"In", "Out", "get_ipython", "exit", "quit", "open", "np",
			strings.Repeat("a.", 10000), strings.Repeat("\x00", 1<<20),
		},
	} {
		for _, symbol := range symbols {
			if got := codeOf(t, r.Check(Request{Symbol: symbol, ToolName: &tool})); got != want {
				t.Errorf("symbol %.40q: code %q, want %q", symbol, got, want)
			}
		}
	}
}

func TestNames_tool(t *testing.T) {
	r := NewRegistry(testOptions)
	for want, names := range map[Code][]string{
		"": {"f", "a-b_C9", "A", "sixteen-letters_", "lists", "in"},
		InvalidToolName: {
			"", "9", "_a", "-a", "a b", "a.b", "größe", "\u0430", "a\n", "a\x00", "\xff",
			"seventeen-letters", strings.Repeat("a", 1<<20),
		},
		StableToolCollision: {"execute", "list"},
	} {
		for _, name := range names {
			if got := codeOf(t, r.Check(Request{Symbol: "f", ToolName: &name})); got != want {
				t.Errorf("tool name %.40q: code %q, want %q", name, got, want)
			}
		}
	}
}

// TestNames_defaultTool: a symbol that is no tool name needs tool_name, and the message says so.
func TestNames_defaultTool(t *testing.T) {
	r := NewRegistry(testOptions)
	for symbol, want := range map[string]Code{
		"größe": InvalidToolName, "a_symbol_that_is_long": InvalidToolName, "execute": StableToolCollision,
	} {
		err := r.Check(Request{Symbol: symbol})
		if got := codeOf(t, err); got != want || !strings.Contains(err.Error(), "pass tool_name") {
			t.Errorf("symbol %s: %v, want %s with a hint", symbol, err, want)
		}
	}
}

func TestParseRequest(t *testing.T) {
	for want, texts := range map[Code][]string{
		"": {
			`{"name":"f"}`, `{"name":"f","tool_name":null,"description":null}`, `{"name":"f","tool_name":"g","description":""}`,
		},
		InvalidSymbolName:  {`{}`, `{"name":null}`, `{"name":1}`, `{"name":["f"]}`},
		InvalidToolName:    {`{"name":"f","tool_name":1}`},
		InvalidDescription: {`{"name":"f","description":1}`, `{"name":"f","description":{}}`},
		InvalidArguments:   {`[]`, `{`},
	} {
		for _, arguments := range texts {
			if _, err := ParseRequest(json.RawMessage(arguments)); codeOf(t, err) != want {
				t.Errorf("ParseRequest(%s) = %v, want %q", arguments, err, want)
			}
		}
	}
	q, err := ParseRequest(json.RawMessage(`{"name":"f","description":""}`))
	if err != nil || q.Symbol != "f" || q.ToolName != nil || q.Description == nil || *q.Description != "" {
		t.Errorf("ParseRequest = %+v, %v", q, err)
	}
}
