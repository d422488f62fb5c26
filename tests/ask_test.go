package tests

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
)

// connectAsked starts a server whose client can put forms to its user.
func connectAsked(t *testing.T, o options) *server {
	t.Helper()
	s := start(t, o)
	params := initializeParams("2025-06-18")
	params["capabilities"] = map[string]any{"elicitation": map[string]any{}}
	s.shakeHands(params)
	return s
}

// asked waits for the n-th question, counted from 1, and returns it.
func (s *server) asked(n int) notification {
	s.t.Helper()
	var questions []notification
	if !s.holdsWithin(patience, func() bool {
		questions = slices.DeleteFunc(slices.Clone(s.requests), func(r notification) bool { return r.ID == nil })
		return len(questions) >= n
	}) {
		s.t.Fatalf("there are %d questions and not %d", len(questions), n)
	}
	if q := questions[n-1]; q.Method != "elicitation/create" || q.ID[0] != '"' {
		s.t.Fatalf("the server asks for %s with the id %s", q.Method, q.ID)
	}
	return questions[n-1]
}

// message is what the user reads.
func (n notification) message(t *testing.T) string {
	t.Helper()
	return decodeInto[struct{ Message string }](t, n.Params).Message
}

func (s *server) replies(n notification, member string) {
	s.t.Helper()
	s.sendLine(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, n.ID, member))
}

func (s *server) accepts(n notification, value string) {
	s.t.Helper()
	encoded, err := json.Marshal(value)
	if err != nil {
		s.t.Fatal(err)
	}
	s.replies(n, `"result":{"action":"accept","content":{"value":`+string(encoded)+`}}`)
}

// cancelsQuestion waits until the server has cancelled a question.
func (s *server) cancelsQuestion(n notification) {
	s.t.Helper()
	if !s.holdsWithin(patience, func() bool {
		return slices.ContainsFunc(s.requests, func(r notification) bool {
			return r.Method == "notifications/cancelled" && strings.Contains(string(r.Params), `"requestId":`+string(n.ID))
		})
	}) {
		s.t.Fatalf("the question %s was not cancelled", n.ID)
	}
}

// What is printed before a question, the question and the answer read like a session at a terminal; a secret stays out of it.
func TestAsk_Transcript(t *testing.T) {
	t.Parallel()
	s := connectAsked(t, options{})
	id := s.sendCell("import getpass\nprint('Hello')\nname = input('Name: ')\nword = getpass.getpass()\nprint('Bye', name)\nlen(word)")
	question := s.asked(1)
	if text := question.message(t); text != "Name:" {
		t.Errorf("the user reads %q", text)
	}
	s.promptly("ping", nil)
	s.promptly("tools/list", map[string]any{})
	s.accepts(question, "Zoë")
	question = s.asked(2)
	if text := question.message(t); !strings.HasPrefix(text, "Password:\n") || !strings.Contains(text, "not hidden") {
		t.Errorf("the user reads %q", text)
	}
	s.accepts(question, "hunter2")
	e := s.executionOf(id)
	if string(e.Result) != "7" || e.Stdout != "Hello\nName: \nPassword: \nBye Zoë\n" {
		t.Errorf("the result is %s, stdout %q, error %v", e.Result, e.Stdout, e.Error)
	}
	s.closeInput()
	if log := s.stderrAtEnd(); strings.Contains(log, "hunter2") || strings.Contains(log, "Zoë") || strings.Contains(log, "Name") {
		t.Errorf("the log has the conversation: %s", log)
	}
}

// The line that was begun before a question without words is what the user reads: so asks click.
func TestAsk_PromptPrintedBefore(t *testing.T) {
	t.Parallel()
	s := connectAsked(t, options{})
	id := s.sendCell("print('Table 1')\nprint('Delete it? [y/N]:', end='')\ninput(' ')")
	question := s.asked(1)
	if text := question.message(t); text != "Delete it? [y/N]:" {
		t.Errorf("the user reads %q", text)
	}
	s.accepts(question, "y")
	if e := s.executionOf(id); string(e.Result) != `"y"` {
		t.Errorf("the result is %s, %v", e.Result, e.Error)
	}
}

func TestAsk_Answers(t *testing.T) {
	t.Parallel()
	s := connectAsked(t, options{})
	asked := 0
	for _, test := range []struct{ name, says, want string }{
		{"accepted", `"result":{"action":"accept","content":{"value":"yes"}}`, "yes"},
		{"accepted empty", `"result":{"action":"accept","content":{}}`, ""},
		{"lone surrogates", `"result":{"action":"accept","content":{"value":"\ud83d and \udcaf"}}`, `\ud83d and \udcaf`},
		{"a character outside the BMP", `"result":{"action":"accept","content":{"value":"\ud83d\ude00"}}`, "😀"},
		{"a megabyte", `"result":{"action":"accept","content":{"value":"` + strings.Repeat("m", 1<<20) + `"}}`, strings.Repeat("m", 1<<20)},
		{"declined", `"result":{"action":"decline"}`, "EOFError: input() was declined by the user"},
		{"cancelled", `"result":{"action":"cancel"}`, "EOFError: input() was cancelled by the user"},
		{"an error", `"error":{"code":-32603,"message":"broken"}`, "EOFError: input() got no answer: the client reports the error -32603: broken"},
		{"a wrong type", `"result":{"action":"accept","content":{"value":["yes"]}}`, "EOFError: input() got no answer: what the client says is no text"},
	} {
		asked++
		id := s.sendCell("try:\n    said = input('? ')\nexcept EOFError as error:\n    said = f'EOFError: {error}'\nimport hashlib\n" +
			fmt.Sprintf("said == %s", pythonText(test.want)))
		s.replies(s.asked(asked), test.says)
		if e := s.executionOf(id); string(e.Result) != "true" {
			t.Errorf("%s: the code got %s", test.name, s.value("said[:200]"))
		}
	}
}

// pythonText is a Python literal, whose backslashes are characters.
func pythonText(text string) string { return "r'''" + text + "'''" }

// Functions and dynamic tools ask as cells do, also several times in a row.
func TestAsk_FunctionsAndTools(t *testing.T) {
	t.Parallel()
	s := connectAsked(t, options{})
	s.succeed("def add(rounds: int = 2): return sum(int(input(f'number {i}')) for i in range(rounds))")
	s.register("add")
	asked := 0
	for tool, arguments := range map[string]map[string]any{
		"call_function": {"name": "add", "arguments": map[string]any{"rounds": 2}},
		"add":           {"rounds": 2},
	} {
		id := s.sendCall(tool, arguments)
		for i := range 2 {
			asked++
			question := s.asked(asked)
			if text := question.message(t); text != fmt.Sprintf("number %d", i) {
				t.Errorf("%s: the user reads %q", tool, text)
			}
			s.accepts(question, "21")
		}
		if got := decodeInto[toolOutcome](t, s.toolAnswer(id).Structured); got.String() != "42" {
			t.Errorf("%s gave %s", tool, got)
		}
	}
}

// Code that is cancelled while its question is open takes the question along; a late answer goes nowhere.
func TestAsk_Cancelled(t *testing.T) {
	t.Parallel()
	for _, code := range []string{
		"input('? ')",
		"import getpass\ngetpass.getpass()",
		"async def ask(): return input('? ')\nawait ask()",
		"import asyncio\nasync def ask(): return input('? ')\nasyncio.run(ask())",
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			s := connectAsked(t, options{})
			id := s.sendCell(code)
			question := s.asked(1)
			started := time.Now()
			s.cancel(id)
			s.cancelsQuestion(question)
			s.accepts(question, "too late")
			s.works("a late answer")
			if took := time.Since(started); took > 5*time.Second {
				t.Errorf("the next cell waited %v", took)
			}
			s.neverAnswered(id)
			id = s.sendCell("input('again')")
			s.accepts(question, "far too late")
			s.accepts(s.asked(2), "in time")
			if e := s.executionOf(id); string(e.Result) != `"in time"` {
				t.Errorf("the next question got %s, %v", e.Result, e.Error)
			}
		})
	}
}

// A time limit of the user's own ends a question while the cell goes on.
func TestAsk_GivenUp(t *testing.T) {
	t.Parallel()
	s := connectAsked(t, options{})
	id := s.sendCell(`import signal
def ring(*_): raise TimeoutError
signal.signal(signal.SIGALRM, ring)
signal.setitimer(signal.ITIMER_REAL, 0.1)
try:
    said = input('quick!')
except TimeoutError:
    said = input('take your time')
said`)
	s.cancelsQuestion(s.asked(1))
	s.accepts(s.asked(2), "thanks")
	s.accepts(s.asked(1), "late")
	if e := s.executionOf(id); string(e.Result) != `"thanks"` {
		t.Errorf("the result is %s, %v", e.Result, e.Error)
	}
}

// An answer that comes early leaves the question open; get_execution has what became of it.
func TestAsk_AnsweredEarly(t *testing.T) {
	t.Parallel()
	s := connectAsked(t, options{})
	id := s.detached("input('? ')")
	question := s.asked(1)
	s.accepts(question, "slowly")
	if e := s.final(id); string(e.Result) != `"slowly"` {
		t.Errorf("the execution ends with %s, %v", e.Result, e.Error)
	}
}

// An interrupt and a time limit take an open question along.
func TestAsk_Interrupted(t *testing.T) {
	t.Parallel()
	s := connectAsked(t, options{})
	id := s.detached("input('? ')")
	question := s.asked(1)
	if got := s.interrupt(id); !got.Interrupted {
		t.Errorf("interrupt answers %+v", got)
	}
	s.cancelsQuestion(question)
	limited := s.sendTimed("execute", map[string]any{"code": "input('quick! ')"}, map[string]any{"timeout_seconds": 0.2})
	s.cancelsQuestion(s.asked(2))
	for _, e := range []execution{s.final(id), s.executionOf(limited)} {
		if e.Status != "interrupted" || e.Error.ErrorType != "KeyboardInterrupt" {
			t.Errorf("the execution ends with %+v, %v", e, e.Error)
		}
	}
	s.accepts(question, "late")
	s.works("late answers")
}

// Moments around the answer, under the race detector: the code gets the answer or the interruption, and the next cell is untouched.
func TestAsk_Races(t *testing.T) {
	t.Parallel()
	s := connectAsked(t, options{binary: programFor(t, "race")})
	for i := range 60 {
		id := s.sendCell("input('?')")
		question := s.asked(i + 1)
		if i%2 == 0 {
			s.cancel(id)
		}
		time.Sleep(time.Duration(i%7) * 200 * time.Microsecond) // where the answer meets the cancellation
		s.accepts(question, strings.Repeat("x", 1+i*5000))
		if i%2 == 1 {
			s.cancel(id)
		}
		if got := s.value(fmt.Sprint(i)); got != fmt.Sprint(i) {
			t.Fatalf("round %d: %s", i, got)
		}
	}
}

// A client that goes while it is asked leaves no server behind, whatever the code makes of it.
func TestAsk_Disconnected(t *testing.T) {
	t.Parallel()
	for _, code := range []string{
		"input('? ')",
		"try:\n    input('? ')\nexcept EOFError as error:\n    open('told', 'w').write(str(error))\nimport os; os.remove('told')",
		"while True:\n    try: input('? ')\n    except EOFError: pass",
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			s := connectAsked(t, options{})
			s.sendCell(code)
			s.asked(1)
			s.endsBy(s.closeInput)
		})
	}
}

// Nobody but the main thread of the server can ask, and nobody between calls: they hear so at once.
func TestAsk_WhoCannot(t *testing.T) {
	t.Parallel()
	s := connectAsked(t, options{})
	s.succeed("import asyncio, os, threading\nsaid = []\ndef ask():\n    try: input('?')\n    except EOFError as error: said.append(str(error))")
	s.equals("t = threading.Thread(target=ask); t.start(); t.join()\nsaid.pop()[:32]", `"input() cannot ask from a thread"`)
	s.equals("r, w = os.pipe()\nif os.fork() == 0:\n    ask()\n    os.write(w, said[0].encode())\n    os._exit(0)\nos.wait()\nos.read(r, 31).decode()",
		`"input() cannot ask from a child"`)
	s.succeed("async def later():\n    await asyncio.sleep(0)\n    ask()\ntask = asyncio.create_task(later())")
	eventually(t, "the task's end", func() bool { return s.value("len(said)") == "1" })
	s.equals("said[0][:25]", `"input() cannot ask betwee"`)
	if asked := slices.ContainsFunc(s.notified(), func(n notification) bool { return n.ID != nil }); asked {
		t.Error("somebody was asked")
	}
}

// A server whose client cannot be asked says so at once, and a debugger never asks.
func TestAsk_Never(t *testing.T) {
	t.Parallel()
	cannot, can := connect(t, options{}), connectAsked(t, options{})
	for code, want := range map[string]string{
		"input('? ')":                       "EOFError: input() cannot ask: the client offers no elicitation",
		"import getpass; getpass.getpass()": "EOFError: getpass() cannot ask: the client offers no elicitation",
		"breakpoint()":                      "EOFError: breakpoint() cannot open: this server has no terminal",
		"import pdb; pdb.set_trace()":       "RuntimeError: the debugger cannot open: this server has no terminal",
		"%debug":                            "EOFError: the debugger cannot open: this server has no terminal",
	} {
		for name, s := range map[string]*server{"cannot": cannot, "can": can} {
			if name == "can" && strings.Contains(want, "elicitation") {
				continue
			}
			e := decodeInto[execution](t, decodeInto[answer](t, s.awaitWithin(s.sendCell(code), 5*time.Second).Result).Structured)
			if got := fmt.Sprintf("%s: %s", e.Error.ErrorType, e.Error.Message); !strings.HasPrefix(got, want) {
				t.Errorf("with a client that %s be asked, %s gives %s", name, code, got)
			}
		}
	}
}

// answerer is a user who answers every question with what it says.
type answerer struct{ action mcp.ElicitationResponseAction }

func (a answerer) Elicit(_ context.Context, r mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	result := &mcp.ElicitationResult{}
	result.Action = a.action
	if a.action == mcp.ElicitationResponseActionAccept {
		result.Content = map[string]any{"value": "I read: " + r.Params.Message}
	}
	return result, nil
}

func TestAsk_RealClient(t *testing.T) {
	for action, want := range map[mcp.ElicitationResponseAction]string{
		mcp.ElicitationResponseActionAccept:  "I read: Name?",
		mcp.ElicitationResponseActionDecline: "input() was declined by the user",
		mcp.ElicitationResponseActionCancel:  "input() was cancelled by the user",
	} {
		for _, revision := range []string{newestLegacy, newest} {
			t.Run(string(action)+" in "+revision, func(t *testing.T) {
				t.Parallel()
				c, _ := mcpClient(t, client.WithProtocolVersion(revision), client.WithElicitationHandler(answerer{action}))
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				code := map[string]any{"code": "try: said = input('Name? ')\nexcept EOFError as error: said = str(error)\nsaid"}
				result, err := c.CallTool(ctx, mcp.CallToolRequest{Params: mcp.CallToolParams{Name: "execute", Arguments: code}})
				if err != nil {
					t.Fatal(err)
				}
				if structured, is := result.StructuredContent.(map[string]any); !is || structured["result"] != want {
					t.Errorf("the answer is %+v", result.StructuredContent)
				}
			})
		}
	}
}
