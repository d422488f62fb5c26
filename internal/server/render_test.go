package server

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"ipython-mcp/shell"
)

func TestRenderExecute(t *testing.T) {
	traceback, errorType := "Traceback (most recent call last):\nZeroDivisionError: division by zero", "ValueError"
	result := func(raw string) shell.ExecuteAnswer { return shell.ExecuteAnswer{Result: json.RawMessage(raw)} }
	failed := func(e shell.Error) shell.ExecuteAnswer { return shell.ExecuteAnswer{Stdout: "before\n", Error: &e} }
	display := func(raw string) shell.ExecuteAnswer {
		return shell.ExecuteAnswer{Stdout: "x", DisplayData: []shell.DisplayData{{Data: json.RawMessage(raw)}}}
	}
	tests := map[string]struct {
		answer shell.ExecuteAnswer
		want   string
	}{
		"nothing":      {result("null"), "(no output)"},
		"stdout":       {shell.ExecuteAnswer{Stdout: "a\nb\n"}, "a\nb\n"},
		"both streams": {shell.ExecuteAnswer{Stdout: "out", Stderr: "err\n"}, "out\n[stderr]\nerr\n"},
		"string":       {result(`"a\n\"<b>\" \\udcaf é"`), "a\n\"<b>\" \\udcaf é"},
		"number":       {result(`123456789012345678901234567890`), "123456789012345678901234567890"},
		"list":         {result(` [1,"<a>"]`), `[1,"<a>"]`},
		"false":        {result(`false`), "false"},
		"empty string": {result(`""`), "''"},
		"cut": {
			shell.ExecuteAnswer{Result: json.RawMessage(`[1,2]`), Truncated: shell.ExecuteTruncation{Result: true}},
			"[1,2]\n(the result is cut: the value has more than this; look at parts of it)",
		},
		"long": {
			result(`["` + strings.Repeat("é", 20_000) + `"]`),
			`["` + strings.Repeat("é", 16<<10-3) + "…\n(the result is longer: 16384 of its 20004 characters are shown here; look at parts of it)",
		},
		"long string": {result(`"` + strings.Repeat("é", 20_000) + `"`), strings.Repeat("é", 20_000)},
		"broken":      {result(`"open`), `"open`},
		"with streams": {
			shell.ExecuteAnswer{Stdout: "x\n", Stderr: "warning", Result: json.RawMessage("1")},
			"x\n[stderr]\nwarning\n1",
		},
		"opaque": {result(`{"json_compatible":false,"type":"a.B","representation":"<B>"}`), "<B>"},
		"opaque with text": {
			result(`{"json_compatible":false,"type":"a.B","representation":"r","text":" a\n0 1"}`), " a\n0 1",
		},
		"looks opaque": {result(`{"json_compatible":true,"type":"a"}`), `{"json_compatible":true,"type":"a"}`},
		"control sequences": {
			shell.ExecuteAnswer{Stdout: "x", Stderr: "y", Result: json.RawMessage(`"\u001b[1;31mred\u001b[0m\u001b[A \u009b31mC1"`)},
			"x\n[stderr]\ny\nred C1",
		},
		"traceback": {
			failed(shell.Error{Code: "execution_error", Traceback: &traceback, Message: "division by zero"}), "before\n" + traceback,
		},
		"explained": {failed(shell.Error{Traceback: &traceback, Message: "it took too long"}), "before\n" + traceback + "\nit took too long"},
		"error type": {
			failed(shell.Error{Code: "execution_error", ErrorType: &errorType, Message: "no"}),
			"before\nValueError: no",
		},
		"error code":  {failed(shell.Error{Code: "invalid_code", Message: "blank"}), "before\ninvalid_code: blank"},
		"display":     {display(`{"text/plain":"<Figure>","text/html":"<b>"}`), "x\n<Figure>"},
		"bad display": {display(`[]`), "x"},
		"background": {
			shell.ExecuteAnswer{BackgroundOutput: "tick\n", Stdout: "now"},
			"[output since the last call]\ntick\n[stdout]\nnow",
		},
		"only behind": {shell.ExecuteAnswer{BackgroundOutput: "tick"}, "[output since the last call]\ntick"},
	}
	for name, test := range tests {
		if got := renderExecute(test.answer); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestRenderLists(t *testing.T) {
	kind, signature, nothing := "function", "(a, b=1)", ""
	failure := &shell.Error{Code: "some_code", Message: "no"}
	const failed = "some_code: no"
	functions := []shell.ListedFunction{
		{Name: "f", Signature: "(...)"},
		{Name: "g", Signature: "()", Description: "Doc.\nMore."},
	}
	found := []shell.SearchResult{{Name: "x", Kind: "variable", QualifiedType: "int", Representation: "1"}}
	printed := shell.Printed{Stdout: "x", Stderr: "y"}
	function := shell.InspectAnswer{OK: true, Name: "f", Signature: &signature, Kind: &kind, Module: &nothing}
	tests := map[string]struct{ got, want string }{
		"list, none":   {renderList(shell.ListAnswer{}), "no functions are defined"},
		"list":         {renderList(shell.ListAnswer{Functions: functions}), "f(...)\ng()  Doc."},
		"search, none": {renderSearch(shell.SearchAnswer{}), "no name matches"},
		"search, cut": {
			renderSearch(shell.SearchAnswer{Results: found, Truncated: true}),
			"x  variable  int  1\n" + moreNote,
		},
		"search, error": {renderSearch(shell.SearchAnswer{Error: failure}), failed},
		"call, null":    {renderCall(shell.CallAnswer{OK: true, Result: null}), "null"},
		"call, printed": {
			renderCall(shell.CallAnswer{Result: json.RawMessage("1"), Printed: printed}), "x\n[stderr]\ny\n1",
		},
		"reload, none": {renderReload(shell.ReloadAnswer{}), "no modules were named"},
		"reload, stale": {
			renderReload(shell.ReloadAnswer{Results: []shell.ReloadResult{{
				Module: "m", OK: true, Binding: &kind, Refreshed: []string{"a", "b"}, NamesTruncated: true,
				Stale: []shell.StaleName{{Name: "c", Reason: "old"}, {Name: "d", Reason: "old", Tool: &signature}},
			}}}),
			"m: loaded, bound to function\n  stale c: old\n  stale d (called by the tool (a, b=1)): old\n" +
				"  refreshed: a, b\n" + moreNote,
		},
		"inspect":        {renderInspect(function), "f(a, b=1)\nkind: function"},
		"inspect, error": {renderInspect(shell.InspectAnswer{Name: "f", Error: failure}), failed},
		"remove, none":   {renderRemove(shell.RemoveAnswer{OK: true}), "no names were given"},
		"remove": {
			renderRemove(shell.RemoveAnswer{OK: true, Removed: []string{"a"}, Unknown: []string{"b", "c"}}),
			"removed: a\nunknown: b, c",
		},
		"reset": {
			renderReset(shell.ResetAnswer{OK: true, Removed: []string{"a"}, ExecutionCount: 3}),
			"removed: a\nexecution count: 3",
		},
		"reset, error": {renderReset(shell.ResetAnswer{Error: failure}), failed},
	}
	for name, test := range tests {
		if test.got != test.want {
			t.Errorf("%s: %q, want %q", name, test.got, test.want)
		}
	}
}

// Compact answers leave out what says nothing, but what user code returned or displayed stays as it is.
func TestCompact(t *testing.T) {
	zero := 0
	raw := func(text string) json.RawMessage { return json.RawMessage(text) }
	s := newServer(t, Options{Compact: true})
	tests := map[string]struct {
		answer any
		want   string
	}{
		"results stay": {
			shell.ExecuteAnswer{OK: true, Result: raw(`{"a":null,"b":[],"c":false,"d":"","e":123456789012345678901}`)},
			`{"ok":true,"result":{"a":null,"b":[],"c":false,"d":"","e":123456789012345678901}}`,
		},
		"false is a result": {
			shell.CallAnswer{Name: "<f>", Result: raw(`false`)}, `{"ok":false,"name":"<f>","result":false}`,
		},
		"null is none": {shell.CallAnswer{Result: raw(`null`)}, `{"ok":false}`},
		"displays stay": {
			shell.ExecuteAnswer{DisplayData: []shell.DisplayData{{Data: raw(`{"x":""}`), Metadata: raw(`{}`)}}},
			`{"ok":false,"display_data":[{"data":{"x":""},"metadata":{}}]}`,
		},
		"counts": {
			shell.ExecuteAnswer{
				OK: true, ExecutionCount: &zero,
				Truncated: shell.ExecuteTruncation{Stdout: true, StdoutOmittedChars: 7},
			},
			`{"ok":true,"execution_count":0,"truncated":{"stdout":true,"stdout_omitted_chars":7}}`,
		},
		"location": {
			shell.CallAnswer{Error: &shell.Error{Code: "c", Message: "m", Location: &shell.Location{Line: &zero}}},
			`{"ok":false,"error":{"code":"c","message":"m","location":{"line":0}}}`,
		},
		"printed": {
			shell.ResetAnswer{OK: true, Printed: shell.Printed{Stdout: "x"}},
			`{"ok":true,"execution_count":0,"stdout":"x"}`,
		},
	}
	for name, test := range tests {
		line, err := s.callMessage(json.RawMessage("1"), reply{value: test.answer})
		if err != nil {
			t.Fatal(err)
		}
		if got := decodeCall(t, string(line)).Structured; string(got) != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// A result that cannot be encoded is an error for its call, not for the session.
func TestSession_brokenResult(t *testing.T) {
	namespace := newFakeNamespace()
	namespace.callTool = func(shell.ToolCall) shell.ToolAnswer {
		return shell.ToolAnswer{CallAnswer: shell.CallAnswer{OK: true, Result: json.RawMessage("{")}}
	}
	s := newServer(t, Options{Namespace: namespace})
	register(t, s, "broken")
	c := connect(t, s)
	for _, line := range []string{toolCall("1", "broken", "{}"), modern(toolCall("2", "broken", "{}"))} {
		if got := decode(t, c.ask(line)); got.Error == nil || got.Error.Code != -32603 {
			t.Errorf("a broken result was answered with %+v", got)
		}
	}
	if got := decode(t, c.ask(ping("3"))); got.Error != nil {
		t.Errorf("then ping got %+v", got)
	}
}

func TestRenderDisplays(t *testing.T) {
	tests := map[string]string{
		`{"text/plain":"<Figure>","image/png":"<image 1 of this answer: 1x1 png>"}`:        "<Figure>\n<image 1 of this answer: 1x1 png>",
		`{"text/plain":"0 1","text/html":"<table>","text/latex":"$0$"}`:                    "0 1",
		`{"text/plain":"<IPython.core.display.Markdown object>","text/markdown":"**a**"}`:  "**a**",
		`{"text/plain":"<IPython.core.display.JSON object>","application/json":{"a":[1]}}`: `{"a":[1]}`,
		`{"text/plain":"<IPython.core.display.SVG object>","image/svg+xml":"<svg/>"}`:      "<svg/>",
		`{"text/plain":"<IPython.core.display.HTML object>","text/html":"<script>"}`:       "<IPython.core.display.HTML object>",
		`{"text/html":"<b>"}`: "<b>",
		`{"text/html":"<SCRIPT src=x>a\nb</script >\n<p>c<style>d</style><script>cut"}`:       "\n<p>c",
		`{"text/html":" <script>a</script>\n<script>b"}`:                                      "<text/html, only code for a browser>",
		`{"text/plain":"Digraph","image/svg+xml":"<svg/>"}`:                                   "Digraph\n<svg/>",
		`{"text/plain":"Audio","audio/wav":"<audio/wav, 4 bytes, in the file /tmp/x.wav>"}`:   "Audio\n<audio/wav, 4 bytes, in the file /tmp/x.wav>",
		`{"text/plain":"Figure","application/vnd.plotly.v1+json":{"data":[]},"text/html":""}`: "Figure",
	}
	for bundle, want := range tests {
		answer := shell.ExecuteAnswer{DisplayData: []shell.DisplayData{{Data: json.RawMessage(bundle)}}}
		if got := renderExecute(answer); got != want {
			t.Errorf("%s: %q, want %q", bundle, got, want)
		}
	}
	answer := shell.ExecuteAnswer{DisplayData: make([]shell.DisplayData, 2), Truncated: shell.ExecuteTruncation{Items: true}}
	if got, want := renderExecute(answer), "(more was displayed than the 2 items that are kept)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// An answer with images has them behind its text and no structuredContent, in both eras.
func TestSession_images(t *testing.T) {
	namespace := newFakeNamespace()
	namespace.execute = func(context.Context, string) (shell.ExecuteAnswer, error) {
		answer := executed("text")
		answer.Images = []shell.Image{{MIME: "image/png", Data: []byte("one")}, {MIME: "image/jpeg", Data: []byte("two")}}
		return answer, nil
	}
	c := connect(t, newServer(t, Options{Namespace: namespace}))
	for _, line := range []string{toolCall("1", "execute", `{"code":"1"}`), modern(toolCall("2", "execute", `{"code":"1"}`))} {
		said := c.ask(line)
		var got struct {
			Result struct {
				Content           []struct{ Type, Text, Data, MIMEType string }
				StructuredContent json.RawMessage
			}
		}
		if err := json.Unmarshal([]byte(said), &got); err != nil {
			t.Fatal(err)
		}
		content := got.Result.Content
		if len(content) != 3 || content[0].Text != "text" || got.Result.StructuredContent != nil {
			t.Fatalf("the answer is %s", said)
		}
		if content[1].Type != "image" || content[1].Data != "b25l" || content[2].Data != "dHdv" || content[2].MIMEType != "image/jpeg" {
			t.Errorf("the images are %+v", content[1:])
		}
	}
}
