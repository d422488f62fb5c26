package archive

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
)

// Scan makes the manifest of the tree at the root of fsys. Only an fsys that implements [fs.ReadLinkFS]
// may hold symbolic links.
func Scan(fsys fs.FS) (Manifest, error) {
	var entries []Entry
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		e, err := scanEntry(fsys, name, d)
		entries = append(entries, e)
		return err
	})
	if err != nil {
		return Manifest{}, fmt.Errorf("archive: scan: %w", err)
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return newManifest(entries)
}

func scanEntry(fsys fs.FS, name string, d fs.DirEntry) (Entry, error) {
	e := Entry{Name: name}
	switch mode := d.Type(); {
	case mode.IsDir():
		e.Kind = Directory
		return e, nil
	case mode&fs.ModeSymlink != 0:
		target, err := fs.ReadLink(fsys, name)
		e.Kind, e.Target, e.Size = Link, target, int64(len(target))
		return e, err
	case !mode.IsRegular():
		return e, fmt.Errorf("%q is neither a file, a directory nor a link", name)
	}
	info, err := d.Info()
	if err != nil {
		return e, err
	}
	e.Kind = File
	if info.Mode()&0o100 != 0 {
		e.Kind = Executable
	}
	e.Size, e.Sum, err = sumFile(fsys, name)
	return e, err
}

func sumFile(fsys fs.FS, name string) (int64, string, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return 0, "", err
	}
	defer f.Close()
	hash := sha256.New()
	size, err := io.Copy(hash, f)
	return size, hex.EncodeToString(hash.Sum(nil)), err
}
