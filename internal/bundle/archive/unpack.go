package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
)

// waiting is how many files may be in memory, read but not yet written, beside those being written.
const waiting = 32

// contents gives an entry's content, for each entry once and in order. It may give nil for directories and
// links.
type contents func(Entry) (io.Reader, error)

// content is a file on its way to the disk.
type content struct {
	entry Entry
	bytes []byte
}

// unpack creates the entries of m below dir in order: directories and links itself, files through a few
// writers, because creating thousands of small files is mostly waiting for the file system. next gives an
// entry's content (unused for directories and links).
func unpack(ctx context.Context, dir string, m Manifest, next contents) error {
	root, err := os.OpenRoot(dir) // whatever a name says, nothing outside dir can be reached through it
	if err != nil {
		return err
	}
	defer root.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	files := make(chan content, waiting)
	var writers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0)+1, 4) {
		writers.Go(func() {
			for c := range files {
				if err := writeFile(root, c); err != nil {
					cancel(err)
				}
			}
		})
	}
	for _, e := range m.Entries {
		if ctx.Err() != nil {
			break
		}
		if err := place(ctx, root, e, next, files); err != nil {
			cancel(fmt.Errorf("archive: extract %q: %w", e.Name, err))
		}
	}
	close(files)
	writers.Wait()
	return context.Cause(ctx)
}

// place creates one entry, or reads it and hands it to the writers.
func place(ctx context.Context, root *os.Root, e Entry, next contents, files chan<- content) error {
	r, err := next(e)
	if err != nil {
		return err
	}
	switch e.Kind {
	case Directory:
		return root.Mkdir(e.Name, 0o755)
	case Link:
		return root.Symlink(e.Target, e.Name)
	}
	b, err := readContent(r, e)
	if err != nil {
		return err
	}
	select {
	case files <- content{e, b}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// readContent reads a whole file and refuses one that is not what the manifest says.
func readContent(r io.Reader, e Entry) ([]byte, error) {
	var b bytes.Buffer
	if _, err := io.Copy(&b, io.LimitReader(r, e.Size+1)); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(b.Bytes())
	if int64(b.Len()) != e.Size || hex.EncodeToString(sum[:]) != e.Sum {
		return nil, fmt.Errorf("content is not what the manifest says (%d bytes wanted)", e.Size)
	}
	return b.Bytes(), nil
}

func writeFile(root *os.Root, c content) error {
	perm := os.FileMode(0o644)
	if c.entry.Kind == Executable {
		perm = 0o755
	}
	f, err := root.OpenFile(c.entry.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(c.bytes)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}
