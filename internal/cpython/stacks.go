package cpython

import (
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// StackSignal is the signal at which Python's faulthandler writes the stack of the main thread, which needs no GIL. It is a
// real-time signal that neither C libraries nor Go's runtime use.
const StackSignal = 61

const (
	// stackLimit is how long the answer to StackSignal may take: the kernel may keep the thread.
	stackLimit = 500 * time.Millisecond
	// stackPause without another frame means that the stack is complete: faulthandler writes it in one go.
	stackPause = 30 * time.Millisecond
	// drainLimit is how long it takes to see that the pipe is empty.
	drainLimit = time.Millisecond
	// stackBytes is more than the hundred frames that faulthandler writes at most take.
	stackBytes = 64 << 10
)

// Stacks reads the Python stack of the interpreter's main thread. Its methods may be called from any goroutine.
type Stacks struct {
	python int // the interpreter's descriptor; close-on-exec, does not block

	mu   sync.Mutex // one at a time
	read *os.File
}

// NewStacks makes the pipe through which stacks come.
func NewStacks() (*Stacks, error) {
	var pair [2]int
	if err := unix.Pipe2(pair[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return nil, fmt.Errorf("cannot make the pipe for Python's stack: %v", err)
	}
	return &Stacks{python: pair[1], read: os.NewFile(uintptr(pair[0]), "python-stack")}, nil
}

// PythonFD is the descriptor number that faulthandler is to write to.
func (s *Stacks) PythonFD() int { return s.python }

// Read returns the stack as faulthandler writes it, the innermost call first; empty where the interpreter does not answer in time, or
// user code has taken the signal's handler away. A system call that Python's thread is in may be interrupted.
func (s *Stacks) Read() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readFor(drainLimit, drainLimit) // the answer to an earlier question, where it came too late
	if !ask(StackSignal) {
		return ""
	}
	return s.readFor(stackLimit, stackPause)
}

// readFor reads what comes within the limit, until a pause.
func (s *Stacks) readFor(limit, pause time.Duration) string {
	text := make([]byte, 0, stackBytes)
	deadline := time.Now().Add(limit)
	for next := deadline; len(text) < cap(text); {
		if err := s.read.SetReadDeadline(next); err != nil {
			break
		}
		n, err := s.read.Read(text[len(text):cap(text)])
		if err != nil {
			break // the pause or the limit is over
		}
		text = text[:len(text)+n]
		if next = time.Now().Add(pause); next.After(deadline) {
			next = deadline
		}
	}
	return string(text)
}
