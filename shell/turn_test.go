package shell

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// fakeWatcher remembers what it hears; tokens is what is to be compared.
type fakeWatcher struct {
	tokens string
	heard  []string
	fail   error
}

func (w *fakeWatcher) Watched() json.RawMessage {
	if w.tokens == "" {
		return nil
	}
	return json.RawMessage(w.tokens)
}

func (w *fakeWatcher) Reconcile(bindings json.RawMessage) error {
	w.heard = append(w.heard, string(bindings))
	return w.fail
}

func (w *fakeWatcher) Cleared() { w.heard = append(w.heard, "cleared") }

// watched starts a shell whose interpreter answers every operation with the given members and records its requests.
func watched(t *testing.T, members string) (*Shell, *fakeWatcher, *[]string) {
	t.Helper()
	var requests []string
	w := &fakeWatcher{}
	s, engine, _ := started(t, func(string, map[string]any) string { return members })
	s.engine = recordingEngine{engine, &requests}
	s.Watch(w)
	return s, w, &requests
}

type recordingEngine struct {
	Engine
	requests *[]string
}

func (e recordingEngine) Call(request []byte, take func([]byte) bool) error {
	*e.requests = append(*e.requests, string(request))
	return e.Engine.Call(request, take)
}

// tools returns the member "tools" of each request, none for one without it.
func tools(t *testing.T, requests []string) (found []string) {
	t.Helper()
	for _, request := range requests {
		var r struct{ Tools json.RawMessage }
		if err := json.Unmarshal([]byte(request), &r); err != nil {
			t.Fatal(err)
		}
		found = append(found, string(r.Tools))
	}
	return found
}

// Python is told the tokens when they change, also to none, and not before it has heard of those of before.
func TestShell_TellsTokensOnce(t *testing.T) {
	members := `"value": {}`
	var s *Shell
	var requests []string
	w := &fakeWatcher{}
	s, engine, _ := started(t, func(string, map[string]any) string { return members })
	s.engine = recordingEngine{engine, &requests}
	s.Watch(w)
	list := func() { _, _ = s.List(t.Context(), s.Reserve()) }
	list()
	w.tokens = `{"f":"1"}`
	members = `"fault": {"type": "E", "message": "m"}`
	list()
	members = `"value": {}`
	list()
	list()
	w.tokens = `{"f":"2"}`
	list()
	w.tokens = ""
	list()
	list()
	want := []string{"", `{"f":"1"}`, `{"f":"1"}`, "", `{"f":"2"}`, "{}", ""}
	if got := tools(t, requests); !slices.Equal(got, want) {
		t.Errorf("Python was told %q, want %q", got, want)
	}
}

// The watcher hears of bindings before the operation answers, of each reply that has some, and of a reset that worked.
func TestShell_ReconcilesEveryOperation(t *testing.T) {
	s, w, _ := watched(t, `"value": {"ok": true}, "bindings": [{"symbol": "f"}]`)
	for name, operation := range map[string]func() error{
		"execute": func() error { _, err := s.Execute(t.Context(), s.Reserve(), Cell{Code: "1"}); return err },
		"list":    func() error { _, err := s.List(t.Context(), s.Reserve()); return err },
		"search":  func() error { _, err := s.Search(t.Context(), s.Reserve(), "q", false, 1); return err },
		"reload":  func() error { _, err := s.Reload(t.Context(), s.Reserve(), nil, false); return err },
		"inspect": func() error { _, err := s.Inspect(t.Context(), s.Reserve(), "n"); return err },
		"remove":  func() error { _, err := s.Remove(t.Context(), s.Reserve(), nil); return err },
		"reset":   func() error { _, err := s.Reset(t.Context(), s.Reserve()); return err },
		"turn": func() error {
			_, err := s.Take(t.Context(), s.Reserve(), func(turn Turn) error {
				_, err := turn.CallFunction("f", json.RawMessage("{}"))
				return err
			})
			return err
		},
	} {
		w.heard = nil
		if err := operation(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		want := `[{"symbol": "f"}]`
		if name == "reset" {
			want += " cleared"
		}
		if got := strings.Join(w.heard, " "); got != want {
			t.Errorf("after %s the watcher heard %q", name, got)
		}
	}
	w.fail = errors.New("no such form")
	if _, err := s.List(t.Context(), s.Reserve()); err == nil || !strings.Contains(err.Error(), "no such form") {
		t.Errorf("a reply that cannot be reconciled gives %v", err)
	}
}

func TestShell_AFailedResetClearsNothing(t *testing.T) {
	s, w, _ := watched(t, `"value": {"ok": false, "error": {"code": "reset_rebind_error"}}, "bindings": []`)
	if _, err := s.Reset(t.Context(), s.Reserve()); err != nil || len(w.heard) > 0 {
		t.Errorf("the watcher heard %q, %v", w.heard, err)
	}
}

// A turn may ask several times; what is printed in it comes back, arguments cross as text, and its error ends it.
func TestShell_Take(t *testing.T) {
	var output *fakeOutput
	var requests []string
	s, engine, output := started(t, func(op string, _ map[string]any) string {
		output.print(op+" ", "")
		return `"value": {"ok": true, "changed": true, "binding": {"state": "missing"}}`
	})
	s.engine = recordingEngine{engine, &requests}
	printed, err := s.Take(t.Context(), s.Reserve(), func(turn Turn) error {
		described, err := turn.Describe("f")
		if err != nil || string(described.Binding) != `{"state": "missing"}` {
			t.Errorf("described: %s, %v", described.Binding, err)
		}
		call := ToolCall{ToolName: "t", Symbol: "f", Token: "1", Arguments: json.RawMessage(`{"n":1.0}`)}
		answer, err := turn.CallTool(call)
		if err != nil || !answer.Changed {
			t.Errorf("called: %+v, %v", answer, err)
		}
		if _, err := turn.CallTool(ToolCall{Arguments: json.RawMessage("{")}); err == nil {
			t.Error("arguments that are no JSON were sent")
		}
		return nil
	})
	if err != nil || printed.Stdout != "describe call_tool " {
		t.Errorf("printed %+v, %v", printed, err)
	}
	if got := requests[1]; !strings.Contains(got, `"arguments":"{\"n\":1.0}"`) {
		t.Errorf("the call was sent as %s", got)
	}
	failed := errors.New("enough")
	if _, err := s.Take(t.Context(), s.Reserve(), func(Turn) error { return failed }); !errors.Is(err, failed) {
		t.Errorf("error is %v", err)
	}
	if _, err := s.List(t.Context(), s.Reserve()); err != nil {
		t.Errorf("after a failed turn: %v", err)
	}
}

// While one has its turn, no other operation runs, whatever its turn consists of.
func TestShell_TakeIsExclusive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, engine, _ := started(t, func(string, map[string]any) string { return `"value": {}` })
		first, second := s.Reserve(), s.Reserve()
		done := make(chan error, 1)
		go func() { _, err := s.List(t.Context(), second); done <- err }()
		_, err := s.Take(t.Context(), first, func(turn Turn) error {
			for i := range 3 {
				if _, err := turn.Describe(fmt.Sprint("f", i)); err != nil {
					return err
				}
				synctest.Wait()
			}
			return nil
		})
		if err != nil || <-done != nil {
			t.Error("an operation failed")
		}
		if got := engine.called(); got != "start describe describe describe list" {
			t.Errorf("the interpreter was asked for %s", got)
		}
	})
}
