// Package beat repeats something while there is something to watch, at no cost to what is watched.
//
// A timer that is set when a piece of work begins and stopped when it ends wakes a thread of the runtime's each time, which costs more
// than a short piece of work. A [Beat] goes on for a while after the last piece instead, so that one that begins soon afterwards finds it
// beating.
//
// All methods may be called from any goroutine. The function of a Beat runs on the timers' goroutines, one at a time unless
// it calls [Beat.Next] before it returns.
package beat

import (
	"sync/atomic"
	"time"
)

// rest is how many beats with nothing to do make a Beat stop.
const rest = 50

// Beat calls a function again and again while it has something to do.
type Beat struct {
	interval time.Duration
	act      func() (busy bool)
	timer    *time.Timer
	beating  atomic.Bool
	stopped  atomic.Bool
	idle     atomic.Int32 // beats since there was something to do
}

// New makes a Beat that rests. act says whether there is something to watch; it is called again in any case until it has said no
// for a while.
func New(interval time.Duration, act func() (busy bool)) *Beat {
	b := &Beat{interval: interval, act: act}
	b.timer = time.AfterFunc(time.Hour, b.once)
	b.timer.Stop()
	return b
}

// Start makes act be called within two intervals, and then on. It costs next to nothing while the Beat beats.
func (b *Beat) Start() {
	b.idle.Store(0)
	b.stopped.Store(false)
	if !b.beating.Load() && b.beating.CompareAndSwap(false, true) {
		b.timer.Reset(b.interval)
	}
}

// Next lets the next beat come although this one has not ended: act will not return soon.
func (b *Beat) Next() { b.timer.Reset(b.interval) }

// Stop ends the beats, except one that is due. Start begins them again.
func (b *Beat) Stop() {
	b.stopped.Store(true)
	b.timer.Stop()
	b.beating.Store(false)
}

func (b *Beat) once() {
	if b.act() {
		b.idle.Store(0)
	}
	if b.idle.Add(1) <= rest && !b.stopped.Load() {
		b.timer.Reset(b.interval)
		return
	}
	b.beating.Store(false)
	// Who called Start a moment ago found it beating.
	if b.idle.Load() == 0 && !b.stopped.Load() {
		b.Start()
	}
}
