package shell

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
)

func TestQueue_TurnsComeInReservationOrder(t *testing.T) {
	var q queue
	tickets := make([]*Ticket, 50)
	for i := range tickets {
		tickets[i] = q.reserve()
	}
	order := make(chan int, len(tickets))
	var all sync.WaitGroup
	for _, i := range rand.Perm(len(tickets)) {
		all.Go(func() {
			if err := tickets[i].wait(t.Context()); err != nil {
				t.Error(err)
			}
			order <- i
			tickets[i].Release()
		})
	}
	all.Wait()
	for want := range tickets {
		if got := <-order; got != want {
			t.Fatalf("turn %d went to ticket %d", want, got)
		}
	}
}

func TestQueue_WithdrawnTicketLetsTheNextOnePass(t *testing.T) {
	for _, test := range []struct {
		name     string
		withdraw int
	}{{"front", 0}, {"middle", 1}, {"last", 2}} {
		t.Run(test.name, func(t *testing.T) {
			var q queue
			tickets := []*Ticket{q.reserve(), q.reserve(), q.reserve()}
			tickets[test.withdraw].Release()
			tickets[test.withdraw].Release() // again: nothing happens
			for i, ticket := range tickets {
				if i != test.withdraw {
					if err := ticket.wait(t.Context()); err != nil {
						t.Fatal(err)
					}
					ticket.Release()
				}
			}
		})
	}
}

func TestQueue_CancelledWaitReturnsTheCauseAndGivesThePlaceUp(t *testing.T) {
	var q queue
	running, waiting, next := q.reserve(), q.reserve(), q.reserve()
	cause := errors.New("the client cancelled")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if err := waiting.wait(ctx); !errors.Is(err, cause) {
		t.Fatalf("wait returned %v", err)
	}
	running.Release()
	if err := next.wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := next.wait(ctx); !errors.Is(err, cause) {
		t.Fatalf("a turn that came does not outlive the context: got %v", err)
	}
}

// TestQueue_Hammer checks mutual exclusion while tickets are reserved, cancelled and released from everywhere.
func TestQueue_Hammer(t *testing.T) {
	var q queue
	var inside int // guarded by having the turn, which -race checks
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 500 {
				ctx, cancel := context.WithCancel(t.Context())
				ticket := q.reserve()
				if rand.IntN(3) == 0 {
					go cancel()
				}
				if ticket.wait(ctx) == nil {
					inside++
					ticket.Release()
				}
				cancel()
			}
		})
	}
	all.Wait()
	last := q.reserve()
	if err := last.wait(t.Context()); err != nil {
		t.Fatal(err)
	}
}
