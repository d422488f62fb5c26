package archive

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// maxManifest bounds what a manifest may take in memory, in bytes. A CPython's is below 1 MiB.
const maxManifest = 16 << 20

// Packed is a tree as Pack wrote it. Open gives the bytes from the start, as often as it is called.
type Packed struct {
	Open func() (io.ReadCloser, error)
}

// Manifest reads the first frame and nothing after it.
func (p Packed) Manifest() (Manifest, error) {
	var m Manifest
	// One goroutine: a pipelined decoder would work on the second frame already.
	err := p.read(1, func(tr *tar.Reader) (err error) {
		m, err = readManifest(tr)
		return err
	})
	return m, err
}

// Extract writes the tree into dir, an existing directory. It refuses an archive whose members are not
// what its manifest says, name by name and byte by byte. What it wrote before an error is the caller's to
// remove.
func (p Packed) Extract(ctx context.Context, dir string) error {
	return p.read(0, func(tr *tar.Reader) error {
		m, err := readManifest(tr)
		if err != nil {
			return err
		}
		return unpack(ctx, dir, m, func(e Entry) (io.Reader, error) { return nextMember(tr, e) })
	})
}

// read decompresses with the given number of goroutines, 0 being one per core.
func (p Packed) read(goroutines int, use func(*tar.Reader) error) error {
	file, err := p.Open()
	if err != nil {
		return err
	}
	defer file.Close()
	dec, err := zstd.NewReader(file, zstd.WithDecoderConcurrency(goroutines))
	if err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	defer dec.Close()
	return use(tar.NewReader(dec))
}

func readManifest(tr *tar.Reader) (Manifest, error) {
	h, err := tr.Next()
	if err != nil {
		return Manifest{}, fmt.Errorf("archive: read the manifest: %w", err)
	}
	if h.Name != manifestName || h.Size > maxManifest {
		return Manifest{}, fmt.Errorf("archive: first member is %q (%d bytes), not a manifest", h.Name, h.Size)
	}
	text := make([]byte, h.Size)
	if _, err := io.ReadFull(tr, text); err != nil {
		return Manifest{}, fmt.Errorf("archive: read the manifest: %w", err)
	}
	return ParseManifest(text)
}

// nextMember moves to the next member of the archive, which must be e.
func nextMember(tr *tar.Reader, e Entry) (io.Reader, error) {
	got, err := tr.Next()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	want := header(e)
	if got.Typeflag != want.Typeflag || got.Name != want.Name || got.Linkname != want.Linkname || got.Size != want.Size {
		return nil, fmt.Errorf("archive has %q (%d bytes) in its place", got.Name, got.Size)
	}
	return tr, nil
}
