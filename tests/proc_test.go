package tests

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// process is what /proc tells about a process that is not a zombie.
type process struct {
	pid     int
	command string
}

// descendants lists the running processes that have the server's TMPDIR in their environment, without the server.
func (s *server) descendants() []process {
	var found []process
	mark := []byte("\x00TMPDIR=" + s.tmp + "\x00")
	paths, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range paths {
		environment, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(delimited(environment), mark) {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if pid != s.command.Process.Pid && alive(pid) {
			command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			found = append(found, process{pid, string(bytes.ReplaceAll(command, []byte{0}, []byte{' '}))})
		}
	}
	return found
}

// delimited puts a NUL on both sides, so that the first and the last variable are delimited as well.
func delimited(environment []byte) []byte {
	return append(append([]byte{0}, environment...), 0)
}

// alive reports whether a process runs; a zombie does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	state := strings.TrimSpace(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	return !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X")
}

// resident is a process's resident memory in bytes.
func resident(t *testing.T, pid int) int {
	t.Helper()
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(statm))[1])
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

// eventually waits for a condition that another process brings about.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for limit := time.Now().Add(patience); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

// touch makes an empty file.
func touch(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
}
