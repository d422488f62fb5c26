package bundle

import (
	"os"
	"path/filepath"
	"strings"

	"ipython-mcp/internal/filelock"
)

// sweep removes what killed processes left in the cache: half extracted trees, damaged ones set aside,
// lock files. What belongs to a tree that is locked is in use and stays. It cannot fail: what stays now
// costs space, and the next start tries again.
func sweep(dir string) {
	names := map[string][]string{} // by the tree they belong to
	list, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, d := range list {
		if tree, ok := leftover(d.Name()); ok {
			names[tree] = append(names[tree], d.Name())
		}
	}
	for tree, leftovers := range names {
		sweepTree(dir, tree, leftovers)
	}
}

// sweepTree runs under the tree's lock, so that nothing of a running extraction goes: an extraction that
// began after the listing is locked or is not in the list.
func sweepTree(dir, tree string, leftovers []string) {
	unlock, ok := filelock.Try(filepath.Join(dir, tree+lockSuffix))
	if !ok {
		return
	}
	defer unlock()
	for _, name := range leftovers {
		if !strings.HasSuffix(name, lockSuffix) { // the lock file goes with the lock
			_ = os.RemoveAll(filepath.Join(dir, name))
		}
	}
}

// leftover says which tree a name in the cache is a leftover of.
func leftover(name string) (tree string, ok bool) {
	for _, mark := range []string{tmpMark, oldMark} {
		if tree, _, ok := strings.Cut(name, mark); ok {
			return tree, true
		}
	}
	return strings.CutSuffix(name, lockSuffix)
}
