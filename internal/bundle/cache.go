package bundle

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"

	"ipython-mcp/internal/bundle/archive"
)

// Names of the bundled trees, as their archives and their directories are called.
const (
	cpythonName = "cpython"
	siteName    = "site"
)

// treeName is what a tree may be called: it becomes the beginning of file names.
var treeName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// Cache is a directory of extracted trees. OpenCache makes one.
type Cache struct {
	Dir string // absolute, exists

	cpython, site source
}

// Tree is an extracted, verified tree.
type Tree struct {
	Dir string // absolute
}

// Path is the path of a slash-separated name inside the tree.
func (t Tree) Path(name string) string { return filepath.Join(t.Dir, filepath.FromSlash(name)) }

// CPython makes sure that the bundled CPython is extracted. [Interpreter] and [Library] are in it.
func (c *Cache) CPython(ctx context.Context) (Tree, error) {
	return c.tree(ctx, cpythonName, c.cpython)
}

// Site makes sure that the directory of IPython and what it needs is extracted. It belongs on sys.path.
func (c *Cache) Site(ctx context.Context) (Tree, error) { return c.tree(ctx, siteName, c.site) }

// Files makes sure that fsys is extracted, as a tree of the given name (lower-case letters, digits and
// underscores). For a go:embed file system, fs.Sub first strips the directories above it.
func (c *Cache) Files(ctx context.Context, name string, fsys fs.FS) (Tree, error) {
	if !treeName.MatchString(name) || name == cpythonName || name == siteName {
		return Tree{}, fmt.Errorf("bundle: %q cannot name a tree of files", name)
	}
	return c.tree(ctx, name, archive.Files{FS: fsys})
}
