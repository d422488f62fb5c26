package tests

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// gated is a cell that says that it has begun, and runs until its gate is opened.
type gated struct {
	code string
	gate string
}

func (s *server) gated(value string) gated {
	gate := filepath.Join(s.t.TempDir(), "gate")
	return gated{gate: gate, code: fmt.Sprintf(
		"import os, time\nprint('begun')\nwhile not os.path.exists(%q): time.sleep(0.01)\n%s", gate, value)}
}

func (s *server) open(g gated) { touch(s.t, g.gate) }

// sendTimed sends a call with clocks of its own.
func (s *server) sendTimed(tool string, arguments, clocks map[string]any) string {
	s.t.Helper()
	all := maps.Clone(arguments)
	maps.Copy(all, clocks)
	return s.sendCall(tool, all)
}

func wait(seconds float64) map[string]any { return map[string]any{"wait_seconds": seconds} }

func (s *server) sendWaiting(code string, seconds float64) string {
	s.t.Helper()
	return s.sendTimed("execute", map[string]any{"code": code}, wait(seconds))
}

// detached starts a cell that is answered while it runs, and returns its execution id.
func (s *server) detached(code string) string {
	s.t.Helper()
	e := s.executionOf(s.sendWaiting(code, 0))
	if e.Status != "running" || e.ExecutionID == nil {
		s.t.Fatalf("the answer is %+v", e)
	}
	return *e.ExecutionID
}

// final waits for the end of an execution.
func (s *server) final(id string) execution {
	s.t.Helper()
	return decodeInto[execution](s.t, s.call("get_execution", map[string]any{"execution_id": id, "wait_seconds": 20}).Structured)
}

// A call whose code still runs when its reply clock ends says so with the output so far; the code goes on, and its answer can be had
// again and again.
func TestClocks_Reply(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.works("the start")
	g := s.gated("42")
	started := time.Now()
	raw := s.toolAnswer(s.sendWaiting(g.code, 0.3))
	if took := time.Since(started); took < 300*time.Millisecond || took > 3*time.Second {
		t.Errorf("the answer took %v", took)
	}
	e := decodeInto[execution](t, raw.Structured)
	if raw.IsError || e.OK || e.Status != "running" || e.ExecutionID == nil || e.Stdout != "begun\n" || e.Error != nil ||
		e.ExecutionCount != nil || string(e.Result) != "null" || !strings.Contains(raw.text(), "get_execution") {
		t.Errorf("the answer is %s", raw.Structured)
	}
	fields := decodeInto[map[string]any](t, raw.Structured)
	if display, is := fields["display_data"].([]any); !is || len(display) > 0 {
		t.Errorf("display_data is %v", fields["display_data"])
	}
	for _, arguments := range []map[string]any{{}, {"execution_id": *e.ExecutionID}, {"wait_seconds": 0.1}} {
		if again := decodeInto[execution](t, s.call("get_execution", arguments).Structured); again.Status != "running" ||
			again.Stdout != "begun\n" || *again.ExecutionID != *e.ExecutionID {
			t.Errorf("get_execution %v gives %+v", arguments, again)
		}
	}
	s.open(g)
	for range 2 {
		if final := s.final(*e.ExecutionID); final.Status != "ok" || !final.OK || string(final.Result) != "42" ||
			final.Stdout != "begun\n" || final.ExecutionCount == nil {
			t.Errorf("the final answer is %+v", final)
		}
	}
	s.works("the end")
	if last := s.call("get_execution", map[string]any{}); !strings.Contains(last.text(), "alive") {
		t.Errorf("the last execution is %s", last.text())
	}
}

// What was displayed so far is part of an answer that says that the code runs: the newest pictures of it, and all that is text,
// whatever the directory for temporary files is called.
func TestClocks_DisplaysSoFar(t *testing.T) {
	t.Parallel()
	tmp := filepath.Join(t.TempDir(), "x[y]")
	if err := os.Mkdir(tmp, 0o700); err != nil {
		t.Fatal(err)
	}
	s := connect(t, options{env: []string{"TMPDIR=" + tmp}})
	s.succeed("import base64\nfrom IPython.display import display, clear_output\npng = base64.b64decode('" + pixel + "')\n" +
		"def show(n):\n    for _ in range(n): display({'image/png': png}, raw=True)")
	g := s.gated("handle.update('last')")
	prefix := "display('gone'); clear_output()\nhandle = display('first', display_id=True); show(6)\n" +
		"display({'application/pdf': b'%PDF'}, raw=True); handle.update('second')\n"
	id := s.sendCell(prefix + g.code)
	var running answer
	eventually(t, "the displays", func() bool {
		running = s.call("get_execution", map[string]any{})
		return strings.HasPrefix(running.text(), "begun\n") && strings.Contains(running.text(), "second")
	})
	for range 2 { // looking takes nothing away
		if found := s.lookAt(running); len(found.images) != 4 || strings.Contains(found.text, "gone") ||
			!strings.Contains(found.text, "second") || strings.Contains(found.text, "first") ||
			strings.Count(found.text, "<image/png, left out while the code runs>") != 2 ||
			!strings.Contains(found.text, "<application/pdf, left out while the code runs>") || !strings.Contains(found.text, "still runs") {
			t.Errorf("while it runs: %d images, %s", len(found.images), found.text)
		}
		running = s.call("get_execution", map[string]any{})
	}
	s.open(g)
	if found := s.lookAt(s.toolAnswer(id)); len(found.images) != 6 || !strings.Contains(found.text, "'last'") ||
		!strings.Contains(found.text, "<application/pdf, 4 bytes, in the file ") {
		t.Errorf("at the end: %d images, %s", len(found.images), found.text)
	}
	g = s.gated("")
	s.succeed("def slow():\n    display('in slow')\n    " + strings.ReplaceAll(g.code, "\n", "\n    "))
	id = s.sendCall("call_function", map[string]any{"name": "slow", "arguments": map[string]any{}})
	eventually(t, "the display of a function", func() bool {
		return strings.Contains(s.call("get_execution", map[string]any{}).text(), "in slow")
	})
	s.open(g)
	s.toolAnswer(id)
	g = s.gated("")
	id = s.detached("for i in range(30): display(i)\n" + g.code)
	eventually(t, "twenty of thirty displays", func() bool {
		e := decodeInto[struct {
			DisplayData []any `json:"display_data"`
			Truncated   struct{ Items bool }
		}](t, s.call("get_execution", map[string]any{"execution_id": id}).Structured)
		return len(e.DisplayData) == 20 && e.Truncated.Items
	})
	s.open(g)
}

// Displays in a loop do not wait for each to be written down, and what an answer shows meanwhile is at most little old.
func TestClocks_DisplaysInALoop(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	g := s.gated("")
	s.succeed("import base64, os, time\npng = base64.b64decode('" + pixel + "')")
	id := s.detached("h = display(0, display_id=True); p = display({'image/png': png}, raw=True, display_id=True)\n" +
		"for i in range(5000): h.update(i); display(i)\n" +
		fmt.Sprintf("while not os.path.exists(%q): p.update({'image/png': png}, raw=True); time.sleep(0.005)", g.gate))
	eventually(t, "the last number and the picture", func() bool {
		found := s.lookAt(s.call("get_execution", map[string]any{"execution_id": id}))
		return strings.Contains(found.text, "4999") && len(found.images) == 1
	})
	s.open(g)
}

// With wait_seconds 0 the answer comes at once, also for the first call of all, and the code runs.
func TestClocks_AtOnce(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	g := s.gated("'done'")
	id := s.detached(g.code)
	s.open(g)
	if e := s.final(id); string(e.Result) != `"done"` {
		t.Errorf("the final answer is %+v", e)
	}
}

// The default clock is configured; functions and dynamic tools follow it in their own shape, which finished answers keep.
func TestClocks_FunctionsAndTools(t *testing.T) {
	t.Parallel()
	s := connect(t, options{env: []string{"IPYTHON_MCP_REPLY_SECONDS=0.3"}})
	g := s.gated("")
	s.succeed("def slow(n: int):\n    print('called')\n    " + strings.ReplaceAll(g.code, "\n", "\n    ") + "\n    return n\n" +
		"def quick() -> int: return 1")
	s.call("register_tool", map[string]any{"name": "slow", "tool_name": "slow_tool"})
	finished := decodeInto[map[string]any](t, s.call("call_function", map[string]any{"name": "quick", "arguments": "{}"}).Structured)
	for _, field := range []string{"status", "execution_id", "elapsed_seconds"} {
		if _, is := finished[field]; is {
			t.Errorf("a finished answer has %s: %v", field, finished)
		}
	}
	type called struct {
		OK                   bool
		Name, Status, Stdout string
		ExecutionID          string `json:"execution_id"`
		Result               json.RawMessage
	}
	for tool, arguments := range map[string]any{
		"slow_tool":     map[string]any{"n": 7},
		"call_function": map[string]any{"name": "slow", "arguments": map[string]any{"n": 7}},
	} {
		_ = os.Remove(g.gate)
		running := decodeInto[called](t, s.call(tool, arguments).Structured)
		if running.OK || running.Status != "running" || running.ExecutionID == "" || running.Stdout != "called\nbegun\n" {
			t.Errorf("%s answers %+v", tool, running)
		}
		s.open(g)
		got := s.call("get_execution", map[string]any{"execution_id": running.ExecutionID, "wait_seconds": 20})
		if final := decodeInto[called](t, got.Structured); !final.OK || final.Status != "ok" || string(final.Result) != "7" ||
			final.ExecutionID != running.ExecutionID || final.Stdout != "called\nbegun\n" {
			t.Errorf("%s ends with %s", tool, got.Structured)
		}
	}
}

// The work clock interrupts, says after how long, and leaves the namespace as it is.
func TestClocks_Timeout(t *testing.T) {
	t.Parallel()
	s := connect(t, options{env: []string{"IPYTHON_MCP_EXECUTION_TIMEOUT_SECONDS=0.4"}})
	s.succeed("import time\nx = 5\ndef f():\n    time.sleep(600)")
	for seconds, e := range map[string]execution{
		"0.4 s": s.cell("time.sleep(600)"),
		"0.2 s": s.executionOf(s.sendTimed("execute", map[string]any{"code": "x = 6\nwhile True: pass"}, map[string]any{"timeout_seconds": 0.2})),
	} {
		if e.OK || e.Status != "interrupted" || e.Error == nil || e.Error.ErrorType != "KeyboardInterrupt" ||
			!strings.Contains(e.Error.Message, seconds) {
			t.Errorf("after %s: %+v, %v", seconds, e, e.Error)
		}
	}
	raw := s.call("call_function", map[string]any{"name": "f", "arguments": map[string]any{}})
	if got := decodeInto[map[string]any](t, raw.Structured); raw.IsError || got["status"] != "interrupted" ||
		!strings.Contains(fmt.Sprint(got["error"]), "0.4 s") {
		t.Errorf("call_function answers %s", raw.Structured)
	}
	s.equals("x", "6")
}

// Where it is known what keeps code from ending, the answer says so: an interrupt that does not take, a question to the user.
func TestClocks_SayWhatKeepsCode(t *testing.T) {
	t.Parallel()
	s := connectAsked(t, options{})
	gate := filepath.Join(t.TempDir(), "gate")
	stubborn := fmt.Sprintf("import os, time\nwhile not os.path.exists(%q):\n    try: time.sleep(0.01)\n    except KeyboardInterrupt: pass", gate)
	s.works("the start")
	raw := s.toolAnswer(s.sendTimed("execute", map[string]any{"code": stubborn}, map[string]any{"timeout_seconds": 0.1, "wait_seconds": 0.5}))
	e := decodeInto[execution](t, raw.Structured)
	if e.Status != "running" || !strings.Contains(e.Note, "0.1 s, its time limit") || !strings.Contains(raw.text(), e.Note) {
		t.Errorf("the answer is %s", raw.Structured)
	}
	touch(t, gate)
	if e := s.final(*e.ExecutionID); e.Status != "ok" || e.Note != "" {
		t.Errorf("at the end it is %+v", e)
	}
	id := s.detached("input('? ')")
	question := s.asked(1)
	raw = s.call("get_execution", map[string]any{})
	if note := decodeInto[execution](t, raw.Structured).Note; !strings.Contains(note, "waits for the user") || !strings.Contains(raw.text(), note) {
		t.Errorf("with a question it is %s", raw.Structured)
	}
	s.accepts(question, "x")
	if e := s.final(id); string(e.Result) != `"x"` || e.Note != "" {
		t.Errorf("at the end it is %+v", e)
	}
}

// A call whose turn does not come in time is withdrawn, says what runs, and never runs afterwards.
func TestClocks_Busy(t *testing.T) {
	t.Parallel()
	s := connect(t, options{env: []string{"IPYTHON_MCP_REPLY_SECONDS=0.2"}})
	s.succeed("x = 1\ndef f(): global x; x = 2")
	g := s.gated("x")
	id := s.detached(g.code)
	for tool, arguments := range map[string]map[string]any{
		"execute": {"code": "x = 3"}, "call_function": {"name": "f", "arguments": map[string]any{}}, "remove": {"names": []string{"x"}},
		"reset": {}, "list": {}, "search": {"query": "x"}, "inspect": {"name": "x"}, "reload": {"modules": []string{"json"}},
		"register_tool": {"name": "f"}, "unregister_tool": {"names": []string{"f"}},
	} {
		raw := s.call(tool, arguments)
		got := decodeInto[struct {
			Status string
			Error  struct {
				Code, Message string
				Retryable     bool
				After         float64 `json:"retry_after_seconds"`
			}
		}](t, raw.Structured)
		if !raw.IsError || got.Error.Code != "busy" || !got.Error.Retryable || got.Error.After <= 0 {
			t.Errorf("%s answers %s", tool, raw.Structured)
		}
		mentions(t, got.Error.Message, id, "get_execution", "interrupt")
		if has := tool == "execute" || tool == "call_function"; has && got.Status != "busy" {
			t.Errorf("%s has the status %q", tool, got.Status)
		}
	}
	s.open(g)
	if e := s.final(id); string(e.Result) != "1" {
		t.Errorf("x became %s", e.Result)
	}
	s.equals("x", "1")
}

// The same code sent again while it runs is not run twice; both calls get the answer.
func TestClocks_SameCodeJoins(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.succeed("ran = 0")
	g := s.gated("ran")
	g.code = "ran += 1\n" + g.code
	id := s.detached(g.code)
	second, third := s.sendWaiting(g.code, 20), s.sendWaiting(g.code, 0.1)
	if e := s.executionOf(third); e.Status != "running" || *e.ExecutionID != id {
		t.Errorf("the joined call with its own clock answers %+v", e)
	}
	s.open(g)
	if e := s.executionOf(second); !e.OK || *e.ExecutionID != id || string(e.Result) != "1" {
		t.Errorf("the joined call answers %+v", e)
	}
	if e := s.cell(g.code); string(e.Result) != "2" || *e.ExecutionID == id {
		t.Errorf("sent again after the end: %+v", e)
	}
}

// A cancelled joiner only withdraws; the last waiting call that is cancelled takes the code along.
func TestClocks_CancelledJoiners(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.works("the start")
	g := s.gated("'whole'")
	first := s.sendWaiting(g.code, 60)
	id := s.begun()
	second := s.sendWaiting(g.code, 60)
	s.promptly("ping", nil)
	s.cancel(first)
	s.promptly("ping", nil)
	s.open(g)
	if e := s.executionOf(second); string(e.Result) != `"whole"` || *e.ExecutionID != id {
		t.Errorf("the other call got %+v", e)
	}
	g = s.gated("")
	first = s.sendWaiting(g.code, 60)
	id = s.begun()
	second = s.sendWaiting(g.code, 60)
	s.promptly("ping", nil)
	s.cancel(second)
	s.cancel(first)
	if e := s.final(id); e.Status != "interrupted" || !strings.Contains(e.Error.Message, "client") {
		t.Errorf("the cancelled execution ended with %+v, %v", e, e.Error)
	}
	s.neverAnswered(first)
	s.neverAnswered(second)
}

// begun waits until the cell that runs has said that it has begun, and returns its execution id.
func (s *server) begun() (id string) {
	s.t.Helper()
	eventually(s.t, "the start of the cell", func() bool {
		e := decodeInto[execution](s.t, s.call("get_execution", map[string]any{}).Structured)
		if e.Status != "running" || e.Stdout != "begun\n" {
			return false
		}
		id = *e.ExecutionID
		return true
	})
	return id
}

// A call that was answered "running" is over: cancelling it late interrupts nothing.
func TestClocks_LateCancel(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.works("the start")
	g := s.gated("'whole'")
	request := s.sendWaiting(g.code, 0.1)
	id := *s.executionOf(request).ExecutionID
	s.cancel(request)
	s.promptly("ping", nil)
	s.open(g)
	if e := s.final(id); string(e.Result) != `"whole"` {
		t.Errorf("the execution ended with %+v, %v", e, e.Error)
	}
}

// Calls are cancelled around the moments of their end and of their reply clock: at most one answer each, code that nobody waits
// for any more ends, and the next calls are untouched.
func TestClocks_Races(t *testing.T) {
	t.Parallel()
	s := connect(t, options{binary: programFor(t, "race")})
	s.succeed("import time")
	for i := range 60 {
		id := s.sendWaiting(fmt.Sprintf("time.sleep(0.003)\n%d", i), 0.002)
		time.Sleep(time.Duration(i%10) * 500 * time.Microsecond) // where in the call the cancellation hits
		s.cancel(id)
		s.equals(fmt.Sprintf("'next %d'", i), fmt.Sprintf(`"next %d"`, i))
	}
}

// A client that goes takes code along that nobody waits for.
func TestClocks_DisconnectEndsDetachedCode(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.works("the start")
	s.detached("import time\ntime.sleep(600)")
	s.endsBy(s.closeInput)
}

// An unknown id has a code of its own; nothing has run yet, or that id never was.
func TestClocks_UnknownExecution(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	for _, tool := range []string{"get_execution", "interrupt"} {
		for _, arguments := range []map[string]any{{}, {"execution_id": "e77"}, {"execution_id": ""}} {
			raw := s.call(tool, arguments)
			got := decodeInto[struct {
				OK    bool
				Error failure
			}](t, raw.Structured)
			if raw.IsError || got.OK || got.Error.Code != "unknown_execution" {
				t.Errorf("%s %v: %s", tool, arguments, raw.Structured)
			}
		}
	}
}

// Progress tells of new output and of the time, at most four times a second, with growing values, and never after the answer.
func TestClocks_Progress(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.succeed("import time")
	id := s.send("tools/call", map[string]any{
		"name": "execute", "_meta": map[string]any{"progressToken": "p"},
		"arguments": map[string]any{"code": "for i in range(110):\n    print('line', i)\n    time.sleep(0.01)"},
	})
	s.toolAnswer(id)
	heard := s.notified()
	s.promptly("ping", nil)
	if late := len(s.notified()) - len(heard); late != 0 {
		t.Errorf("%d notifications came after the answer", late)
	}
	last := 0.0
	for _, n := range heard {
		p := decodeInto[struct {
			ProgressToken string
			Progress      float64
			Message       string
		}](t, n.Params)
		if n.Method != "notifications/progress" || p.ProgressToken != "p" || p.Progress < last+0.24 || !strings.Contains(p.Message, "line") {
			t.Errorf("after %v came %s %s", last, n.Method, n.Params)
		}
		last = p.Progress
	}
	if len(heard) < 2 {
		t.Errorf("%d notifications in more than a second", len(heard))
	}
}
