package main

import (
	"strings"
	"testing"

	"ipython-mcp/envprov"
)

func TestStartProgress_TellsPhaseLineAndEnd(t *testing.T) {
	s := newStartProgress()
	steps := []struct {
		news       func()
		begin, end string
		over       bool
	}{
		{func() {}, "starting: interpreter, ", " s", false},
		{func() { s.report(envprov.Progress{Phase: "provisioning", Line: "one"}) }, "starting: provisioning, ", "s: one", false},
		{func() { s.report(envprov.Progress{Phase: "provisioning"}) }, "starting: provisioning, ", "s: one", false},
		{func() { s.report(envprov.Progress{Phase: "preload"}) }, "starting: preload, ", " s", false},
		{s.finish, "starting: preload, ", " s", true},
	}
	for i, step := range steps {
		step.news()
		text, over := s.Now()
		if !strings.HasPrefix(text, step.begin) || !strings.HasSuffix(text, step.end) || over != step.over {
			t.Errorf("step %d: %q, over %v", i, text, over)
		}
	}
}
