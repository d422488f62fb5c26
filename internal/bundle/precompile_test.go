package bundle

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fakePython is a program that notes how it was called in the file `log` beside it, and then does what the
// shell script body says.
func fakePython(t *testing.T, body string) (python, log string) {
	t.Helper()
	dir := t.TempDir()
	python, log = filepath.Join(dir, "python"), filepath.Join(dir, "log")
	script := fmt.Sprintf("#!/bin/sh\necho \"$@\" >>%[1]s\nenv | grep ^PYTHON >>%[1]s\n%[2]s\n", log, body)
	if err := os.WriteFile(python, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return python, log
}

func calls(t *testing.T, log string) []string {
	t.Helper()
	b, err := os.ReadFile(log)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.FieldsFunc(string(b), func(r rune) bool { return r == '\n' })
}

func TestCache_Precompile(t *testing.T) {
	t.Setenv("PYTHONDONTWRITEBYTECODE", "1")
	t.Setenv("PYTHONHOME", "/nonexistent")
	dir := t.TempDir()
	c := openTest(t, dir)
	tree := mustSite(t, c)
	python, log := fakePython(t, "exit 0")
	for range 2 {
		if err := c.Precompile(t.Context(), python, "cpython-311", tree.Dir); err != nil {
			t.Fatal(err)
		}
	}
	want := "-I -m compileall -q -j 0 --invalidation-mode unchecked-hash " + tree.Dir
	if got := calls(t, log); len(got) != 1 || got[0] != want {
		t.Errorf("called with %q, want once with %q", got, want)
	}
	if err := c.Precompile(t.Context(), python, "cpython-312", tree.Dir); err != nil {
		t.Fatal(err)
	}
	if got := calls(t, log); len(got) != 2 {
		t.Errorf("another tag gave %d calls in all, want 2", len(got))
	}
	checkWhole(t, dir, tree.Dir)
}

// What was compiled is gone with a damaged tree, and so is the mark.
func TestCache_Precompile_afterRepair(t *testing.T) {
	c := openTest(t, t.TempDir())
	tree := mustSite(t, c)
	python, log := fakePython(t, "exit 0")
	if err := c.Precompile(t.Context(), python, "cpython-311", tree.Dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(tree.Path("big")); err != nil {
		t.Fatal(err)
	}
	mustSite(t, c)
	if err := c.Precompile(t.Context(), python, "cpython-311", tree.Dir); err != nil {
		t.Fatal(err)
	}
	if got := calls(t, log); len(got) != 2 {
		t.Errorf("compiled %d times, want 2", len(got))
	}
}

// Where nothing can be written, nothing is compiled and nothing is wrong.
func TestCache_Precompile_readOnly(t *testing.T) {
	for name, cacheMode := range map[string]os.FileMode{"cache and tree": 0o555, "tree": 0o777} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			tree := mustSite(t, openTest(t, dir))
			readOnly(t, dir)
			if err := errors.Join(os.Chmod(tree.Dir, 0o555), os.Chmod(dir, cacheMode)); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.Chmod(tree.Dir, 0o755) })
			p := start(t, roleCompile, dir, asNobody)
			p.release()
			if lines, err := p.finish(); err != nil || lines[0] != tree.Dir {
				t.Errorf("child said %q, %v", lines, err)
			}
		})
	}
}

func TestCache_Precompile_fails(t *testing.T) {
	dir := t.TempDir()
	c := openTest(t, dir)
	tree := mustSite(t, c)
	broken, _ := fakePython(t, "echo '*** Error compiling x'; echo more; exit 1")
	for _, tc := range []struct{ python, tag, dir, want string }{
		{broken, "cpython-311", tree.Dir, "*** Error compiling x"},
		{"/nonexistent/python", "cpython-311", tree.Dir, "/nonexistent/python"},
		{broken, "../x", tree.Dir, "no cache tag"},
		{broken, "", tree.Dir, "no cache tag"},
		{broken, "cpython-311", "/etc", "not a tree of the cache"},
		{broken, "cpython-311", dir, "not a tree of the cache"},
	} {
		err := c.Precompile(t.Context(), tc.python, tc.tag, tc.dir)
		if err == nil {
			t.Errorf("Precompile(%q, %q, %q) succeeded", tc.python, tc.tag, tc.dir)
			continue
		}
		oneLine(t, err.Error(), tc.want)
	}
	if marks, err := filepath.Glob(tree.Path(compiledMark + "*")); err != nil || len(marks) > 0 {
		t.Errorf("failed compilations left the marks %q (%v)", marks, err)
	}
	checkWhole(t, dir, tree.Dir)
}

// A stopped compilation takes the compiler's children with it.
func TestCache_Precompile_cancelled(t *testing.T) {
	dir := t.TempDir()
	c := openTest(t, dir)
	tree := mustSite(t, c)
	fifo := filepath.Join(t.TempDir(), "alive")
	python, _ := fakePython(t, "sh -c 'exec 8>"+fifo+"; sleep 100' & wait")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Precompile(ctx, python, "cpython-311", tree.Dir) }()
	alive, err := os.Open(fifo) // waits until the child has opened it
	if err != nil {
		t.Fatal(err)
	}
	defer alive.Close()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	if err := alive.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if n, err := alive.Read(make([]byte, 1)); n != 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the compiler's child lives on (%v)", err)
	}
	checkWhole(t, dir, tree.Dir)
}
