package envprov

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// pipeGrace is how long processes that left uv's group may keep its output open once uv has ended.
	pipeGrace = time.Second

	maxLineBytes  = 64 << 10 // of one line of output; the rest of it is dropped
	maxLineChars  = 2000     // of one line that is kept
	maxLinesKept  = 60       // of output, the last ones
	maxHeard      = 10       // of the lines that arrive at once, the last ones
	maxKeptBytes  = 6000     // of output that is returned, so that its end is not cut off by a limit further up
	longestSecret = 8 << 10  // bytes: the end of a line that was dropped is not shown; it may be half a secret
)

// errTimeLimit is the cause with which a program's context ends at its time limit.
var errTimeLimit = errors.New("time limit")

// program is a child process with a time limit, in a process group of its own.
type program struct {
	path    string
	args    []string
	environ []string
	dir     string
	stdin   string
	limit   time.Duration
	redact  func(string) string
	line    func(string) // hears of lines of output, redacted; of a flood, of some; may be nil
}

// run waits for the program, whose two streams are one. It returns the last lines, redacted. At the time limit the
// error is errTimeLimit, and the whole process group has been killed, as when ctx ends.
func (p program) run(ctx context.Context) (output string, err error) {
	limited, cancel := context.WithTimeoutCause(ctx, p.limit, errTimeLimit)
	defer cancel()
	command := exec.CommandContext(limited, p.path, p.args...)
	command.Env = p.environ
	command.Dir = p.dir
	command.Stdin = strings.NewReader(p.stdin)
	kept := &lines{redact: p.redact, heard: p.line}
	command.Stdout, command.Stderr = kept, kept // one writer: Cmd serializes the writes
	command.SysProcAttr = ownGroup()
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.WaitDelay = pipeGrace
	if err = startUnblocked(command); err == nil {
		err = command.Wait()
	}
	output = kept.end()
	switch {
	case ctx.Err() != nil:
		return output, context.Cause(ctx)
	case limited.Err() != nil && err != nil:
		return output, errTimeLimit
	case errors.Is(err, exec.ErrWaitDelay):
		return output, nil // it succeeded; something that it started holds its output
	}
	return output, err
}

// lines keeps the last lines of what is written to it. Each is redacted as a whole, but only where somebody sees it, so
// that a program that floods its output is not slowed down.
type lines struct {
	redact func(string) string
	heard  func(string)

	mu      sync.Mutex
	partial []byte
	dropped bool     // bytes of the partial line
	kept    []string // as written
	fresh   int      // of the kept lines, those that were not heard
	omitted int
}

func (l *lines) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for rest := data; len(rest) > 0; {
		// A carriage return begins a line that replaces the one before it on a terminal.
		at := bytes.IndexAny(rest, "\r\n")
		part := rest
		if at >= 0 {
			part = rest[:at]
		}
		room := maxLineBytes - len(l.partial)
		l.dropped = l.dropped || len(part) > room
		l.partial = append(l.partial, part[:min(room, len(part))]...)
		if at < 0 {
			break
		}
		l.finishLine()
		rest = rest[at+1:]
	}
	l.hear()
	return len(data), nil
}

func (l *lines) finishLine() {
	text := l.partial
	if l.dropped {
		text = text[:maxLineBytes-longestSecret]
	}
	line := strings.ToValidUTF8(string(text), "�")
	l.partial, l.dropped = l.partial[:0], false
	if strings.TrimSpace(line) == "" {
		return
	}
	if len(l.kept) == maxLinesKept {
		l.kept = l.kept[1:]
		l.omitted++
	}
	l.kept = append(l.kept, line)
	l.fresh++
}

// hear passes on the newest lines.
func (l *lines) hear() {
	if l.heard != nil {
		for _, line := range l.kept[len(l.kept)-min(l.fresh, maxHeard, len(l.kept)):] {
			if shown := l.shown(line); shown != "" {
				l.heard(strings.TrimSpace(shown))
			}
		}
	}
	l.fresh = 0
}

// shown is a line as people may see it.
func (l *lines) shown(line string) string {
	line = strings.TrimRight(plainText(l.redact(plainText(line))), " ")
	if runes := []rune(line); len(runes) > maxLineChars {
		line = string(runes[:maxLineChars-1]) + "…"
	}
	return line
}

// end is the text that was kept.
func (l *lines) end() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.partial) > 0 {
		l.finishLine()
		l.hear()
	}
	var shown []string
	size := 0
	for i, line := range slices.Backward(l.kept) {
		line = l.shown(line)
		if size += len(line) + 1; size > maxKeptBytes && len(shown) > 0 {
			l.omitted += i + 1
			break
		}
		if line != "" {
			shown = append(shown, line)
		}
	}
	slices.Reverse(shown)
	text := strings.Join(shown, "\n")
	if l.omitted > 0 {
		text = fmt.Sprintf("… %d lines omitted …\n%s", l.omitted, text)
	}
	return text
}

// plainText drops control characters: uv is asked for none, but the programs that it runs may use them.
func plainText(text string) string {
	text = escapeSequence.ReplaceAllString(text, "")
	return strings.Map(func(r rune) rune {
		if r == '\t' || r >= ' ' && r != 0x7f && (r < 0x80 || r > 0x9f) {
			return r
		}
		return -1
	}, text)
}
