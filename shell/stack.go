package shell

import (
	"slices"
	"strings"

	"ipython-mcp/internal/bounds"
)

// machinery marks the frames of a stack that are not the user's.
var machinery = []string{"/ipymcp/", "/IPython/"}

// readStack returns the user's part of the Python stack of the main thread, the innermost call last, nil where it cannot be read.
func (s *Shell) readStack() *string {
	if s.stack == nil {
		return nil
	}
	frames := userFrames(s.stack())
	if len(frames) == 0 {
		return nil
	}
	text := "Stack (most recent call last):\n" + strings.Join(frames, "\n")
	text, _ = bounds.CutMiddle(text, s.limits.TracebackChars, "")
	return &text
}

// userFrames takes what faulthandler writes, a title and the frames with the innermost first, apart.
func userFrames(text string) []string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	frames := lines[1:]
	// The outermost is the command that runs the server, unless the stack is too deep to be written in full.
	if n := len(frames); n > 0 && strings.Contains(frames[n-1], `"<string>"`) {
		frames = frames[:n-1]
	}
	frames = slices.DeleteFunc(slices.Clone(frames), func(frame string) bool {
		return slices.ContainsFunc(machinery, func(part string) bool { return strings.Contains(frame, part) })
	})
	slices.Reverse(frames)
	return frames
}
