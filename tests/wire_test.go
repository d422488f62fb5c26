package tests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
)

// answersTo sends a line as it is, and a ping behind it, and returns what came back beside the ping's answer. JSON-RPC promises no order of
// answers: it waits until as many as expected are there.
func (s *server) answersTo(line string, expected int) []json.RawMessage {
	s.t.Helper()
	s.mu.Lock()
	before := len(s.messages)
	s.mu.Unlock()
	s.sendLine(line)
	s.nextID++
	ping := fmt.Sprintf(`"ping-%d"`, s.nextID)
	s.exchange(`{"jsonrpc":"2.0","id":`+ping+`,"method":"ping"}`, ping)
	s.holdsWithin(patience, func() bool { return len(s.messages) > before+expected })
	s.mu.Lock()
	defer s.mu.Unlock()
	var answers []json.RawMessage
	for _, m := range s.messages[before:] {
		if !bytes.Contains(m, []byte(ping)) {
			answers = append(answers, m)
		}
	}
	return answers
}

// requestLine makes the line of a request whose id no other has.
func requestLine(id int, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":"x%d","method":%q,"params":%s}`, id, method, params)
}

// Lines that are no good request are answered with an error or skipped, and the next request works.
func TestWire_BadLines(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	deep := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
	deepObject := strings.Repeat(`{"a":`, 50_000) + "1" + strings.Repeat("}", 50_000)
	ping, call := "ping", "tools/call"
	for i, test := range []struct {
		name, line     string
		method, params string // instead of line: a request with an id
		code           int    // of the error; 0: there is no answer
		contains       string // part of the message
	}{
		{name: "no JSON", line: "{", code: codeParse},
		{name: "words", line: "hello", code: codeParse},
		{name: "NUL", line: "\x00", code: codeParse},
		{name: "a carriage return inside", line: "{\r}{", code: codeParse},
		{name: "two objects", line: "{} {}", code: codeParse},
		{name: "blank", line: "   "},
		{name: "empty", line: ""},
		{name: "byte order mark", line: "\xef\xbb\xbf{}", code: codeParse},
		{name: "invalid UTF-8", method: ping, params: "{\"a\":\"\xff\"}", code: codeParse, contains: "UTF-8"},
		{name: "an encoded surrogate", method: ping, params: "{\"a\":\"\xed\xa0\xbd\"}", code: codeParse, contains: "UTF-8"},
		{name: "nested deeply", method: ping, params: deep, code: codeParse},
		{name: "objects nested deeply", method: ping, params: deepObject, code: codeParse},
		{name: "empty batch", line: "[]", code: codeInvalidRequest, contains: "batch"},
		{name: "batch", line: `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, code: codeInvalidRequest, contains: "batch"},
		{name: "number", line: "5", code: codeInvalidRequest},
		{name: "null", line: "null", code: codeInvalidRequest},
		{name: "empty object", line: "{}", code: codeInvalidRequest},
		{name: "no version", line: `{"id":"y1","method":"ping"}`, code: codeInvalidRequest, contains: "jsonrpc"},
		{name: "old version", line: `{"jsonrpc":"1.0","id":"y2","method":"ping"}`, code: codeInvalidRequest},
		{name: "no method", line: `{"jsonrpc":"2.0","id":"y3"}`, code: codeInvalidRequest},
		{name: "method of a wrong type", line: `{"jsonrpc":"2.0","id":"y4","method":5}`, code: codeInvalidRequest},
		{name: "empty method", line: `{"jsonrpc":"2.0","id":"y5","method":""}`, code: codeInvalidRequest},
		{name: "null id", line: `{"jsonrpc":"2.0","id":null,"method":"ping"}`, code: codeInvalidRequest, contains: "id"},
		{name: "id of a wrong type", line: `{"jsonrpc":"2.0","id":{},"method":"ping"}`, code: codeInvalidRequest},
		{name: "unknown method", method: "no/such", params: "{}", code: codeUnknownMethod, contains: "no/such"},
		{name: "a method of another server", method: "resources/list", params: "{}", code: codeUnknownMethod},
		{name: "unknown notification", line: `{"jsonrpc":"2.0","method":"no/such"}`},
		{name: "request without an id", line: `{"jsonrpc":"2.0","method":"tools/list"}`},
		{name: "late response", line: `{"jsonrpc":"2.0","id":77,"result":{}}`},
		{name: "late error", line: `{"jsonrpc":"2.0","id":77,"error":{"code":1,"message":"no"}}`},
		{name: "cancelled without an id", line: `{"jsonrpc":"2.0","method":"notifications/cancelled"}`},
		{name: "cancelled nonsense", line: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":[{}]}`},
		{name: "params of a wrong type", method: call, params: "[]", code: codeInvalidParams},
		{name: "unknown tool", method: call, params: `{"name":"nope"}`, code: codeInvalidParams, contains: "nope"},
		{name: "a retired tool", method: call, params: `{"name":"runtime_status"}`, code: codeInvalidParams},
		{name: "no tool", method: call, params: `{}`, code: codeInvalidParams, contains: "name"},
		{name: "tool of a wrong type", method: call, params: `{"name":1}`, code: codeInvalidParams, contains: "name"},
		{
			name: "a made up cursor", method: "tools/list", params: `{"cursor":"made up"}`, code: codeInvalidParams,
			contains: "cursor",
		},
	} {
		line := test.line
		if test.method != "" {
			line = requestLine(i, test.method, test.params)
		}
		expected := 1
		if test.code == 0 {
			expected = 0
		}
		got := s.answersTo(line, expected)
		if test.code == 0 {
			if len(got) > 0 {
				t.Errorf("%s: answered %s", test.name, got)
			}
			continue
		}
		if len(got) != 1 {
			t.Errorf("%s: the answers are %s", test.name, got)
			continue
		}
		r := decodeInto[response](t, got[0])
		if r.Error == nil || r.Error.Code != test.code || !strings.Contains(r.Error.Message, test.contains) {
			t.Errorf("%s: answered %s", test.name, got[0])
		}
	}
	s.works("all that")
}

// Arguments of a wrong type are an MCP error that names the argument.
func TestWire_BadArguments(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	for i, test := range []struct{ tool, arguments, names string }{
		{"execute", `{"code":5}`, `"code"`},
		{"execute", `{"code":null}`, `"code"`},
		{"execute", `{}`, `"code"`},
		{"execute", `{"code":"1","extra":1}`, `"extra"`},
		{"execute", `[]`, "arguments"},
		{"execute", `"1"`, "arguments"},
		{"list", `{"x":1}`, `"x"`},
		{"call_function", `{"arguments":{}}`, `"name"`},
		{"call_function", `{"name":[],"arguments":{}}`, `"name"`},
		{"call_function", `{"name":"f"}`, `"arguments"`},
		{"call_function", `{"name":"f","arguments":[1]}`, `"arguments"`},
		{"call_function", `{"name":"f","arguments":null}`, `"arguments"`},
		{"search", `{"query":1}`, `"query"`},
		{"search", `{"query":"x","exact":"yes"}`, `"exact"`},
		{"search", `{"query":"x","limit":"many"}`, `"limit"`},
		{"search", `{"query":"x","limit":1.5}`, `"limit"`},
		{"reload", `{"modules":"json"}`, `"modules"`},
		{"reload", `{"modules":["json",1]}`, `"modules[1]"`},
		{"inspect", `{"name":{}}`, `"name"`},
		{"remove", `{"names":[null]}`, `"names[0]"`},
		{"remove", `{"names":"x"}`, `"names"`},
		{"reset", `{"hard":true}`, `"hard"`},
		{"read_output", `{"execution_id":1}`, `"execution_id"`},
		{"read_output", `{"execution_id":"e1","stream":"stdin"}`, `"stream"`},
	} {
		got := s.answersTo(
			requestLine(i, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, test.tool, test.arguments)), 1,
		)
		if len(got) != 1 {
			t.Fatalf("%s %s: the answers are %s", test.tool, test.arguments, got)
		}
		r := decodeInto[response](t, got[0])
		if r.Error == nil || r.Error.Code != codeInvalidParams ||
			!strings.Contains(r.Error.Message, test.names) || !strings.HasPrefix(r.Error.Message, test.tool) {
			t.Errorf("%s %s: answered %s", test.tool, test.arguments, got[0])
		}
	}
	if e := s.succeed("1"); *e.ExecutionCount != 1 {
		t.Errorf("a refused call was counted: %d", *e.ExecutionCount)
	}
}

// Ids come back exactly as they were sent, numbers beyond float64 included.
func TestWire_IDs(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	params := `{"name":"execute","arguments":{"code":"1"}}`
	for _, id := range []string{"9007199254740993", "123456789012345678901234567890", `"5"`, "0", "-1", `"é\u00e9"`, `""`} {
		for _, method := range []string{"ping", "tools/list", "tools/call"} {
			r := s.exchange(`{"jsonrpc":"2.0","id":`+id+`,"method":"`+method+`","params":`+params+`}`, id)
			if r.Error != nil {
				t.Errorf("%s with id %s: %+v", method, id, r.Error)
			}
			s.forget(id)
		}
	}
}

// forget makes an id usable again.
func (s *server) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.responses, id)
}

func TestWire_DuplicateIDs(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	gate := s.tmp + "/gate"
	s.succeed(fmt.Sprintf("go = %q", gate))
	running := s.running("import time, os\nwhile not os.path.exists(go): time.sleep(0.01)\nos.remove(go)\n'first'")
	twice := s.answersTo(
		`{"jsonrpc":"2.0","id":`+running+`,"method":"tools/call","params":{"name":"execute","arguments":{"code":"ran = 1"}}}`, 1,
	)
	if len(twice) != 1 || decodeInto[response](t, twice[0]).Error == nil {
		t.Fatalf("an id that is in use gives %s", twice)
	}
	if r := decodeInto[response](t, twice[0]); r.Error.Code != codeInvalidRequest {
		t.Errorf("an id that is in use gives %+v", r.Error)
	}
	s.forget(running)
	touch(t, gate)
	if e := s.executionOf(running); string(e.Result) != `"first"` {
		t.Errorf("the first request gives %s", e.Result)
	}
	if e := s.cell("ran"); e.OK {
		t.Error("the second request ran")
	}
}

// One line holds at least 64 MB, in both directions.
func TestWire_LargeMessages(t *testing.T) {
	t.Parallel()
	s := connect(t, options{env: []string{fmt.Sprintf("IPYTHON_MCP_MAX_TEXT_CHARS=%d", 100<<20)}})
	s.equals("len('"+strings.Repeat("x", 64<<20)+"')", fmt.Sprint(64<<20))
	s.succeed("def echo(text): return text")
	a := s.call(
		"call_function",
		map[string]any{"name": "echo", "arguments": map[string]any{"text": strings.Repeat("é", 16<<20)}},
	)
	result := decodeInto[struct{ Result string }](t, a.Structured).Result
	if len(result) != 32<<20 || strings.Trim(result, "é") != "" {
		t.Errorf("%d bytes came back", len(result))
	}
	s.works("large messages")
}

// A line beyond every limit is refused, not taken for the end, and costs no memory.
func TestWire_LineWithoutEnd(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.works("the start")
	const size = 300 << 20
	chunk := bytes.Repeat([]byte("x"), 1<<20)
	for range size / len(chunk) {
		if _, err := s.stdin.Write(chunk); err != nil {
			t.Fatal(err)
		}
	}
	got := s.answersTo("", 1)
	if len(got) != 1 || decodeInto[response](t, got[0]).Error == nil {
		t.Errorf("answered %.300s", got)
	}
	s.works("a line of 300 MB")
}

// A client may write 10,000 requests before it reads one answer.
func TestWire_PipelinedWithoutReading(t *testing.T) {
	t.Parallel()
	s := start(t, options{unread: true})
	s.send("initialize", initializeParams("2025-06-18"))
	var lines strings.Builder
	const count = 10_000
	for i := range count {
		method := `"ping"`
		switch {
		case i%100 == 0:
			method = `"tools/list"`
		case i%10 == 1:
			method = `"tools/call","params":{"name":"execute","arguments":{"code":"` + fmt.Sprint(i) + `"}}`
		}
		fmt.Fprintf(&lines, `{"jsonrpc":"2.0","id":"p%d","method":%s}`+"\n", i, method)
	}
	if _, err := io.WriteString(s.stdin, lines.String()); err != nil {
		t.Fatal(err)
	}
	s.readOutput()
	for i := range count {
		r := s.awaitResponse(fmt.Sprintf(`"p%d"`, i))
		if r.Error != nil {
			t.Fatalf("request %d: %+v", i, r.Error)
		}
		if i%10 == 1 && !bytes.Contains(r.Result, fmt.Appendf(nil, `"result":%d,`, i)) {
			t.Fatalf("request %d gives %s", i, r.Result)
		}
	}
	if e := s.succeed("1"); *e.ExecutionCount != count/10+1 {
		t.Errorf("%d executions", *e.ExecutionCount)
	}
}

func TestWire_HalfALineAndTheEnd(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.works("the start")
	if _, err := io.WriteString(s.stdin, `{"jsonrpc":"2.0","id":1,"meth`); err != nil {
		t.Fatal(err)
	}
	s.endsBy(s.closeInput)
}

func TestWire_LastLineWithoutNewlineIsServed(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.works("the start")
	line := `{"jsonrpc":"2.0","id":"last","method":"tools/call","params":{"name":"execute","arguments":{"code":"40+2"}}}`
	if _, err := io.WriteString(s.stdin, line); err != nil {
		t.Fatal(err)
	}
	s.closeInput()
	if r := s.awaitResponse(`"last"`); !bytes.Contains(r.Result, []byte(`"result":42`)) {
		t.Errorf("the last line gave %s", r.Result)
	}
}

// Requests that arrive before initialize are refused or served, and do no harm.
func TestWire_BeforeInitialize(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	if r := s.exchange(`{"jsonrpc":"2.0","id":"early","method":"ping"}`, `"early"`); r.Error != nil {
		t.Errorf("ping: %+v", r.Error)
	}
	s.sendLine(
		`{"jsonrpc":"2.0","id":"call","method":"tools/call","params":{"name":"execute","arguments":{"code":"1"}}}`,
	)
	s.initialize("2025-06-18")
	s.awaitResponse(`"call"`)
	s.works("early requests")
}
