package archive

import (
	"context"
	"io"
	"io/fs"
)

// Files is a tree that is not packed: a file system, such as one of go:embed.
type Files struct {
	FS fs.FS
}

// Manifest scans the file system.
func (f Files) Manifest() (Manifest, error) { return Scan(f.FS) }

// Extract writes the tree into dir, an existing directory. What it wrote before an error is the caller's
// to remove.
func (f Files) Extract(ctx context.Context, dir string) error {
	m, err := Scan(f.FS)
	if err != nil {
		return err
	}
	var open fs.File
	defer func() {
		if open != nil {
			open.Close()
		}
	}()
	return unpack(ctx, dir, m, func(e Entry) (io.Reader, error) {
		if open != nil {
			open.Close()
			open = nil
		}
		if e.Kind == Directory || e.Kind == Link {
			return nil, nil
		}
		open, err = f.FS.Open(e.Name)
		return open, err
	})
}
