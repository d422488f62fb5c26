package server

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// What reaches the namespace is what the client sent: every digit, every character, lone surrogates visible.
func TestCalls_reachTheNamespace(t *testing.T) {
	tests := []struct{ name, arguments, want string }{
		{"execute", `{"code":"print(\"é\")\n"}`, `["execute","print(\"é\")\n"]`},
		{"execute", `{"code":"\ud83d"}`, `["execute","\\ud83d"]`},
		{"execute", `{"code":"\uDE00\ud83d\ude00 \\ud83d"}`, `["execute","\\ude00😀 \\ud83d"]`},
		{"execute", `{"code":""}`, `["execute",""]`},
		{"execute", `{"code":"1","persist":true}`, `["execute","1"]`},
		{"execute", `{"code":"1","persist":false}`, `["execute","1","scratch"]`},
		{"list", `{}`, `["list"]`},
		{
			"call_function", `{"name":"a.b","arguments":{"n":9007199254740993,"f":1.10,"s":"\udcaf"}}`,
			`["call_function","a.b",{"n":9007199254740993,"f":1.10,"s":"\\udcaf"}]`,
		},
		{"call_function", `{"name":"f","arguments":{"\ud83d":1}}`, `["call_function","f",{"\\ud83d":1}]`},
		{
			"call_function", `{"name":"f","arguments":"{\"n\":1e400, \"s\":\"\\ud83d\"}"}`,
			`["call_function","f",{"n":1e400,"s":"\\ud83d"}]`,
		},
		{"call_function", `{"name":"f","arguments":" {} "}`, `["call_function","f",{}]`},
		{"search", `{"query":"x"}`, `["search","x",false,50]`},
		{"search", `{"query":"x","exact":true,"limit":5.0}`, `["search","x",true,5]`},
		{"search", `{"query":"x","limit":1e400}`, `["search","x",false,2147483647]`},
		{"search", `{"query":"x","limit":-99999999999999999999}`, `["search","x",false,-2147483648]`},
		{"reload", `{"modules":["a","b.c"]}`, `["reload",["a","b.c"],false]`},
		{"reload", `{"modules":[],"refresh":true}`, `["reload",[],true]`},
		{"inspect", `{"name":"a\u0000b"}`, "[\"inspect\",\"a\\u0000b\"]"},
		{"remove", `{"names":["a","a"]}`, `["remove",["a","a"]]`},
		{"reset", `{}`, `["reset"]`},
	}
	for _, test := range tests {
		namespace := newFakeNamespace()
		c := connect(t, newServer(t, Options{Namespace: namespace}))
		c.ask(toolCall("1", test.name, test.arguments))
		if len(namespace.calls) != 1 || namespace.calls[0] != test.want {
			t.Errorf("%s %s: the namespace got %s, want %s", test.name, test.arguments, namespace.calls, test.want)
		}
	}
}

// Refused calls do not reach it, and do not hold its queue.
func TestCalls_refused(t *testing.T) {
	namespace := newFakeNamespace()
	c := connect(t, newServer(t, Options{Namespace: namespace}))
	deep := strings.Repeat(`{"a":`, 300) + "1" + strings.Repeat("}", 300)
	for _, arguments := range []string{`{"name":"f","arguments":` + deep + `}`, `{"name":"f","arguments":"nonsense"}`} {
		got := decodeCall(t, c.ask(toolCall("1", "call_function", arguments)))
		if got.IsError || !strings.Contains(string(got.Structured), `"code":"invalid_arguments"`) ||
			!strings.Contains(string(got.Structured), `"name":"f"`) {
			t.Errorf("%.50s: %+v", arguments, got)
		}
	}
	if len(namespace.calls) > 0 {
		t.Errorf("the namespace got %q", namespace.calls)
	}
}

// Messages stay short and the same, however much is wrong.
func TestCheck_boundedMessages(t *testing.T) {
	s := newServer(t, Options{})
	long := strings.Repeat("ä", 1<<18)
	var many strings.Builder
	for i := range 1000 {
		many.WriteString(`,"x` + strings.Repeat("y", i) + `":1`)
	}
	for _, arguments := range []string{
		`{"code":"1","` + long + `":1}`,
		`{"code":"1"` + many.String() + `}`,
		`{"` + long + `":[` + long[:0] + `]}`,
	} {
		_, first := s.tool("execute").check([]byte(arguments))
		if first == nil || utf8.RuneCountInString(first.message) > maxErrorChars || !utf8.ValidString(first.message) ||
			!strings.HasPrefix(first.message, "execute: ") {
			t.Fatalf("%.60s: %+v", arguments, first)
		}
		for range 5 {
			if _, again := s.tool("execute").check([]byte(arguments)); again.message != first.message {
				t.Errorf("the message varies: %q, %q", first.message, again.message)
			}
		}
	}
	c := connect(t, s)
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"` + long + `"}`,
		toolCall("1", long, "{}"),
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"` + long + `"}}`,
	} {
		got := decode(t, c.ask(line))
		if got.Error == nil || utf8.RuneCountInString(got.Error.Message) > maxErrorChars {
			t.Errorf("%.60s: %.600v", line, got.Error)
		}
	}
}
