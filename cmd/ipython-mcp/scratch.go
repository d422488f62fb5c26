package main

import (
	"fmt"
	"os"
	"slices"
	"unicode/utf8"
)

// temporaryRoots are tried in order; the first is TMPDIR, or /tmp. A path that is not in UTF-8 could not cross to Python.
func temporaryRoots() []string {
	return slices.DeleteFunc([]string{os.TempDir(), "/tmp", "/var/tmp"}, func(root string) bool { return !utf8.ValidString(root) })
}

// chooseScratch finds a path for the private directory of this server: spooled output, and what IPython wants to write. It is made when
// CPython is up, because a CPython that cannot initialize ends the process itself, and would leave it behind.
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
