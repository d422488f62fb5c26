package tests

import (
	"strings"
	"testing"
)

// No text block holds a control sequence of a terminal, whatever value, display or docstring it shows; a JSON value is exact in the
// structured answer all the same.
func TestTexts_WithoutControlSequences(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.succeed(`class Red:
    "\x1b[1mbold\x1b[0m"
    def __repr__(self): return "\x1b[31mred\x1b[0m"
    def _repr_markdown_(self): return "**\x9b31mred**"
def red(): "\x1b[1mbold\x1b[0m"; return "\x1b[31mred"
thing = Red()`)
	for _, code := range []string{
		"thing", "[thing]", "display(thing)", `"\x1b[31mred \x1b]0;title\x07"`, "red?",
		`raise ValueError("\x1b[31mred")`, "raise type('Red', (Exception,), {'__str__': lambda e: '\x1b[31mred'})",
	} {
		s.showsNoControlSequence(code, s.call("execute", map[string]any{"code": code}))
	}
	for tool, arguments := range map[string]map[string]any{
		"inspect": {"name": "thing"}, "search": {"query": "thing"}, "list": {}, "call_function": {"name": "red", "arguments": map[string]any{}},
		"register_tool": {"name": "red"},
	} {
		s.showsNoControlSequence(tool, s.call(tool, arguments))
	}
	s.equals(`"\x1b[31mred"`, `"\u001b[31mred"`)
	s.equals("thing", `{"json_compatible":false,"type":"__main__.Red","representation":"red"}`)
}

func (s *server) showsNoControlSequence(of string, a answer) {
	s.t.Helper()
	if text := a.text(); text == "" || strings.ContainsAny(text, "\x1b\u009b") {
		s.t.Errorf("the text of %q is %q", of, text)
	}
}

// The text block alone says why code ended, also where its exception does not.
func TestTexts_SayWhyCodeEnded(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	for code, want := range map[string]string{
		"import sys; sys.exit(3)":                 "SystemExit: 3\nthe code asked to exit with 3",
		"import pdb; pdb.set_trace()\nx = 1":      "RuntimeError: the debugger cannot open: this server has no terminal",
		"raise KeyboardInterrupt":                 "KeyboardInterrupt\nthe code was interrupted; the namespace",
		"import time; time.sleep(60)  # too long": "KeyboardInterrupt\nthe code was interrupted: it had run for 0.5 s, its time limit",
	} {
		id := s.sendTimed("execute", map[string]any{"code": code}, map[string]any{"timeout_seconds": 0.5})
		mentions(t, s.toolAnswer(id).text(), want)
	}
	if text := s.call("execute", map[string]any{"code": "1/0"}).text(); !strings.HasSuffix(text, "ZeroDivisionError: division by zero") {
		t.Errorf("the text is %s", text)
	}
}
