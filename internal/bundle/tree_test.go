package bundle

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

func TestCache_tree(t *testing.T) {
	dir := t.TempDir()
	tree := mustSite(t, openTest(t, dir))
	checkWhole(t, dir, tree.Dir)
	if want := filepath.Join(dir, "site-"); !strings.HasPrefix(tree.Dir, want) || len(tree.Dir) != len(want)+16 {
		t.Errorf("tree is at %q", tree.Dir)
	}
	if got := tree.Path("bin/run"); got != tree.Dir+"/bin/run" {
		t.Errorf("Path = %q", got)
	}
	before := inode(t, tree.Path("big"))
	if again := mustSite(t, openTest(t, dir)); again != tree || !os.SameFile(inode(t, tree.Path("big")), before) {
		t.Error("a whole tree was extracted again")
	}
}

func inode(t *testing.T, path string) os.FileInfo {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func TestCache_Files(t *testing.T) {
	c := openTest(t, t.TempDir())
	first, err := c.Files(t.Context(), "shell", fstest.MapFS{"pkg/__init__.py": {Data: []byte("a = 1")}})
	if err != nil {
		t.Fatal(err)
	}
	second, err := c.Files(t.Context(), "shell", fstest.MapFS{"pkg/__init__.py": {Data: []byte("a = 2")}})
	if err != nil {
		t.Fatal(err)
	}
	if first == second {
		t.Error("another content has the same tree")
	}
	if b, err := os.ReadFile(second.Path("pkg/__init__.py")); string(b) != "a = 2" {
		t.Errorf("file holds %q (%v)", b, err)
	}
	for _, name := range []string{"", "cpython", "site", "../x", "a/b", "A", "a-b", ".a", "a.lock"} {
		if _, err := c.Files(t.Context(), name, fstest.MapFS{}); err == nil {
			t.Errorf("Files accepts the name %q", name)
		}
	}
}

func TestCache_repairs(t *testing.T) {
	for _, tc := range []struct {
		name   string
		damage func(t Tree) error
	}{
		{"file deleted", func(t Tree) error { return os.Remove(t.Path("bin/run")) }},
		{"file truncated", func(t Tree) error { return os.Truncate(t.Path("big"), 10) }},
		{"file replaced by directory", func(t Tree) error {
			return errors.Join(os.Remove(t.Path("big")), os.MkdirAll(t.Path("big/sub"), 0o700))
		}},
		{"file replaced by link to its like", func(t Tree) error {
			return errors.Join(os.Rename(t.Path("big"), t.Path("moved")), os.Symlink("moved", t.Path("big")))
		}},
		{"directory deleted", func(t Tree) error { return os.RemoveAll(t.Path("pkg3")) }},
		{"executable bit lost", func(t Tree) error { return os.Chmod(t.Path("bin/run"), 0o600) }},
		{"all deleted but the directory", func(t Tree) error {
			return errors.Join(os.RemoveAll(t.Dir), os.Mkdir(t.Dir, 0o700))
		}},
		{"replaced by a file", func(t Tree) error {
			return errors.Join(os.RemoveAll(t.Dir), os.WriteFile(t.Dir, nil, 0o600))
		}},
		{"replaced by a dangling link", func(t Tree) error {
			return errors.Join(os.RemoveAll(t.Dir), os.Symlink("/nonexistent", t.Dir))
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			tree := mustSite(t, openTest(t, dir))
			if err := tc.damage(tree); err != nil {
				t.Fatal(err)
			}
			if again := mustSite(t, openTest(t, dir)); again != tree {
				t.Errorf("repaired tree is at %q, was at %q", again.Dir, tree.Dir)
			}
			checkWhole(t, dir, tree.Dir)
		})
	}
}

// failing is a source that breaks off.
type failing struct {
	source
	err error
}

func (f failing) Extract(ctx context.Context, dir string) error {
	return errors.Join(os.WriteFile(filepath.Join(dir, "half"), nil, 0o600), f.err)
}

// A failed extraction leaves nothing; a failed repair leaves the damaged tree where it is.
func TestCache_failedExtraction(t *testing.T) {
	dir := t.TempDir()
	c := openTest(t, dir)
	c.site = failing{c.site, errors.New("broken")}
	if _, err := c.Site(t.Context()); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("got %v", err)
	}
	if got := names(t, dir); len(got) > 0 {
		t.Errorf("left %q", got)
	}
	c.site = failing{source: testSource()} // no error, but not the tree either
	if _, err := c.Site(t.Context()); err == nil {
		t.Error("a tree that is not what its manifest says was taken")
	}
	if got := names(t, dir); len(got) > 0 {
		t.Errorf("left %q", got)
	}
}

func TestCache_cancelled(t *testing.T) {
	dir := t.TempDir()
	c := openTest(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Site(ctx); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), dir) {
		t.Errorf("got %v", err)
	}
	if got := names(t, dir); len(got) > 0 {
		t.Errorf("left %q", got)
	}
}

// Whoever waits for another process's extraction can be told to stop.
func TestCache_cancelledWait(t *testing.T) {
	dir := t.TempDir()
	p := start(t, roleStop, dir)
	p.release()
	p.expect(lineExtracting)
	p.expect(lineStopped)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := openTest(t, dir).Site(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
	}
	if got := names(t, dir); len(got) != 2 {
		t.Errorf("the running extraction has %q in the cache, want its directory and its lock", got)
	}
	p.kill()
}

func TestCache_noArchives(t *testing.T) {
	c := openTest(t, t.TempDir())
	c.site = embedded("nosuch")
	if _, err := c.Site(t.Context()); !errors.Is(err, ErrNoArchives) || !strings.Contains(err.Error(), "make build") {
		t.Errorf("got %v", err)
	}
}

// oneLine fails unless err is one line that holds all the given parts.
func oneLine(t *testing.T, got string, parts ...string) {
	t.Helper()
	if strings.Contains(strings.TrimSpace(got), "\n") {
		t.Errorf("more than one line: %q", got)
	}
	for _, part := range parts {
		if !strings.Contains(got, part) {
			t.Errorf("%q does not say %q", got, part)
		}
	}
}

func TestCache_fullDisk(t *testing.T) {
	dir := t.TempDir()
	p := start(t, roleSmall, dir)
	p.release()
	p.expect(lineExtracting)
	lines, err := p.finish()
	if err == nil {
		t.Error("extraction succeeded")
	}
	oneLine(t, strings.Join(lines, "\n"),
		"cannot be extracted", dir, "file too large", "free some space", CacheDirVariable)
	if got := names(t, dir); len(got) > 0 {
		t.Errorf("left %q", got)
	}
}

// readOnly makes a cache of another user's that a child may read and not write.
func readOnly(t *testing.T, dir string) {
	t.Helper()
	if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o711), os.Chmod(dir, 0o555)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(dir, 0o755) })
}

func TestCache_readOnly(t *testing.T) {
	t.Run("whole", func(t *testing.T) {
		dir := t.TempDir()
		tree := mustSite(t, openTest(t, dir))
		readOnly(t, dir)
		p := start(t, roleExtract, dir, asNobody)
		p.release()
		if lines, err := p.finish(); err != nil || lines[0] != tree.Dir {
			t.Errorf("child said %q, %v", lines, err)
		}
	})
	t.Run("damaged", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.Truncate(mustSite(t, openTest(t, dir)).Path("big"), 10); err != nil {
			t.Fatal(err)
		}
		readOnly(t, dir)
		p := start(t, roleExtract, dir, asNobody)
		p.release()
		lines, err := p.finish()
		if err == nil {
			t.Error("a damaged tree was taken")
		}
		oneLine(t, strings.Join(lines, "\n"),
			"is damaged", "big", "cannot be repaired", "permission denied", CacheDirVariable)
	})
	t.Run("empty", func(t *testing.T) {
		dir := t.TempDir()
		readOnly(t, dir)
		p := start(t, roleExtract, dir, asNobody)
		p.release()
		lines, err := p.finish()
		if err == nil {
			t.Error("extraction succeeded")
		}
		oneLine(t, strings.Join(lines, "\n"), "cannot be extracted", "permission denied", CacheDirVariable)
	})
}
