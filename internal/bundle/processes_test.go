package bundle

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Eight processes that start at once on an empty cache all end with the same whole tree; one of them
// extracts it.
func TestProcesses_concurrent(t *testing.T) {
	dir := t.TempDir()
	var children []*process
	for range 8 {
		children = append(children, start(t, roleExtract, dir))
	}
	for _, p := range children {
		p.release()
	}
	extracted := 0
	var tree string
	for _, p := range children {
		lines, err := p.finish()
		if err != nil {
			t.Fatalf("%v: %q", err, lines)
		}
		if lines[0] == lineExtracting {
			extracted++
		}
		last := lines[len(lines)-1]
		if tree != "" && last != tree {
			t.Errorf("one process got %q, another %q", tree, last)
		}
		tree = last
	}
	if extracted != 1 {
		t.Errorf("%d processes extracted, want 1", extracted)
	}
	checkWhole(t, dir, tree)
}

// A process killed at any moment of an extraction or a repair leaves a whole tree or none under the tree's
// name, and what it leaves beside it the next start removes.
func TestProcesses_killed(t *testing.T) {
	const rounds = 24
	dir := t.TempDir()
	began := time.Now()
	tree := mustSite(t, openTest(t, dir))
	length := time.Since(began)
	m, err := testSource().Manifest()
	if err != nil {
		t.Fatal(err)
	}
	interrupted := 0
	for round := range rounds {
		damageFor(t, round, tree)
		p := start(t, roleExtract, dir)
		p.release()
		p.expect(lineExtracting)
		<-time.After(rand.N(length * 3 / 2))
		p.kill()
		if len(names(t, dir)) > 1 {
			interrupted++
		}
		if m.Verify(tree.Dir) != nil && round%2 == 0 && exists(tree.Dir) {
			t.Fatalf("round %d: half a tree is at %q", round, tree.Dir)
		}
		if again := mustSite(t, openTest(t, dir)); again != tree {
			t.Fatalf("round %d: tree is at %q", round, again.Dir)
		}
		checkWhole(t, dir, tree.Dir)
	}
	t.Logf("%d of %d rounds left something to remove", interrupted, rounds)
}

// damageFor removes the tree in even rounds, so that the child extracts, and damages it in odd ones, so
// that it repairs.
func damageFor(t *testing.T, round int, tree Tree) {
	t.Helper()
	err := os.Remove(tree.Path("big"))
	if round%2 == 0 {
		err = os.RemoveAll(tree.Dir)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// The next start removes what a killed one left, also where it needs none of it itself; what is in use by
// another process it leaves.
func TestProcesses_sweep(t *testing.T) {
	dir := t.TempDir()
	p := start(t, roleStop, dir)
	p.release()
	p.expect(lineExtracting)
	p.expect(lineStopped)

	inUse := names(t, dir)
	for _, name := range []string{"cpython-0123.tmp-77", "cpython-0123.old-78", "shell-0123.old-1"} {
		if err := os.MkdirAll(filepath.Join(dir, name, "deep/er"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"cpython-0123.lock", "shell-4567.lock"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	openTest(t, dir)
	if got := names(t, dir); strings.Join(got, " ") != strings.Join(inUse, " ") {
		t.Errorf("after a start beside a running extraction the cache holds %q, want %q", got, inUse)
	}
	p.kill()
	openTest(t, dir)
	if got := names(t, dir); len(got) > 0 {
		t.Errorf("after the next start the cache holds %q", got)
	}
}
