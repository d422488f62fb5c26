package archive

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/klauspost/compress/zstd"
)

// manifestName is the first member of the tar stream. It is not part of the tree and never extracted.
const manifestName = ".manifest"

// manifestWindow is the first frame's window in bytes: readers of the manifest allocate it.
const manifestWindow = 128 << 10

// Pack writes the tree at the root of fsys to w. Equal trees give equal bytes: names are sorted, times are
// zero, owners are absent, modes are 0755 or 0644.
func Pack(w io.Writer, fsys fs.FS) error {
	m, err := Scan(fsys)
	if err != nil {
		return err
	}
	frame := &frames{}
	tw := tar.NewWriter(frame)
	err = frame.write(w, func() error { return packManifest(tw, m) }, zstd.WithWindowSize(manifestWindow))
	if err != nil {
		return fmt.Errorf("archive: pack the manifest: %w", err)
	}
	return frame.write(w, func() error {
		for _, e := range m.Entries {
			if err := packEntry(tw, fsys, e); err != nil {
				return fmt.Errorf("archive: pack %q: %w", e.Name, err)
			}
		}
		return tw.Close()
	})
}

// frames is a writer whose bytes go into one zstd frame after the other.
type frames struct {
	*zstd.Encoder
}

// write makes one frame in w of what fill writes.
func (f *frames) write(w io.Writer, fill func() error, options ...zstd.EOption) error {
	// One encoder goroutine: the bytes must not depend on how many cores the builder has.
	options = append(options, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1))
	var err error
	if f.Encoder, err = zstd.NewWriter(w, options...); err != nil {
		return err
	}
	if err := fill(); err != nil {
		return errors.Join(err, f.Close())
	}
	return f.Close()
}

// packManifest writes the manifest and the padding after it, so that the tar stream can be cut there into
// two frames.
func packManifest(tw *tar.Writer, m Manifest) error {
	h := &tar.Header{Typeflag: tar.TypeReg, Name: manifestName, Size: int64(len(m.text)), Mode: 0o644}
	if err := tw.WriteHeader(h); err != nil {
		return err
	}
	if _, err := tw.Write(m.text); err != nil {
		return err
	}
	return tw.Flush()
}

func packEntry(tw *tar.Writer, fsys fs.FS, e Entry) error {
	if err := tw.WriteHeader(header(e)); err != nil {
		return err
	}
	if e.Kind != File && e.Kind != Executable {
		return nil
	}
	f, err := fsys.Open(e.Name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(tw, f)
	return err
}

// header is the one tar header an entry can have.
func header(e Entry) *tar.Header {
	switch e.Kind {
	case Directory:
		return &tar.Header{Typeflag: tar.TypeDir, Name: e.Name + "/", Mode: 0o755}
	case Link:
		return &tar.Header{Typeflag: tar.TypeSymlink, Name: e.Name, Linkname: e.Target, Mode: 0o777}
	case Executable:
		return &tar.Header{Typeflag: tar.TypeReg, Name: e.Name, Size: e.Size, Mode: 0o755}
	default:
		return &tar.Header{Typeflag: tar.TypeReg, Name: e.Name, Size: e.Size, Mode: 0o644}
	}
}
