package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"ipython-mcp/internal/cpython"
)

// temporaryRoots are tried in order; the first is TMPDIR, or /tmp. A path that is not in UTF-8 could not cross to Python.
func temporaryRoots() []string {
	return slices.DeleteFunc([]string{os.TempDir(), "/tmp", "/var/tmp"}, func(root string) bool { return !utf8.ValidString(root) })
}

// scratch is the private directory of this server: spooled output, and what IPython wants to write. It is made when CPython is up,
// because a CPython that cannot initialize ends the process itself, and would leave it behind.
type scratch struct {
	path string

	mu      sync.Mutex
	removed bool // for good: the process ends
}

// make makes the directory.
func (s *scratch) make() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.removed {
		return errors.New("the server is ending")
	}
	return os.Mkdir(s.path, 0o700)
}

// remove removes it, or keeps it from being made.
func (s *scratch) remove() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removed = true
	err := os.RemoveAll(s.path)
	if errors.Is(err, unix.EMFILE) { // user code has opened as many files as it may
		cpython.CloseOthers()
		err = os.RemoveAll(s.path)
	}
	return err
}

// chooseScratch finds a path for the private directory.
func chooseScratch() (string, error) {
	var first error
	for _, root := range temporaryRoots() {
		directory, err := os.MkdirTemp(root, "ipython-mcp-")
		if err == nil {
			return directory, os.Remove(directory)
		}
		if first == nil {
			first = err
		}
	}
	return "", fmt.Errorf("cannot create a temporary directory: %v; set TMPDIR to a writable directory", first)
}
