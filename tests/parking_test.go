package tests

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
)

// asks is the _meta of a client without handshake that can put forms to its user.
var asks = withCapabilities(map[string]any{"elicitation": map[string]any{}})

func withCapabilities(capabilities map[string]any) map[string]any {
	meta := maps.Clone(modernMeta)
	meta["io.modelcontextprotocol/clientCapabilities"] = capabilities
	return meta
}

// parkedCall is a call of revision 2026-07-28, which is sent again with what its code asks for.
type parkedCall struct {
	s         *server
	tool      string
	arguments map[string]any
}

func (s *server) modernCell(code string) parkedCall {
	return parkedCall{s, "execute", map[string]any{"code": code}}
}

// params are those of the call, with more members.
func (c parkedCall) params(more map[string]any) map[string]any {
	params := map[string]any{"name": c.tool, "arguments": c.arguments, "_meta": asks}
	maps.Copy(params, more)
	return params
}

func (c parkedCall) send() string { return c.s.send("tools/call", c.params(nil)) }

// retry sends the call again with these responses.
func (c parkedCall) retry(state string, responses any) string {
	return c.s.send("tools/call", c.params(map[string]any{"requestState": state, "inputResponses": responses}))
}

// inputRequired is what a call is answered with whose code asks.
type inputRequired struct {
	ResultType    string
	RequestState  string
	InputRequests map[string]struct {
		Method string
		Params struct {
			Message         string
			RequestedSchema json.RawMessage
		}
	}
	Structured json.RawMessage `json:"structuredContent"`
}

// question waits for the answer to a request, which must be a question.
func (c parkedCall) question(id string) inputRequired {
	c.s.t.Helper()
	r := c.s.awaitResponse(id)
	q := decodeInto[inputRequired](c.s.t, r.Result)
	if r.Error != nil || q.ResultType != "input_required" || q.RequestState == "" || len(q.InputRequests) != 1 ||
		q.InputRequests["input"].Method != "elicitation/create" || q.Structured != nil {
		c.s.t.Fatalf("the call was answered with %s, %+v", r.Result, r.Error)
	}
	return q
}

func (q inputRequired) message() string { return q.InputRequests["input"].Params.Message }

// accepting are the responses of a user who says something.
func accepting(value any) map[string]any {
	return responding(map[string]any{"action": "accept", "content": map[string]any{"value": value}})
}

func responding(result any) map[string]any { return map[string]any{"input": result} }

// accept answers the question and returns the id of the retry.
func (c parkedCall) accept(q inputRequired, value any) string {
	return c.retry(q.RequestState, accepting(value))
}

// refused checks that a request was answered with an error of the protocol that says so.
func (s *server) refused(id, says string) {
	s.t.Helper()
	if r := s.awaitResponse(id); r.Error == nil || r.Error.Code != codeInvalidParams || !strings.Contains(r.Error.Message, says) {
		s.t.Errorf("%s, %+v: the error does not say %q", r.Result, r.Error, says)
	}
}

// A cell that asks twice reads like a session at a terminal, and runs once; the secret stays out of everything.
func TestParking_Transcript(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	c := s.modernCell("import getpass\nrounds = globals().get('rounds', 0) + 1\nprint('Hello')\nname = input('Name: ')\n" +
		"word = getpass.getpass()\nprint('Bye', name)\nlen(word), rounds")
	q := c.question(c.send())
	const schema = `{"properties":{"value":{"title":"Name:","type":"string"}},"required":["value"],"type":"object"}`
	if got := q.InputRequests["input"].Params; q.message() != "Name:" || string(got.RequestedSchema) != schema {
		t.Errorf("the user reads %q, %s", q.message(), got.RequestedSchema)
	}
	s.promptly("server/discover", map[string]any{"_meta": asks})
	s.promptly("tools/list", map[string]any{"_meta": asks})
	secret := c.question(c.accept(q, "Zoë"))
	if !strings.HasPrefix(secret.message(), "Password:\n") || !strings.Contains(secret.message(), "not hidden") {
		t.Errorf("the user reads %q", secret.message())
	}
	if secret.RequestState == q.RequestState {
		t.Error("both questions have one state")
	}
	e := s.executionOf(c.accept(secret, "hunter2"))
	if string(e.Result) != "[7,1]" || e.Stdout != "Hello\nName: \nPassword: \nBye Zoë\n" || e.Status != "ok" {
		t.Errorf("the result is %s, stdout %q, error %v", e.Result, e.Stdout, e.Error)
	}
	s.closeInput()
	log := s.stderrAtEnd()
	if strings.Contains(log, "hunter2") || strings.Contains(log, "Zoë") || strings.Contains(log, "Name") {
		t.Errorf("the log has the conversation: %s", log)
	}
	if strings.Count(log, "outcome=input_required") != 2 {
		t.Errorf("the log does not tell of two questions: %s", log)
	}
}

func TestParking_Answers(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	c := s.modernCell("try:\n    said = input('? ')\nexcept EOFError as error:\n    said = f'EOFError: {error}'\nsaid")
	const formless = "EOFError: input() got no answer: what the client says does not have the form of the protocol"
	for _, test := range []struct{ name, response, want string }{
		{"accepted", `{"action":"accept","content":{"value":"yes"}}`, "yes"},
		{"accepted empty", `{"action":"accept","content":{}}`, ""},
		{"lone surrogates", `{"action":"accept","content":{"value":"\ud83d and \udcaf"}}`, `\ud83d and \udcaf`},
		{"a megabyte", `{"action":"accept","content":{"value":"` + strings.Repeat("m", 1<<20) + `"}}`, strings.Repeat("m", 8191) + "…"},
		{"declined", `{"action":"decline"}`, "EOFError: input() was declined by the user"},
		{"cancelled", `{"action":"cancel"}`, "EOFError: input() was cancelled by the user"},
		{"a wrong type", `{"action":"accept","content":{"value":["yes"]}}`, "EOFError: input() got no answer: what the client says is no text"},
		{"an unknown action", `{"action":"maybe"}`, formless},
		{"no object", `5`, formless},
		{"null", `null`, formless},
	} {
		q := c.question(c.send())
		e := s.executionOf(c.retry(q.RequestState, responding(json.RawMessage(test.response))))
		if got := decodeInto[string](t, e.Result); got != test.want {
			t.Errorf("%s: the code got %.200q, %v", test.name, got, e.Error)
		}
	}
}

// A retry without the answer is asked again; what is there beside the answer is ignored.
func TestParking_AsksAgain(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	c := s.modernCell("input('? ')")
	q := c.question(c.send())
	for _, responses := range []any{nil, map[string]any{}, map[string]any{"other": map[string]any{"action": "accept"}}} {
		again := c.question(c.retry(q.RequestState, responses))
		if again.message() != "?" {
			t.Errorf("the user reads %q", again.message())
		}
		q = again
	}
	responses := accepting("at last")
	responses["other"] = 5
	if e := s.executionOf(c.retry(q.RequestState, responses)); string(e.Result) != `"at last"` {
		t.Errorf("the result is %s, %v", e.Result, e.Error)
	}
}

// Functions, dynamic tools and modules ask as cells do.
func TestParking_OtherTools(t *testing.T) {
	t.Parallel()
	s := start(t, options{library: map[string]string{"asking.py": "name = input('number 0') + input('number 1')"}})
	s.initialize(newestLegacy)
	s.succeed("def add(rounds: int = 2): return sum(int(input(f'number {i}')) for i in range(rounds))")
	s.register("add")
	for tool, arguments := range map[string]map[string]any{
		"call_function": {"name": "add", "arguments": map[string]any{"rounds": 2}},
		"add":           {"rounds": 2},
		"reload":        {"modules": []string{"asking"}},
	} {
		c := parkedCall{s, tool, arguments}
		id := c.send()
		for i := range 2 {
			q := c.question(id)
			if q.message() != fmt.Sprintf("number %d", i) {
				t.Errorf("%s: the user reads %q", tool, q.message())
			}
			if text := s.call("get_execution", map[string]any{}).text(); !strings.Contains(text, "its code waits for the user to answer a question") {
				t.Errorf("of the parked %s, get_execution says %s", tool, text)
			}
			id = c.accept(q, "21")
		}
		if got := s.toolAnswer(id); tool != "reload" && decodeInto[toolOutcome](t, got.Structured).String() != "42" {
			t.Errorf("%s gave %s", tool, got.Structured)
		}
	}
	s.equals("asking.name", `"2121"`)
}

// The retry is answered like any call: early where the code takes longer than it waits.
func TestParking_RetryIsAnsweredEarly(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	g := s.gated("name")
	c := parkedCall{s, "execute", map[string]any{"code": "name = input('? ')\n" + g.code, "wait_seconds": 2}}
	q := c.question(c.send())
	e := s.executionOf(c.accept(q, "Ada"))
	if e.Status != "running" || !strings.HasSuffix(e.Stdout, "begun\n") {
		t.Fatalf("the retry is answered with %+v", e)
	}
	s.open(g)
	if e = s.final(*e.ExecutionID); string(e.Result) != `"Ada"` {
		t.Errorf("the execution ends with %s, %v", e.Result, e.Error)
	}
}

// A question of code whose call has been answered goes out with the next get_execution, and with one only.
func TestParking_AfterRunning(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	running := parkedCall{s, "execute", map[string]any{"code": "input('one ') + input('two ')", "wait_seconds": 0}}
	id := *s.executionOf(running.send()).ExecutionID
	s.waitsForUser(id)
	look := parkedCall{s, "get_execution", map[string]any{"execution_id": id, "wait_seconds": 20}}
	q := look.question(look.send())
	s.waitsForUser(id)
	if e := s.executionOf(parkedCall{s, "get_execution", map[string]any{}}.send()); e.Status != "running" || e.Note == "" {
		t.Errorf("while the user is asked, get_execution says %+v", e)
	}
	q = look.question(look.accept(q, "a"))
	if q.message() != "two" {
		t.Errorf("the user reads %q", q.message())
	}
	e := s.executionOf(look.accept(q, "b"))
	if string(e.Result) != `"ab"` || e.Status != "ok" || *e.ExecutionID != id {
		t.Errorf("the execution ends with %+v, %v", e, e.Error)
	}
}

// waitsForUser waits until get_execution says that the code waits for its user.
func (s *server) waitsForUser(id string) {
	s.t.Helper()
	eventually(s.t, "a question of "+id, func() bool {
		e := decodeInto[execution](s.t, s.call("get_execution", map[string]any{"execution_id": id}).Structured)
		return e.Status == "running" && e.Note == "its code waits for the user to answer a question"
	})
}

// hasPrinted waits until the code that runs has printed something.
func (s *server) hasPrinted(text string) {
	s.t.Helper()
	eventually(s.t, text, func() bool {
		return strings.Contains(decodeInto[execution](s.t, s.call("get_execution", map[string]any{}).Structured).Stdout, text)
	})
}

// What is not the retry of an open question runs nothing, and leaves the question open.
func TestParking_WrongRetries(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	ran := filepath.Join(t.TempDir(), "ran")
	c := s.modernCell(fmt.Sprintf("open(%q, 'a').write('x')\ninput('? ')", ran))
	other := s.modernCell("1")
	function := parkedCall{s, "call_function", map[string]any{"name": "print", "arguments": map[string]any{}}}
	q := c.question(c.send())
	state := q.RequestState
	forged := []byte(state)
	forged[len(forged)-1] ^= 1
	with := func(more map[string]any) string { return s.send("tools/call", c.params(more)) }
	for _, test := range []struct{ id, refusal string }{
		{c.retry("e1", accepting("wrong")), "names no open question"},
		{c.retry("", accepting("wrong")), "names no open question"},
		{c.retry(string(forged), accepting("wrong")), "names no open question"},
		{other.retry("unknown", nil), "names no open question"},
		{other.retry(state, accepting("wrong")), "a call of another tool or with other arguments"},
		{function.retry(state, accepting("wrong")), "a call of another tool or with other arguments"},
		{with(map[string]any{"inputResponses": accepting("wrong")}), "without the requestState"},
		{with(map[string]any{"requestState": 5, "inputResponses": accepting("wrong")}), "do not have the form of the protocol"},
		{c.retry(state, []any{accepting("wrong")}), "do not have the form of the protocol"},
		{with(map[string]any{"requestState": state, "arguments": map[string]any{}}), "missing argument"},
	} {
		s.refused(test.id, test.refusal)
	}
	if e := s.executionOf(c.accept(q, "right")); string(e.Result) != `"right"` {
		t.Errorf("the result is %s, %v", e.Result, e.Error)
	}
	s.refused(c.accept(q, "again"), "names no open question")
	if written, err := os.ReadFile(ran); string(written) != "x" {
		t.Errorf("the code ran %d times, %v", len(written), err)
	}
}

// The members of a retry mean nothing in the revisions with a handshake.
func TestParking_OnlyWithoutHandshake(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	id := s.send("tools/call", map[string]any{
		"name": "execute", "arguments": map[string]any{"code": "6 * 7"}, "requestState": "x", "inputResponses": accepting("y"),
	})
	if e := s.executionOf(id); string(e.Result) != "42" {
		t.Errorf("the call gives %+v, %v", e, e.Error)
	}
}

// Calls queue behind parked code as behind any other; the same call joins it.
func TestParking_Queue(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	c := s.modernCell("rounds = globals().get('rounds', 0) + 1\ninput('? ')")
	q := c.question(c.send())
	waiting := s.sendCell("'in turn'")
	refused := decodeInto[execution](t, s.toolAnswer(s.sendWaiting("rounds = 100", 0.2)).Structured)
	if refused.Status != "busy" || !strings.Contains(refused.Error.Message, "its code waits for the user to answer a question") {
		t.Errorf("a call behind parked code is answered with %+v, %v", refused, refused.Error)
	}
	joined := c.send()
	s.promptly("tools/list", map[string]any{"_meta": asks})
	retry := c.accept(q, "now")
	for _, id := range []string{retry, joined} {
		if e := s.executionOf(id); string(e.Result) != `"now"` {
			t.Errorf("%s ends with %+v, %v", id, e, e.Error)
		}
	}
	if e := s.executionOf(waiting); string(e.Result) != `"in turn"` {
		t.Errorf("the next call gives %+v, %v", e, e.Error)
	}
	s.equals("rounds", "1")
}

// A call that the client has cancelled takes no question along; another one that waits for the same code does.
func TestParking_CancelledCall(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	g := s.gated("input('? ')")
	c := s.modernCell(g.code)
	first := c.send()
	s.hasPrinted("begun")
	meta := maps.Clone(asks)
	meta["progressToken"] = "joined"
	joined := s.send("tools/call", c.params(map[string]any{"_meta": meta}))
	if !s.holdsWithin(patience, func() bool {
		return slices.ContainsFunc(s.requests, func(n notification) bool { return strings.Contains(string(n.Params), "begun") })
	}) {
		t.Fatal("the second call does not wait for the code of the first")
	}
	s.cancel(first)
	s.promptly("tools/list", map[string]any{"_meta": asks})
	s.open(g)
	if e := s.executionOf(c.accept(c.question(joined), "here")); string(e.Result) != `"here"` {
		t.Errorf("the result is %s, %v", e.Result, e.Error)
	}
	s.neverAnswered(first)
}

// Parked code ends like any other: by interrupt, by its time limit, and with the call that resumes it.
func TestParking_Ends(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	s.initialize(newestLegacy)
	c := s.modernCell("import time\ninput('? ')\nprint('awake', flush=True)\ntime.sleep(600)")
	q := c.question(c.send())
	if got := s.interrupt("e1"); !got.Interrupted || got.Status != "interrupted" {
		t.Errorf("interrupt answers %+v", got)
	}
	s.refused(c.accept(q, "late"), "names no open question")

	limited := parkedCall{s, "execute", map[string]any{"code": "input('quick! ')", "timeout_seconds": 5}}
	q = limited.question(limited.send())
	if e := s.final("e2"); e.Status != "interrupted" || !strings.Contains(e.Error.Message, "timeout_seconds") {
		t.Errorf("the time limit ends it with %+v, %v", e, e.Error)
	}
	s.refused(limited.accept(q, "late"), "names no open question")

	q = c.question(c.send())
	retry := c.accept(q, "go")
	s.hasPrinted("awake")
	s.cancel(retry)
	if e := s.final("e3"); e.Status != "interrupted" || !strings.Contains(e.Error.Message, "cancelled by the client") {
		t.Errorf("the cancellation ends it with %+v, %v", e, e.Error)
	}
	s.neverAnswered(retry)
	s.works("all of them")
}

// A client that does not come back, or that nobody can ask any more, costs the code its answer, and nobody the session.
func TestParking_Limit(t *testing.T) {
	t.Parallel()
	s := start(t, options{env: []string{"IPYTHON_MCP_ANSWER_SECONDS=0.5"}})
	s.initialize(newestLegacy)
	const code = "try: input('? ')\nexcept EOFError as error: said = str(error)\nsaid"
	c := s.modernCell(code)
	q := c.question(c.send())
	s.equals("said", `"input() got no answer: the client did not call again within 0.5 s"`)
	s.refused(c.accept(q, "late"), "given up")

	running := parkedCall{s, "execute", map[string]any{"code": code, "wait_seconds": 0}}
	id := *s.executionOf(running.send()).ExecutionID
	if e := s.final(id); !strings.Contains(string(e.Result), "within 0.5 s no get_execution of a client that can ask came") {
		t.Errorf("the code got %s, %v", e.Result, e.Error)
	}
}

// A client that goes while code is parked leaves no server behind.
func TestParking_Disconnected(t *testing.T) {
	t.Parallel()
	for name, arguments := range map[string]map[string]any{
		"asked":         {"code": "input('? ')"},
		"not yet asked": {"code": "input('? ')", "wait_seconds": 0},
		"again":         {"code": "while True:\n    try: input('? ')\n    except EOFError: pass"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, options{})
			c := parkedCall{s, "execute", arguments}
			s.awaitResponse(c.send())
			s.waitsForUser("e1")
			s.endsBy(s.closeInput)
		})
	}
}

// Only what the request itself says counts: the handshake does not, and neither does another call.
func TestParking_Capabilities(t *testing.T) {
	t.Parallel()
	s := connectAsked(t, options{})
	const refused = "input() cannot ask: the client offers no elicitation for this call"
	for capabilities, can := range map[string]bool{
		`{}`: false, `{"elicitation":{}}`: true, `{"elicitation":{"form":{}}}`: true, `{"elicitation":{"url":{}}}`: false,
		`{"elicitation":{"form":{},"url":{}}}`: true, `{"sampling":{}}`: false,
	} {
		meta := withCapabilities(decodeInto[map[string]any](t, json.RawMessage(capabilities)))
		c := parkedCall{s, "execute", map[string]any{"code": "input('? ')"}}
		id := s.send("tools/call", c.params(map[string]any{"_meta": meta}))
		if !can {
			if e := s.executionOf(id); e.OK || !strings.HasPrefix(e.Error.Message, refused) {
				t.Errorf("%s: %+v, %v", capabilities, e, e.Error)
			}
			continue
		}
		if e := s.executionOf(c.accept(c.question(id), "yes")); string(e.Result) != `"yes"` {
			t.Errorf("%s: %+v, %v", capabilities, e, e.Error)
		}
	}
	// A get_execution that cannot take the question along leaves it where it is.
	running := parkedCall{s, "execute", map[string]any{"code": "input('? ')", "wait_seconds": 0}}
	id := *s.executionOf(running.send()).ExecutionID
	s.waitsForUser(id)
	cannot := s.send("tools/call", map[string]any{"name": "get_execution", "arguments": map[string]any{}, "_meta": modernMeta})
	if e := s.executionOf(cannot); e.Status != "running" {
		t.Errorf("get_execution says %+v", e)
	}
	look := parkedCall{s, "get_execution", map[string]any{"wait_seconds": 20}}
	if e := s.executionOf(look.accept(look.question(look.send()), "there")); string(e.Result) != `"there"` {
		t.Errorf("the execution ends with %+v, %v", e, e.Error)
	}
	if n := len(s.notified()); n > 0 {
		t.Errorf("the server sent %d messages by itself", n)
	}
}

// Moments around the retry, under the race detector: the code gets the answer or the interruption, each request at most one answer, and
// the next cell is untouched.
func TestParking_Races(t *testing.T) {
	t.Parallel()
	s := start(t, options{binary: programFor(t, "race")})
	s.initialize(newestLegacy)
	for i := range 60 {
		c := s.modernCell(fmt.Sprintf("input('%d')", i))
		q := c.question(c.send())
		switch i % 3 {
		case 0:
			s.cancel(c.accept(q, "cancelled"))
		case 1:
			s.sendCall("interrupt", map[string]any{})
			time.Sleep(time.Duration(i%7) * 200 * time.Microsecond) // where the answer meets the interrupt
			c.accept(q, strings.Repeat("x", 1+i*5000))
		case 2:
			ids := []string{c.accept(q, "one"), c.accept(q, "two")}
			first, second := s.awaitResponse(ids[0]), s.awaitResponse(ids[1])
			if (first.Error == nil) == (second.Error == nil) {
				t.Errorf("round %d: two retries got %+v and %+v", i, first, second)
			}
		}
		if got := s.value(fmt.Sprint(i)); got != fmt.Sprint(i) {
			t.Fatalf("round %d: %s", i, got)
		}
	}
}

// mcp-go's client takes the question to its handler and calls again by itself.
func TestParking_RealClient(t *testing.T) {
	t.Parallel()
	c, said := mcpClient(t, client.WithElicitationHandler(answerer{mcp.ElicitationResponseActionAccept}))
	if said.ProtocolVersion != newest {
		t.Fatalf("the client speaks %s", said.ProtocolVersion)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	result, err := c.CallTool(ctx, mcp.CallToolRequest{Params: mcp.CallToolParams{
		Name: "execute", Arguments: map[string]any{"code": "rounds = globals().get('rounds', 0) + 1\n[input('Name? '), input('Age? '), rounds]"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	structured, is := result.StructuredContent.(map[string]any)
	if got := fmt.Sprint(structured["result"]); !is || got != "[I read: Name? I read: Age? 1]" {
		t.Errorf("the answer is %+v", result.StructuredContent)
	}
}
