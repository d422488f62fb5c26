package archive

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// Verify looks whether dir holds every entry of m with the right kind and size, and says what is wrong
// with the first that it finds wrong. Contents are not read: this runs at every start. Files that m does
// not name do not matter (byte code of other interpreters). An absent dir is [fs.ErrNotExist].
func (m Manifest) Verify(dir string) error {
	if _, err := os.Lstat(dir); err != nil {
		return err
	}
	root, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	defer unix.Close(root)

	parts := min(runtime.GOMAXPROCS(0), 4)
	errs := make([]error, parts)
	var wait sync.WaitGroup
	for i := range parts {
		part := m.Entries[len(m.Entries)*i/parts : len(m.Entries)*(i+1)/parts]
		wait.Go(func() { errs[i] = verifyEntries(root, dir, part) })
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func verifyEntries(root int, dir string, entries []Entry) error {
	for _, e := range entries {
		var st unix.Stat_t
		if err := unix.Fstatat(root, e.Name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return fmt.Errorf("archive: %q: %v", filepath.Join(dir, e.Name), err)
		}
		if !matches(e, st) {
			return fmt.Errorf("archive: %q is not what was extracted (%d bytes, mode %#o)",
				filepath.Join(dir, e.Name), st.Size, st.Mode)
		}
	}
	return nil
}

func matches(e Entry, st unix.Stat_t) bool {
	kind := st.Mode & unix.S_IFMT
	switch e.Kind {
	case Directory:
		return kind == unix.S_IFDIR
	case Link:
		return kind == unix.S_IFLNK && st.Size == e.Size
	case Executable:
		return kind == unix.S_IFREG && st.Size == e.Size && st.Mode&unix.S_IXUSR != 0
	default:
		return kind == unix.S_IFREG && st.Size == e.Size
	}
}
