package dyntools

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestHammer changes the registry from several goroutines while readers list and look up. Every view must agree
// with itself, and two views of one revision must show the same list.
func TestHammer(t *testing.T) {
	const writers, readers, rounds = 4, 4, 300
	options := testOptions
	options.MaxTools = 100
	r := NewRegistry(options)
	var lists sync.Map // revision -> names
	var writing, reading sync.WaitGroup
	done := make(chan struct{})
	for w := range writers {
		writing.Go(func() {
			for i := range rounds {
				hammerChange(t, r, w, i)
			}
		})
	}
	for range readers {
		reading.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					checkView(t, r.View(), &lists)
				}
			}
		})
	}
	writing.Wait()
	close(done)
	reading.Wait()
	checkView(t, r.View(), &lists)
}

func hammerChange(t *testing.T, r *Registry, writer, round int) {
	symbol := fmt.Sprintf("f%d", (writer+round)%7)
	switch round % 8 {
	case 5:
		r.Reconcile([]Binding{{Symbol: symbol, State: BoundMissing}})
	case 6:
		r.Unregister([]string{symbol, "nobody"})
	case 7:
		if round%56 == 7 {
			r.Reset()
		}
	default:
		types := []string{intType, strType}
		now := boundTo(t, symbol, fmt.Sprint(round), "x", types[round%2])
		if _, _, err := r.Register(Request{Symbol: symbol}, now); err != nil {
			t.Errorf("registering %s: %v", symbol, err)
		}
	}
}

func checkView(t *testing.T, v *View, lists *sync.Map) {
	names := toolNames(v)
	if !slices.IsSorted(names) {
		t.Errorf("list is not sorted: %v", names)
	}
	for _, name := range names {
		if one, ok := v.Lookup(name); !ok || one.Call() != nil {
			t.Errorf("%s is advertised and cannot be called", name)
		}
	}
	if before, loaded := lists.LoadOrStore(v.Revision(), names); loaded && !slices.Equal(before.([]string), names) {
		t.Errorf("revision %d shows %v and %v", v.Revision(), before, names)
	}
}

// BenchmarkRegistry_Reconcile is the price that an idle operation pays for 100 registrations.
func BenchmarkRegistry_Reconcile(b *testing.B) {
	options := testOptions
	options.MaxTools = 100
	r := NewRegistry(options)
	same := make([]Binding, 0, options.MaxTools)
	for i := range options.MaxTools {
		symbol := fmt.Sprintf("f%d", i)
		mustRegister(b, r, Request{Symbol: symbol}, boundTo(b, symbol, "1", "x", intType))
		same = append(same, Binding{Symbol: symbol, State: BoundSame})
	}
	b.ReportAllocs()
	for b.Loop() {
		r.Reconcile(same)
	}
}
