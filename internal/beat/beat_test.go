package beat

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const interval = time.Millisecond

// It beats while there is something to do, rests a while after that, and begins again.
func TestBeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var beats atomic.Int32
		var busy atomic.Bool
		b := New(interval, func() bool {
			beats.Add(1)
			return busy.Load()
		})
		time.Sleep(time.Second)
		expect := func(when string, want int32) {
			t.Helper()
			synctest.Wait()
			if got := beats.Swap(0); got != want {
				t.Errorf("%s: %d beats, want %d", when, got, want)
			}
		}
		expect("before the start", 0)
		busy.Store(true)
		b.Start()
		time.Sleep(200*interval + interval/2)
		expect("busy", 200)
		busy.Store(false)
		time.Sleep(time.Second)
		expect("idle", rest)
		b.Start()
		time.Sleep(10*interval + interval/2)
		b.Start()
		expect("begun again", 10)
		time.Sleep(time.Second)
		expect("after a second start", rest+1)
	})
}

// Whoever does not return soon lets the next beat come.
func TestBeat_next(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var beats atomic.Int32
		release := make(chan struct{})
		var b *Beat
		b = New(interval, func() bool {
			if beats.Add(1) == 1 {
				b.Next()
				<-release
			}
			return false
		})
		b.Start()
		time.Sleep(10*interval + interval/2)
		synctest.Wait()
		if got := beats.Load(); got != 10 {
			t.Errorf("%d beats beside one that lasts", got)
		}
		close(release)
	})
}

func TestBeat_stop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var beats atomic.Int32
		b := New(interval, func() bool {
			beats.Add(1)
			return true
		})
		b.Start()
		time.Sleep(3*interval + interval/2)
		b.Stop()
		time.Sleep(time.Second)
		if got := beats.Load(); got != 3 {
			t.Errorf("%d beats, 3 of them before the stop", got)
		}
	})
}

// A stop in the middle of a beat is one, too.
func TestBeat_stopWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var beats atomic.Int32
		var b *Beat
		b = New(interval, func() bool {
			beats.Add(1)
			b.Stop()
			return true
		})
		b.Start()
		time.Sleep(time.Second)
		if got := beats.Load(); got != 1 {
			t.Errorf("%d beats", got)
		}
	})
}
