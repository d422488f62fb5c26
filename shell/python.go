package shell

import (
	"embed"
	"io/fs"
)

// The globs are explicit: embedding the directory by name would drop __init__.py, and "all:" would ship byte code.
//
//go:embed python/ipymcp/*.py
var pythonFiles embed.FS

// PythonFiles is the Python half of this package, as a tree with the package ipymcp at its root: what the interpreter needs on its path.
func PythonFiles() fs.FS {
	root, err := fs.Sub(pythonFiles, "python")
	if err != nil {
		panic(err) // only for an invalid path, and this one is constant
	}
	return root
}
