package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"ipython-mcp/internal/bounds"
	"ipython-mcp/shell"
)

// scriptedEngine is an interpreter that runs cells written for it: "wait" blocks until interrupted or released, "ask"
// asks with the rest of the cell as the prompt and returns what it is told, anything else returns.
type scriptedEngine struct {
	mu        sync.Mutex
	ran       []string
	started   chan string // gets the code of each cell that starts to wait
	release   chan struct{}
	interrupt chan struct{}
	told      chan []byte // answers to what was asked
	canAsk    []bool      // what the requests said
}

func newScriptedEngine() *scriptedEngine {
	return &scriptedEngine{
		started:   make(chan string, 1<<14),
		release:   make(chan struct{}),
		interrupt: make(chan struct{}, 1),
		told:      make(chan []byte, 1),
	}
}

func (e *scriptedEngine) Call(request []byte, take func([]byte) bool) error {
	var r struct {
		ID     int
		Op     string
		Args   struct{ Code string }
		CanAsk bool `json:"can_ask"`
	}
	if err := json.Unmarshal(request, &r); err != nil {
		return err
	}
	result := []byte("null")
	if r.Op == "execute" {
		e.mu.Lock()
		e.ran = append(e.ran, r.Args.Code)
		e.canAsk = append(e.canAsk, r.CanAsk)
		e.mu.Unlock()
		if strings.HasPrefix(r.Args.Code, "wait") {
			e.started <- r.Args.Code
			select {
			case <-e.release:
			case <-e.interrupt:
			}
		}
		if prompt, asks := strings.CutPrefix(r.Args.Code, "ask "); asks {
			take(fmt.Appendf(nil, `{"id":%d,"ask":{"number":1,"prompt":%q}}`, r.ID, prompt))
			select {
			case result = <-e.told:
			case <-e.interrupt:
				take(fmt.Appendf(nil, `{"id":%d,"withdraw":1}`, r.ID))
			}
		}
	}
	take(fmt.Appendf(nil, `{"id":%d,"value":{"ok":true,"execution_count":1,"result":%s}}`, r.ID, result))
	return nil
}

func (e *scriptedEngine) Send(frame []byte) error {
	e.told <- frame
	return nil
}

func (e *scriptedEngine) Interrupt() bool {
	select {
	case e.interrupt <- struct{}{}:
	default:
	}
	return true
}

func (e *scriptedEngine) order() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.ran)
}

// noOutput is a process whose descriptors stay silent.
type noOutput struct{}

func (noOutput) Redirect(_, _ io.Writer) {}
func (noOutput) Restore() error          { return nil }

// startShell is a real shell over the engine.
func startShell(t *testing.T, e shell.Engine) *shell.Shell {
	t.Helper()
	s := shell.New(shell.Options{Engine: e, Output: noOutput{}, Limits: bounds.Limits{TextChars: 100, Results: 100}, Scratch: t.TempDir()})
	if err := s.Start(shell.Settings{}, io.Discard); err != nil {
		t.Fatal(err)
	}
	return s
}

// Calls run in the order in which their lines arrived, however many there are, while other requests are answered.
func TestSession_callsKeepOrder(t *testing.T) {
	engine := newScriptedEngine()
	c := connect(t, newServer(t, Options{Namespace: startShell(t, engine)}))
	c.send(execute("0", "wait 0"))
	<-engine.started
	want := []string{"wait 0"}
	for i := 1; i <= 300; i++ {
		code := "cell " + strconv.Itoa(i)
		c.send(execute(strconv.Itoa(i), code))
		want = append(want, code)
	}
	if got := c.ask(ping(`"p"`)); decode(t, got).Error != nil {
		t.Errorf("ping while calls wait: %s", got)
	}
	close(engine.release)
	for range want {
		c.next()
	}
	if got := engine.order(); !slices.Equal(got, want) {
		t.Errorf("cells ran in the order %q", got)
	}
}

// A client cancels a running call, one that waits, both twice, a finished one and one that never was: nothing is
// answered for the first two, the waiting one never runs, and the next call works.
func TestSession_cancel(t *testing.T) {
	engine := newScriptedEngine()
	c := connect(t, newServer(t, Options{Namespace: startShell(t, engine)}))
	c.ask(execute("1", "finished"))
	c.send(execute("5", "wait running"))
	<-engine.started
	c.send(execute(`"q"`, "waiting"))
	for _, id := range []string{`"q"`, `"q"`, "1", "77", `"5"`} {
		c.send(cancelled(id))
	}
	if got := decode(t, c.ask(execute("5", "again"))); got.Error == nil {
		t.Error(`the string "5" cancelled the number 5`)
	}
	c.send(cancelled("5"))
	c.send(cancelled("5"))
	if got := decode(t, c.ask(execute("6", "next"))); string(got.ID) != "6" || got.Error != nil {
		t.Errorf("after the cancellations came %+v", got)
	}
	rest, err := c.end()
	if len(rest) > 0 || err != nil {
		t.Errorf("at the end came %q, %v", rest, err)
	}
	if got, want := engine.order(), []string{"finished", "wait running", "next"}; !slices.Equal(got, want) {
		t.Errorf("ran %q, want %q", got, want)
	}
}

func cancelled(id string) string {
	return `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `,"reason":"test"}}`
}

// Many calls, each cancelled at some moment or not: every one gets at most one answer, every one that was not
// cancelled exactly one, and the session and its queue are free afterwards.
func TestSession_cancelHammer(t *testing.T) {
	engine := newScriptedEngine()
	c := connect(t, newServer(t, Options{Namespace: startShell(t, engine)}))
	const rounds, callers = 60, 8
	var sending sync.WaitGroup
	for caller := range callers {
		sending.Go(func() {
			for round := range rounds {
				id := strconv.Itoa(caller*rounds + round)
				c.send(execute(id, "cell"))
				if round%3 > 0 {
					c.send(cancelled(id))
				}
				if round%3 == 2 {
					c.send(cancelled(id))
				}
			}
		})
	}
	sending.Wait()
	rest, err := c.end()
	if err != nil {
		t.Fatal(err)
	}
	answers := make(map[string]int)
	for _, line := range rest {
		answers[string(decode(t, line).ID)]++
	}
	for i := range callers * rounds {
		got := answers[strconv.Itoa(i)]
		if got > 1 || got == 0 && i%rounds%3 == 0 {
			t.Errorf("request %d got %d answers", i, got)
		}
	}
}

// When the context ends, Serve returns its cause, what waits is withdrawn and what runs is interrupted.
func TestServer_Serve_contextEnds(t *testing.T) {
	engine := newScriptedEngine()
	c := connect(t, newServer(t, Options{Namespace: startShell(t, engine)}))
	c.send(execute("1", "wait"))
	<-engine.started
	c.send(execute("2", "never"))
	c.ask(ping("3"))
	cause := fmt.Errorf("the program ends")
	c.stop(cause)
	if rest, err := c.rest(); err != cause || len(rest) > 0 {
		t.Errorf("Serve returned %v after %q", err, rest)
	}
	if got := engine.order(); !slices.Equal(got, []string{"wait"}) {
		t.Errorf("ran %q", got)
	}
}

// At the end of the input, what runs and what waits is answered before Serve returns.
func TestServer_Serve_inputEnds(t *testing.T) {
	engine := newScriptedEngine()
	c := connect(t, newServer(t, Options{Namespace: startShell(t, engine)}))
	c.send(execute("1", "wait"))
	<-engine.started
	c.send(execute("2", "cell"))
	c.send(ping("3"))
	_ = c.in.Close()
	c.next() // ping; its answer shows that the input was read
	close(engine.release)
	rest, err := c.rest()
	if len(rest) != 2 || err != nil {
		t.Errorf("Serve returned %v after %q", err, rest)
	}
}

// Serving starts before the namespace does: calls wait for the start, everything else is answered.
func TestSession_beforeTheStart(t *testing.T) {
	engine := newScriptedEngine()
	s := shell.New(shell.Options{Engine: engine, Output: noOutput{}, Limits: bounds.Limits{TextChars: 100}, Scratch: t.TempDir()})
	c := connect(t, newServer(t, Options{Namespace: s}))
	c.ask(initialize)
	c.send(toolCall("1", "list", "{}"))
	c.ask(ping("2"))
	if err := s.Start(shell.Settings{}, io.Discard); err != nil {
		t.Fatal(err)
	}
	if got := decodeCall(t, c.next()); got.IsError {
		t.Errorf("the call got %+v", got)
	}
}

// A call of the modern era that is answered early leaves its code running: only the client's cancellation takes it along, not the end of
// mcp-go's part of the request.
func TestSession_modernEarlyAnswer(t *testing.T) {
	namespace, gate := newFakeNamespace(), make(chan struct{})
	namespace.execute = func(ctx context.Context, code string) (shell.ExecuteAnswer, error) {
		<-gate
		return executed(code), context.Cause(ctx)
	}
	c := connect(t, newServer(t, Options{Namespace: namespace}))
	for range 50 {
		early := decodeCall(t, c.ask(modern(toolCall("1", "execute", `{"code":"x","wait_seconds":0}`))))
		if !strings.Contains(string(early.Structured), `"status":"running"`) {
			t.Fatalf("the early answer is %s", early.Structured)
		}
		gate <- struct{}{}
		final := decodeCall(t, c.ask(toolCall("2", "get_execution", `{"wait_seconds":10}`)))
		if !strings.Contains(string(final.Structured), `"status":"ok"`) {
			t.Fatalf("the code ended with %s", final.Structured)
		}
	}
}
