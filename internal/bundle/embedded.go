package bundle

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"

	"ipython-mcp/internal/bundle/archive"
)

// What is inside the bundled CPython's tree.
const (
	Interpreter = "bin/python3.14"           // the program
	Library     = "lib/libpython3.14.so.1.0" // what the process loads
	CacheTag    = "cpython-314"              // sys.implementation.cache_tag
	Version     = "3.14"                     // major.minor
)

// ErrNoArchives is what CPython and Site return (wrapped) where the binary was built without the archives.
var ErrNoArchives = errors.New("this binary carries no Python: build it with `make build`")

// data is what mkbundle wrote, if it ran before this build. Without the all: prefix, a file that it was
// writing when it was killed stays out.
//
//go:embed data
var data embed.FS

// source is a tree to extract. Packed archives and file systems are.
type source interface {
	Manifest() (archive.Manifest, error)
	Extract(ctx context.Context, dir string) error
}

// embedded is the archive of the given name for this platform.
func embedded(name string) source {
	file := fmt.Sprintf("data/%s-%s-%s.tar.zst", name, runtime.GOOS, runtime.GOARCH)
	return archive.Packed{Open: func() (io.ReadCloser, error) {
		f, err := data.Open(file)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%w (%s is missing)", ErrNoArchives, file)
		}
		return f, err
	}}
}
