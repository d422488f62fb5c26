package server

import (
	"context"
	"fmt"
	"strings"
	"time"

	"ipython-mcp/internal/bounds"
	"ipython-mcp/shell"
)

const (
	// elapsedInterval is how often a call tells of the time that has passed where nothing else is new.
	elapsedInterval = 2 * time.Second
	// maxLineChars bounds what a progress message quotes of the output.
	maxLineChars = 200
)

// reporter tells the client how far a call is, if the client asked for it; else it is nil.
func (s *Server) reporter(ctx context.Context, begun time.Time) func(*shell.Execution, bool) {
	if r := requestFrom(ctx); r == nil || r.call == nil || r.call.progressToken == nil {
		return nil
	}
	var said string
	var saidAt time.Time
	return func(running *shell.Execution, mine bool) {
		text := s.happening(running, mine)
		if text == said && time.Since(saidAt) < elapsedInterval {
			return
		}
		said, saidAt = text, time.Now()
		elapsed := time.Since(begun).Seconds()
		Progress(ctx, elapsed, fmt.Sprintf("%.0f s: %s", elapsed, text))
	}
}

// happening says what a call waits for.
func (s *Server) happening(running *shell.Execution, mine bool) string {
	switch {
	case mine:
		if line := lastLine(running.Output()); line != "" {
			return line
		}
		return "running"
	case running != nil:
		return fmt.Sprintf("waiting for execution %s (%s)", running.ID, running.Tool())
	case s.startup != nil:
		if text, over := s.startup.Now(); !over {
			return text
		}
	}
	return "waiting"
}

// lastLine is the last line that was printed on stdout, else on stderr.
func lastLine(stdout, stderr bounds.Snapshot) string {
	for _, stream := range []bounds.Snapshot{stdout, stderr} {
		text := strings.TrimRight(stream.Head+stream.Tail, " \t\r\n")
		if line := text[strings.LastIndexByte(text, '\n')+1:]; line != "" {
			line, _ = bounds.Cut(line, maxLineChars)
			return line
		}
	}
	return ""
}
