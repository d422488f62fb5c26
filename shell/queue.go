package shell

import (
	"container/list"
	"context"
	"sync"
)

// queue lets one ticket at a time have its turn, in the order in which they were reserved.
type queue struct {
	mu      sync.Mutex
	tickets list.List // of *Ticket; the front one has its turn
}

// Ticket is a place in the queue. Release it exactly when it is no longer wanted, whether its turn came or not; releasing again does
// nothing.
type Ticket struct {
	// Ask puts the questions of the operation's code to a person. It is set before the ticket is handed to the operation; nil: nobody can be
	// asked.
	Ask Asker

	queue *queue
	place *list.Element // nil once released; guarded by queue.mu
	turn  chan struct{} // closed when the ticket reaches the front

	execution *Execution // what it is used for, once its turn has come; nil where nobody can ask for that
	hit       bool       // an interrupt has ended its operation's code; set when that is over
}

func (q *queue) reserve() *Ticket {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := &Ticket{queue: q, turn: make(chan struct{})}
	t.place = q.tickets.PushBack(t)
	if q.tickets.Front() == t.place {
		close(t.turn)
	}
	return t
}

// First reports whether the ticket has its turn, so that waiting for it takes no time. No ticket (nil) waits for nothing that could
// come at once.
func (t *Ticket) First() bool { return t != nil && happened(t.turn) }

// wait returns when the ticket's turn has come, or with the context's cause when that ends first: the ticket then has been released.
func (t *Ticket) wait(ctx context.Context) error {
	select {
	case <-t.turn:
		// A context that ended while the turn came withdraws the call all the same.
		if ctx.Err() == nil {
			return nil
		}
	case <-ctx.Done():
	}
	t.Release()
	return context.Cause(ctx)
}

// ExecutionID names the execution that has the ticket's turn; empty where it is none.
func (t *Ticket) ExecutionID() string {
	if t == nil || t.execution == nil {
		return ""
	}
	return t.execution.ID
}

// Release gives the place up and lets the next ticket have its turn. No ticket (nil) has no place.
func (t *Ticket) Release() {
	if t == nil {
		return
	}
	t.queue.mu.Lock()
	defer t.queue.mu.Unlock()
	if t.place == nil {
		return
	}
	front := t.queue.tickets.Front() == t.place
	t.queue.tickets.Remove(t.place)
	t.place = nil
	if next := t.queue.tickets.Front(); front && next != nil {
		close(next.Value.(*Ticket).turn)
	}
}
