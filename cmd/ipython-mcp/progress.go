package main

import (
	"fmt"
	"sync"
	"time"

	"ipython-mcp/envprov"
)

// startProgress is how far a start is, for calls that wait for it. Any goroutine may use it.
type startProgress struct {
	mu    sync.Mutex
	phase string
	line  string    // the last one of the phase
	begun time.Time // the phase
	over  bool
}

func newStartProgress() *startProgress {
	return &startProgress{phase: phaseInterpreter, begun: time.Now()}
}

// report takes news.
func (s *startProgress) report(p envprov.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.Phase != s.phase {
		s.phase, s.line, s.begun = p.Phase, "", time.Now()
	}
	if p.Line != "" {
		s.line = p.Line
	}
}

// finish says that nothing is left to wait for.
func (s *startProgress) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
}

// Now says what is being done, and for how long.
func (s *startProgress) Now() (text string, over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text = fmt.Sprintf("starting: %s, %d s", s.phase, int(time.Since(s.begun).Seconds()))
	if s.line != "" {
		text += ": " + s.line
	}
	return text, s.over
}
