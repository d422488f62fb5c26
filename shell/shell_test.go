package shell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"ipython-mcp/internal/bounds"
)

// fakeEngine answers each request with what the test says, and prints meanwhile.
type fakeEngine struct {
	output *fakeOutput
	reply  func(op string, args map[string]any) string // the JSON of a reply without its id

	mu          sync.Mutex
	ops         []string
	interrupted chan struct{}

	take func(frame []byte) bool // of the call that runs
	sent chan string             // what was sent beside requests
}

func (e *fakeEngine) Call(request []byte, take func([]byte) bool) error {
	var r struct {
		ID   int
		Op   string
		Args map[string]any
	}
	if err := json.Unmarshal(request, &r); err != nil {
		return err
	}
	e.mu.Lock()
	e.ops = append(e.ops, r.Op)
	e.mu.Unlock()
	e.take = take
	reply := `"value": {}`
	if r.Op != "start" && e.reply != nil {
		reply = e.reply(r.Op, r.Args)
	}
	if reply == "" {
		return errors.New("the connection is gone")
	}
	take(fmt.Appendf(nil, `{"id": %d, %s}`, r.ID, reply))
	return nil
}

func (e *fakeEngine) Send(frame []byte) error {
	e.sent <- string(frame)
	return nil
}

func (e *fakeEngine) Interrupt() bool {
	select {
	case e.interrupted <- struct{}{}:
	default:
	}
	return true
}

func (e *fakeEngine) called() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return strings.Join(e.ops, " ")
}

// fakeOutput writes to whichever writers are current, as the drains do.
type fakeOutput struct {
	mu             sync.Mutex
	stdout, stderr io.Writer
	restores       int
}

func (o *fakeOutput) Redirect(stdout, stderr io.Writer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stdout, o.stderr = stdout, stderr
}

func (o *fakeOutput) Restore() error { o.restores++; return nil }

func (o *fakeOutput) print(stdout, stderr string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, _ = io.WriteString(o.stdout, stdout)
	_, _ = io.WriteString(o.stderr, stderr)
}

func newTestShell(t *testing.T, reply func(op string, args map[string]any) string) (*Shell, *fakeEngine, *fakeOutput) {
	t.Helper()
	output := &fakeOutput{}
	engine := &fakeEngine{output: output, reply: reply, interrupted: make(chan struct{}, 1), sent: make(chan string, 1)}
	limits := bounds.Defaults()
	limits.TextChars = 20
	return New(Options{Engine: engine, Output: output, Limits: limits, Scratch: t.TempDir()}), engine, output
}

func started(t *testing.T, reply func(op string, args map[string]any) string) (*Shell, *fakeEngine, *fakeOutput) {
	t.Helper()
	s, engine, output := newTestShell(t, reply)
	if err := s.Start(Settings{}, io.Discard); err != nil {
		t.Fatal(err)
	}
	return s, engine, output
}

const executed = `"value": {"ok": true, "execution_count": 1, "result": 9007199254740993}`

func TestShell_ExecuteTakesItsOutputAndWhatCameBefore(t *testing.T) {
	var output *fakeOutput
	s, _, output := started(t, func(string, map[string]any) string {
		output.print("out "+strings.Repeat("x", 30), "err")
		return executed
	})
	output.print("from a thread, ", "and its stderr")
	answer, err := s.Execute(t.Context(), s.Reserve(), Cell{Code: "code"})
	if err != nil {
		t.Fatal(err)
	}
	if string(answer.Result) != "9007199254740993" || answer.Status != StatusOK || *answer.ExecutionID != "e1" {
		t.Errorf("answer is %+v", answer)
	}
	if want := "out xxxxxx\n… 14 characters omitted (of 34); read_output execution_id=e1 stream=stdout offset=10 …\nxxxxxxxxxx"; answer.Stdout != want {
		t.Errorf("stdout is %q", answer.Stdout)
	}
	if !answer.Truncated.Stdout || answer.Truncated.StdoutOmittedChars != 14 || answer.Truncated.Stderr {
		t.Errorf("truncated is %+v", answer.Truncated)
	}
	if !strings.HasPrefix(answer.BackgroundOutput, "from a thr") || !strings.HasSuffix(answer.BackgroundOutput, "its stderr") {
		t.Errorf("background output is %q", answer.BackgroundOutput)
	}
	page, err := s.ReadOutput("e1", "stdout", 4, 1000)
	if err != nil || page.Text != strings.Repeat("x", 20) || *page.NextOffset != 24 || page.TotalChars != 34 {
		t.Errorf("page is %+v, %v", page, err)
	}
	if output.restores != 1 {
		t.Errorf("descriptors were restored %d times", output.restores)
	}
}

func TestShell_ReadOutputOfAnUnknownExecution(t *testing.T) {
	s, _, _ := started(t, nil)
	page, err := s.ReadOutput("e9", "stderr", 0, 1)
	if err != nil || page.OK || page.Error == nil || page.Error.Code != "execution_not_found" {
		t.Errorf("page is %+v, %v", page, err)
	}
}

func TestShell_KeepsTheLastExecutions(t *testing.T) {
	s, _, _ := started(t, func(string, map[string]any) string { return executed })
	for range keptExecutions + 1 {
		if _, err := s.Execute(t.Context(), s.Reserve(), Cell{Code: "code"}); err != nil {
			t.Fatal(err)
		}
	}
	for id, kept := range map[string]bool{"e1": false, "e2": true, fmt.Sprint("e", keptExecutions+1): true} {
		if page, err := s.ReadOutput(id, "stdout", 0, 1); err != nil || page.OK != kept {
			t.Errorf("%s: %+v, %v", id, page, err)
		}
	}
}

func TestShell_OtherOperationsCarryWhatTheyPrint(t *testing.T) {
	var output *fakeOutput
	s, _, output := started(t, func(string, map[string]any) string {
		output.print("imported\n", "warned\n")
		return `"value": {"results": [{"module": "m", "ok": true}]}`
	})
	answer, err := s.Reload(t.Context(), s.Reserve(), []string{"m"}, false)
	if err != nil || answer.Stdout != "imported\n" || answer.Stderr != "warned\n" || len(answer.Results) != 1 {
		t.Errorf("answer is %+v, %v", answer, err)
	}
}

func TestShell_SearchClampsItsLimit(t *testing.T) {
	var seen []any
	s, _, _ := started(t, func(_ string, args map[string]any) string {
		seen = append(seen, args["limit"])
		return `"value": {}`
	})
	for _, limit := range []int{-5, 0, 7, 1 << 30} {
		if _, err := s.Search(t.Context(), s.Reserve(), "q", false, limit); err != nil {
			t.Fatal(err)
		}
	}
	if got := fmt.Sprint(seen); got != "[1 1 7 100]" {
		t.Errorf("limits are %s", got)
	}
}

func TestShell_FailuresOfTheEngine(t *testing.T) {
	for _, test := range []struct {
		name, reply, want string
		ended             bool
	}{
		{"fault", `"fault": {"type": "ValueError", "message": "inner"}`, "ValueError: inner", false},
		{"gone", "", "has ended", true},
		{"no JSON", `"value": `, "cannot decode", false},
		{"another form", `"value": [5]`, "cannot decode", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, _, _ := started(t, func(string, map[string]any) string { return test.reply })
			_, err := s.Execute(t.Context(), s.Reserve(), Cell{Code: "code"})
			if err == nil || !strings.Contains(err.Error(), test.want) || errors.Is(err, ErrEnded) != test.ended {
				t.Errorf("error is %v", err)
			}
			if _, err := s.List(t.Context(), s.Reserve()); err == nil {
				t.Error("the next operation did not reach the failing engine")
			}
		})
	}
}

// A reply that comes twice is not taken for that to the next request.
func TestShell_SkipsASecondReplyToAnEarlierRequest(t *testing.T) {
	var engine *fakeEngine
	requests := 1 // the start was the first
	s, engine, _ := started(t, func(string, map[string]any) string {
		requests++
		engine.take(fmt.Appendf(nil, `{"id": %d, "value": {"removed": ["old"]}}`, requests-1))
		return `"value": {"ok": true, "removed": ["new"]}`
	})
	answer, err := s.Remove(t.Context(), s.Reserve(), []string{"new"})
	if err != nil || len(answer.Removed) != 1 || answer.Removed[0] != "new" {
		t.Errorf("the answer is %+v, %v", answer, err)
	}
}

func TestShell_AFailedStartIsEveryAnswer(t *testing.T) {
	s, _, _ := newTestShell(t, nil)
	early := s.Reserve()
	s.Fail(&StartupError{Phase: "preload", Message: "no module"})
	for _, ticket := range []*Ticket{early, s.Reserve()} {
		_, err := s.Execute(t.Context(), ticket, Cell{Code: "code"})
		var failed *StartupError
		if !errors.As(err, &failed) || failed.Phase != "preload" {
			t.Errorf("error is %v", err)
		}
	}
}

// TestShell_Cancel cancels one call that runs and one that waits.
func TestShell_Cancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var engine *fakeEngine
		s, engine, _ := started(t, func(op string, _ map[string]any) string {
			if op == "execute" {
				<-engine.interrupted
			}
			return executed
		})
		cause := errors.New("cancelled by the client")
		ctx, cancel := context.WithCancelCause(t.Context())
		running, waiting, next := s.Reserve(), s.Reserve(), s.Reserve()
		outcomes := make(chan error, 2)
		go func() { _, err := s.Execute(ctx, running, Cell{Code: "forever"}); outcomes <- err }()
		go func() { _, err := s.Reset(ctx, waiting); outcomes <- err }()
		synctest.Wait()
		cancel(cause)
		synctest.Wait()
		// The one that ran has its answer: it ended by itself, as far as this package knows. The other never ran.
		first, second := <-outcomes, <-outcomes
		if !(first == nil && errors.Is(second, cause) || second == nil && errors.Is(first, cause)) {
			t.Errorf("outcomes are %v and %v", first, second)
		}
		if _, err := s.List(t.Context(), next); err != nil {
			t.Fatal(err)
		}
		if got := engine.called(); got != "start execute list" {
			t.Errorf("the interpreter was asked for %s", got)
		}
	})
}

func TestShell_StopInterruptsUntilIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var engine *fakeEngine
		s, engine, _ := started(t, func(string, map[string]any) string {
			<-engine.interrupted
			<-engine.interrupted // catches the first KeyboardInterrupt
			return executed
		})
		running, waiting := s.Reserve(), s.Reserve()
		go func() { _, _ = s.Execute(t.Context(), running, Cell{Code: "forever"}) }()
		late := make(chan error, 1)
		go func() { _, err := s.List(t.Context(), waiting); late <- err }()
		synctest.Wait()
		if !s.Stop(t.Context()) {
			t.Error("the interpreter is not idle")
		}
		if err := <-late; !errors.Is(err, ErrEnded) {
			t.Errorf("a call that waited got %v", err)
		}
		if got := engine.called(); got != "start execute" {
			t.Errorf("the interpreter was asked for %s", got)
		}
	})
}

func TestShell_StopGivesUpWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s, _, _ := started(t, func(string, map[string]any) string { <-release; return executed })
		running := s.Reserve()
		go func() { _, _ = s.Execute(t.Context(), running, Cell{Code: "sum(range(10**12))"}) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), stopInterruptInterval*5)
		defer cancel()
		if s.Stop(ctx) {
			t.Error("code that cannot be interrupted counts as ended")
		}
		close(release)
	})
}
