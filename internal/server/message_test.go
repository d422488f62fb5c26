package server

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"ipython-mcp/shell"
)

// Messages that are too much: each gets an error, and the next request works.
func TestSession_monsters(t *testing.T) {
	c := connect(t, newServer(t, Options{}))
	brackets := strings.Repeat("[", 100_000)
	objects := strings.Repeat(`{"a":`, 100_000)
	for name, line := range map[string]string{
		"open brackets":     brackets,
		"nested arguments":  toolCall("1", "execute", `{"code":`+brackets+strings.Repeat("]", 100_000)+`}`),
		"nested objects":    toolCall("1", "execute", objects+"1"+strings.Repeat("}", 100_000)),
		"invalid UTF-8":     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"x\":\"\xff\"}}",
		"encoded surrogate": "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xed\xa0\xbd\"}",
		"NUL":               "\x00",
	} {
		if got := decode(t, c.ask(line)); got.Error == nil || got.Error.Code != -32700 || string(got.ID) != "null" {
			t.Errorf("%s: %+v", name, got)
		}
		if got := decode(t, c.ask(ping("1"))); got.Error != nil {
			t.Errorf("after %s: %+v", name, got)
		}
	}
}

// A line above the limit is refused at its end, at the end of the input too, and costs no memory; the line behind it
// is read.
func TestLineReader_limit(t *testing.T) {
	const limit = 100_000
	long := strings.Repeat("x", limit+1)
	fits := strings.Repeat("y", limit-1)
	r := newLineReader(strings.NewReader(long+"\n"+fits+"\n"+long+long+long+"\n\n \r\nlast\r\n"+long), limit)
	for i, want := range []string{"", fits, "", "last", ""} {
		line, err := r.next()
		if string(line) != want || (err == errLineTooLong) != (want == "") {
			t.Errorf("line %d: %.20q, %v", i, line, err)
		}
	}
	if line, err := r.next(); line != nil || err != io.EOF {
		t.Errorf("at the end: %q, %v", line, err)
	}
	ses := newSession(context.Background(), newServer(t, Options{}), "test", strings.NewReader(""), io.Discard)
	defer ses.end()
	if j, more := ses.acceptLine(nil, errLineTooLong); j.run == nil || !more {
		t.Error("a line that is too long is not refused")
	}
}

// FuzzMembers compares the splitting of objects with encoding/json's.
func FuzzMembers(f *testing.F) {
	for _, seed := range []string{
		`{}`, ` { "a" : 1 , "b\"\\" : [1,{"c":"]}"}] , "a":null}`, `{"x":"\\","y":-1.5e3,"z":{}}`,
		`{"":{"":{}},"t":true}`, `[1]`, `"{"`, `{"\u0061\ud83d":"\ud83d\ude00"}`,
		`"\b\f\n\r\t\/\"\\\u00e9\ud83d\ude00\ude00\ud83d\ud83d\n"`,
		`"\ud83d\u0041 \uD83D\u00e0"`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) || !utf8.Valid(raw) {
			t.Skip()
		}
		got := make(map[string]json.RawMessage)
		isObject := members(raw, func(key string, value json.RawMessage) { got[key] = value })
		var want map[string]json.RawMessage
		err := json.Unmarshal(raw, &want)
		if isObject != (err == nil && want != nil) {
			t.Fatalf("%q is an object: %v; encoding/json: %v", raw, isObject, err)
		}
		var text string
		if json.Unmarshal(raw, &text) == nil && raw[skipSpace(raw, 0)] == '"' {
			if got := decodeString(bytes.TrimSpace(raw)); got != text {
				t.Errorf("%s was decoded to %q, want %q", raw, got, text)
			}
		}
		if isObject && !maps.EqualFunc(got, want, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
			t.Errorf("%q: %q, want %q", raw, got, want)
		}
	})
}

// FuzzSurrogates: what comes out is valid JSON that decodes without a replacement character, and is unchanged where
// there was no lone surrogate.
func FuzzSurrogates(f *testing.F) {
	for _, seed := range []string{
		`"\ud83d"`, `"\ud83d\ude00"`, `"\ude00\ud83d"`, `"\\ud83d"`, `"\\\ud83d"`, `"\ud83d\ud83d\ude00"`,
		`"\ud83d\n\ude00"`, `"\uD83Dx"`, `"é"`,
		`{"\ud83d":["\udcaf"]}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if !json.Valid([]byte(raw)) || !isPlain(raw) {
			t.Skip()
		}
		got := escapeLoneSurrogates(json.RawMessage(raw))
		var before, after any
		if json.Unmarshal([]byte(raw), &before) != nil || json.Unmarshal(got, &after) != nil {
			t.Fatalf("%s became %s", raw, got)
		}
		decoded, _ := json.Marshal(after)
		if strings.Contains(string(decoded), "\ufffd") {
			t.Errorf("%s became %s, which still has a lone surrogate", raw, got)
		}
		original, _ := json.Marshal(before)
		if !strings.Contains(string(original), "\ufffd") && string(got) != raw {
			t.Errorf("%s became %s without need", raw, got)
		}
	})
}

// isPlain keeps inputs out that have a replacement character, or invalid UTF-8, of their own.
func isPlain(raw string) bool {
	return !strings.Contains(strings.ToLower(raw), "fffd") && !strings.ContainsRune(raw, '\ufffd')
}

// FuzzSession sends a line between two pings, and the same again: the pings are answered, every line of the server is
// valid JSON, and the line got exactly one answer if it has an id, with that id if it is a proper one.
func FuzzSession(f *testing.F) {
	for _, seed := range []string{
		`{}`, `[]`, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":1,"method":"initialize"}`,
		`{"jsonrpc":"2.0","id":9007199254740993,"method":"server/discover","params":{` + modernMeta + `}}`,
		execute("7", "1"), execute(`"\ud83d"`, "1"), toolCall("8", "call_function", `{"name":"f","arguments":"{"}`),
		listen("9"),
		cancelled("7"), initialized, `{"jsonrpc":"2.0","id":1,"result":null}`,
		`{"jsonrpc":"2.0","id":1.5e3,"method":"ping","params":[]}`,
		toolCall("1", "search", `{"query":"","limit":1e999}`), "\f",
	} {
		f.Add(seed)
	}
	s := newServer(f, Options{})
	f.Fuzz(func(t *testing.T, line string) {
		if strings.ContainsAny(line, "\n") {
			t.Skip()
		}
		var out lockedBuffer
		in := strings.NewReader(ping(`"first"`) + "\n" + line + "\n" + ping(`"last"`))
		if err := s.Serve(context.Background(), in, &out); err != nil {
			t.Fatal(err)
		}
		answers := make(map[string]int)
		for said := range strings.Lines(out.String()) {
			if a := decode(t, said); a.Method == "" {
				answers[string(a.ID)]++
			}
		}
		want := map[string]int{`"first"`: 1, `"last"`: 1}
		if id, answered := expectedAnswer(line); answered {
			want[id]++
		}
		if !maps.Equal(answers, want) {
			t.Errorf("%q was answered with ids %v, want %v:\n%s", line, answers, want, out.String())
		}
	})
}

// expectedAnswer returns the id of the answer to a line, decoded the long way, and whether there is one.
func expectedAnswer(line string) (id string, answered bool) {
	trimmed := strings.Trim(line, " \t\r\n")
	if trimmed == "" {
		return "", false
	}
	if !wantsAnswer(trimmed) || !isUTF8(trimmed) {
		return "null", trimmed != "" && !isUTF8(trimmed)
	}
	var m map[string]json.RawMessage
	if json.Unmarshal([]byte(trimmed), &m) != nil || len(m["id"]) == 0 || !isRequestID(m["id"]) {
		return "null", true
	}
	return string(m["id"]), true
}

func isUTF8(s string) bool { return utf8.ValidString(s) }

// largeCell is a cell of that size as JSON: lines of 16 bytes.
func largeCell(megabytes int) (arguments string, length int) {
	lines := megabytes << 16
	return `{"code":"` + strings.Repeat(`x = 'some text'\n`, lines) + `"}`, 16 * lines
}

// A large cell gets through in both eras.
func TestSession_largeMessage(t *testing.T) {
	namespace := newFakeNamespace()
	namespace.execute = func(_ context.Context, code string) (shell.ExecuteAnswer, error) {
		return executed(strconv.Itoa(len(code))), nil
	}
	s := newServer(t, Options{Namespace: namespace})
	for era, megabytes := range map[string]int{"legacy": 64, "modern": 8} {
		arguments, length := largeCell(megabytes)
		line := toolCall("1", "execute", arguments)
		if era == "modern" {
			line = modern(line)
		}
		var out lockedBuffer
		if err := s.Serve(context.Background(), strings.NewReader(line), &out); err != nil {
			t.Fatal(err)
		}
		if got := decodeCall(t, out.String()); got.Content[0].Text != strconv.Itoa(length) {
			t.Errorf("%s: %.200s", era, out.String())
		}
	}
}

// BenchmarkLargeMessage is a call with 64 MB of code; the time must stay near a second.
func BenchmarkLargeMessage(b *testing.B) {
	namespace := newFakeNamespace()
	namespace.execute = func(_ context.Context, _ string) (shell.ExecuteAnswer, error) { return executed("1"), nil }
	s := newServer(b, Options{Namespace: namespace})
	arguments, _ := largeCell(64)
	line := toolCall("1", "execute", arguments)
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Serve(context.Background(), strings.NewReader(line), io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}
