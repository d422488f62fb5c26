package tests

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// idleRounds is how many calls the measurement makes of each server before it compares.
const idleRounds = 300

// What a hundred registrations cost an operation that has nothing to do with them. Both servers take turns, so that the
// machine's moods hit them alike; the limit is the contract's 20 % and as much again for a busy machine.
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
	if ratio > 1.4 {
		t.Errorf("100 registrations make an idle call %.2f times as long", ratio)
	}
}

// idleRatio is that of the medians.
func idleRatio(without, with *server) float64 {
	var base, loaded []time.Duration
	for range idleRounds {
		base = append(base, timed(without))
		loaded = append(loaded, timed(with))
	}
	slices.Sort(base)
	slices.Sort(loaded)
	return float64(loaded[idleRounds/2]) / float64(base[idleRounds/2])
}

func timed(s *server) time.Duration {
	begun := time.Now()
	s.succeed("1 + 1")
	return time.Since(begun)
}
