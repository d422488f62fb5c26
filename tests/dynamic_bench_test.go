package tests

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// idleRounds is how many calls the measurement makes of each server before it compares.
const idleRounds = 300

// What a hundred registrations cost an operation that has nothing to do with them, in processor time, which a busy machine
// lengthens little. Both servers take turns, so that its moods hit them alike. The limit tells a cost that grows with what
// is registered from one that should not be there at all; how close the cost comes to its goal is in the log.
func TestDynamic_IdleCallWithAHundredRegistrations(t *testing.T) {
	without, with := connect(t, options{}), connect(t, options{})
	const parameters = "width: float, height: float = 2.0, tags: list[int] | None = None"
	var code strings.Builder
	for i := range 100 {
		fmt.Fprintf(&code, "def f%d(%s) -> float: return width\n", i, parameters)
	}
	with.succeed(code.String())
	for i := range 100 {
		with.register(fmt.Sprint("f", i))
	}
	ratio := idleRatio(without, with)
	t.Logf("an idle call with 100 registrations takes %.2f times as long", ratio)
	if ratio > 2.5 {
		t.Errorf("100 registrations make an idle call %.2f times as long", ratio)
	}
}

// idleRatio is that of the medians.
func idleRatio(without, with *server) float64 {
	var base, loaded []time.Duration
	for range idleRounds {
		base = append(base, without.timed())
		loaded = append(loaded, with.timed())
	}
	slices.Sort(base)
	slices.Sort(loaded)
	return float64(loaded[idleRounds/2]) / float64(base[idleRounds/2])
}

// timed makes an idle call, and returns what it took of a processor.
func (s *server) timed() time.Duration {
	before := s.processorTime()
	s.succeed("1 + 1")
	return s.processorTime() - before
}

// processorTime is what all threads of the process have used so far.
func (s *server) processorTime() time.Duration {
	s.t.Helper()
	const scheduled = 2 // CPUCLOCK_SCHED, of the clock of another process
	var used unix.Timespec
	if err := unix.ClockGettime(int32(^s.command.Process.Pid)<<3|scheduled, &used); err != nil {
		s.t.Fatal(err)
	}
	return time.Duration(used.Nano())
}
