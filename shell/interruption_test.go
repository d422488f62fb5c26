package shell

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"testing"

	"ipython-mcp/internal/bounds"
)

// lateEngine has its cells cancelled at the moment of their end, and counts the interrupts that hit what comes next.
type lateEngine struct {
	cancel  context.CancelFunc
	listing bool
	hits    int
}

func (e *lateEngine) Call(request []byte, take func([]byte) bool) error {
	var r struct {
		ID int
		Op string
	}
	if err := json.Unmarshal(request, &r); err != nil {
		return err
	}
	switch r.Op {
	case "execute":
		e.cancel()
	case "list":
		e.listing = true
		for range 10 {
			runtime.Gosched() // whoever is about to interrupt gets to it
		}
		e.listing = false
	}
	take(fmt.Appendf(nil, `{"id": %d, "value": {"ok": true}}`, r.ID))
	return nil
}

func (e *lateEngine) Send([]byte) error { return nil }

func (e *lateEngine) Interrupt() bool {
	if e.listing {
		e.hits++
	}
	return true
}

// An operation that is cancelled at the moment of its end takes no interrupt into the next one.
func TestShell_ALateInterruptSparesTheNextOperation(t *testing.T) {
	// One processor: the goroutine that interrupts is then behind the next operation in the scheduler's queue.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	engine := &lateEngine{}
	s := New(Options{Engine: engine, Output: &fakeOutput{}, Limits: bounds.Defaults(), Scratch: t.TempDir()})
	if err := s.Start(Settings{}, io.Discard); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		engine.cancel = cancel
		first, second := s.Reserve(), s.Reserve()
		listed := make(chan error)
		go func() { _, err := s.List(t.Context(), second); listed <- err }()
		runtime.Gosched()
		if _, err := s.Execute(ctx, first, Cell{Code: "code"}); err != nil {
			t.Fatal(err)
		}
		if err := <-listed; err != nil {
			t.Fatal(err)
		}
	}
	if engine.hits > 0 {
		t.Errorf("%d interrupts hit the operation after the cancelled one", engine.hits)
	}
}
