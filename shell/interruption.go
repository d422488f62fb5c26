package shell

import (
	"sync"
	"time"
)

// cancelInterruptInterval is the time between two interrupts of the same work, for code that catches the first.
const cancelInterruptInterval = 300 * time.Millisecond

// interrupter interrupts the work of one turn, and never what comes after it.
type interrupter struct {
	shell *Shell
	since time.Time // when the work began
	done  chan struct{}

	mu   sync.Mutex // held while an interrupt is sent
	over bool
}

func (s *Shell) newInterrupter() *interrupter {
	return &interrupter{shell: s, since: time.Now(), done: make(chan struct{})}
}

// end says that the work is over: from its return on, nothing is interrupted.
func (i *interrupter) end() {
	i.mu.Lock()
	i.over = true
	i.mu.Unlock()
	close(i.done)
}

// interruptUntilOver interrupts the work, again and again for code that catches the first KeyboardInterrupt, until it is over. What
// has not ended by the second time may be waiting for a child that it has started.
func (i *interrupter) interruptUntilOver() {
	i.interrupt(nil)
	repeat := time.NewTicker(cancelInterruptInterval)
	defer repeat.Stop()
	for {
		select {
		case <-i.done:
			return
		case <-repeat.C:
			i.interrupt(i.shell.children)
		}
	}
}

func (i *interrupter) interrupt(children func(since time.Time)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.over {
		return
	}
	i.shell.engine.Interrupt()
	if children != nil {
		children(i.since)
	}
}
