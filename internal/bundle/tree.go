package bundle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"ipython-mcp/internal/bundle/archive"
	"ipython-mcp/internal/filelock"
)

// Endings of what stands beside a tree while it is worked on, each before a random number; and of its lock.
const (
	tmpMark    = ".tmp-" // being extracted
	oldMark    = ".old-" // damaged, being deleted
	lockSuffix = ".lock"
)

// tree returns the whole, verified tree of a source, extracting it where it is missing or damaged.
func (c *Cache) tree(ctx context.Context, name string, src source) (Tree, error) {
	m, err := src.Manifest()
	if err != nil {
		return Tree{}, fmt.Errorf("bundle: %s: %w", name, err)
	}
	t := Tree{Dir: filepath.Join(c.Dir, name+"-"+m.Key())}
	damage := m.Verify(t.Dir)
	if damage == nil {
		return t, nil
	}
	if err := c.install(ctx, src, m, t.Dir); err != nil {
		return Tree{}, c.explain(name, damage, err)
	}
	return t, nil
}

// install extracts under the tree's lock, unless another process did while this one waited for it.
func (c *Cache) install(ctx context.Context, src source, m archive.Manifest, dir string) error {
	unlock, err := filelock.Lock(ctx, dir+lockSuffix)
	if err != nil {
		return err
	}
	defer unlock()
	if m.Verify(dir) == nil {
		return nil
	}
	tmp, err := os.MkdirTemp(c.Dir, filepath.Base(dir)+tmpMark)
	if err != nil {
		return err
	}
	err = fill(ctx, src, m, tmp)
	if err == nil {
		err = swap(tmp, dir)
	}
	if err != nil {
		_ = os.RemoveAll(tmp) // what stays is a leftover, which later starts try again
	}
	return err
}

// fill extracts into tmp and looks at the result before anybody else can.
func fill(ctx context.Context, src source, m archive.Manifest, tmp string) error {
	// As all directories in it: who may come here is up to the cache directory.
	if err := os.Chmod(tmp, 0o755); err != nil {
		return err
	}
	if err := src.Extract(ctx, tmp); err != nil {
		return err
	}
	return m.Verify(tmp)
}

// swap puts tmp at dir. What was there, a damaged tree or something else, is deleted; the caller holds the
// lock.
func swap(tmp, dir string) error {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return os.Rename(tmp, dir)
	}
	aside, err := os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+oldMark)
	if err != nil {
		return err
	}
	if err := os.Rename(dir, filepath.Join(aside, "tree")); err != nil {
		_ = os.Remove(aside)
		return err
	}
	if err := os.Rename(tmp, dir); err != nil {
		return err
	}
	_ = os.RemoveAll(aside) // a leftover, too, where it stays: the new tree is in place
	return nil
}

// explain says in one line what could not be done, why, and what to do about it.
func (c *Cache) explain(name string, damage, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("bundle: extracting %s into %q was stopped: %w", name, c.Dir, err)
	}
	what := "cannot be extracted"
	if !errors.Is(damage, fs.ErrNotExist) {
		what = fmt.Sprintf("is damaged (%v) and cannot be repaired", damage)
	}
	out := fmt.Sprintf("make the directory writable, or set %s to one that is", CacheDirVariable)
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG):
		out = fmt.Sprintf("free some space there, or set %s to a directory that has more", CacheDirVariable)
	}
	return fmt.Errorf("bundle: %s %s in %q: %w; %s", name, what, c.Dir, err, out)
}
