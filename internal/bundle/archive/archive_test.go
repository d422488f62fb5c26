package archive

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/klauspost/compress/zstd"
)

// makeTree writes a small tree with every kind of entry into a directory.
func makeTree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"bin/python3.14": "#!/bin/sh\n", "lib/empty": "", "lib/mod/__init__.py": "x = 1\n",
		"lib/big": strings.Repeat("0123456789", 30_000),
	} {
		file := filepath.Join(dir, name)
		perm := os.FileMode(0o600)
		if strings.HasPrefix(name, "bin/") {
			perm = 0o750
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(content), perm)); err != nil {
			t.Fatal(err)
		}
	}
	err := errors.Join(os.Symlink("python3.14", filepath.Join(dir, "bin/python3")),
		os.Symlink("../bin", filepath.Join(dir, "lib/programs")), os.Mkdir(filepath.Join(dir, "lib/nothing"), 0o700))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func packed(content []byte) Packed {
	return Packed{Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }}
}

func pack(t *testing.T, fsys fs.FS) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Pack(&b, fsys); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestPackAndExtract(t *testing.T) {
	dir := makeTree(t)
	p := packed(pack(t, os.DirFS(dir)))
	m, err := p.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	if err := p.Extract(context.Background(), out); err != nil {
		t.Fatal(err)
	}
	if err := m.Verify(out); err != nil {
		t.Error(err)
	}
	again, err := Scan(os.DirFS(out))
	if err != nil {
		t.Fatal(err)
	}
	if string(again.Text()) != string(m.Text()) {
		t.Errorf("extracted tree is\n%s\nwant\n%s", again.Text(), m.Text())
	}
	if info, err := os.Stat(filepath.Join(out, "lib/programs/python3")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("program through two links: %v, %v", info, err)
	}
}

func TestFilesExtract(t *testing.T) {
	fsys := fstest.MapFS{"pkg/__init__.py": {Data: []byte("a")}, "pkg/sub/m.py": {Data: []byte("bb")}}
	f := Files{FS: fsys}
	m, err := f.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := f.Extract(context.Background(), dir); err != nil {
		t.Fatal(err)
	}
	if err := m.Verify(dir); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "pkg/sub/m.py")); string(b) != "bb" {
		t.Errorf("pkg/sub/m.py holds %q (%v)", b, err)
	}
}

// The bytes depend on names, contents and executable bits, and on nothing else.
func TestPack_deterministic(t *testing.T) {
	dir := makeTree(t)
	first := pack(t, os.DirFS(dir))
	err := errors.Join(os.Chtimes(filepath.Join(dir, "lib/big"), time.Unix(1, 0), time.Unix(2, 0)),
		os.Chmod(filepath.Join(dir, "lib/empty"), 0o666), os.Chmod(filepath.Join(dir, "bin/python3.14"), 0o711))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, pack(t, os.DirFS(dir))) {
		t.Error("times or permissions changed the archive")
	}
	if !bytes.Equal(first, pack(t, os.DirFS(makeTree(t)))) {
		t.Error("the same tree elsewhere gives another archive")
	}
	if err := os.Chmod(filepath.Join(dir, "lib/empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(first, pack(t, os.DirFS(dir))) {
		t.Error("an executable bit does not show in the archive")
	}
}

func TestPack_refuses(t *testing.T) {
	for _, target := range []string{"/etc/passwd", "../../outside", "..", "../lib/../../x"} {
		dir := makeTree(t)
		if err := os.Symlink(target, filepath.Join(dir, "lib/link")); err != nil {
			t.Fatal(err)
		}
		if err := Pack(io.Discard, os.DirFS(dir)); err == nil {
			t.Errorf("a link to %q was packed", target)
		}
	}
	if err := Pack(io.Discard, fstest.MapFS{"dev": {Mode: fs.ModeDevice}}); err == nil {
		t.Error("a device was packed")
	}
}

// craft makes an archive of a manifest and members that need not fit it.
func craft(t *testing.T, manifest string, members ...*tar.Header) Packed {
	t.Helper()
	var b bytes.Buffer
	enc, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	tw := tar.NewWriter(enc)
	if err := packManifest(tw, Manifest{text: []byte(manifest)}); err != nil {
		t.Fatal(err)
	}
	for _, h := range members {
		if err := tw.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := tw.Write(bytes.Repeat([]byte("A"), int(h.Size))); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(tw.Close(), enc.Close()); err != nil {
		t.Fatal(err)
	}
	return packed(b.Bytes())
}

func TestExtract_hostile(t *testing.T) {
	const sumOfA = "559aead08264d5795d3909718cdd05abd49572e84fe55590eef31a88a08fdffd"
	file := func(name string, size int64) *tar.Header {
		return &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o644}
	}
	for _, tc := range []struct {
		name, manifest string
		members        []*tar.Header
	}{
		{"parent", "f\t1\t" + sumOfA + "\t../evil\n", []*tar.Header{file("../evil", 1)}},
		{"absolute", "f\t1\t" + sumOfA + "\t/evil\n", []*tar.Header{file("/evil", 1)}},
		{"hidden parent", "f\t1\t" + sumOfA + "\ta/../../evil\n", []*tar.Header{file("a/../../evil", 1)}},
		{"link out", "l\t2\t..\tout\n", []*tar.Header{{Typeflag: tar.TypeSymlink, Name: "out", Linkname: ".."}}},
		{"below a link", "l\t1\tb\ta\nf\t1\t" + sumOfA + "\ta/evil\n", nil},
		{"below a file", "f\t1\t" + sumOfA + "\ta\nf\t1\t" + sumOfA + "\ta/evil\n", nil},
		{"twice", "f\t1\t" + sumOfA + "\ta\nf\t1\t" + sumOfA + "\ta\n", nil},
		{"order", "f\t1\t" + sumOfA + "\tb\nf\t1\t" + sumOfA + "\ta\n", nil},
		{"other member", "f\t1\t" + sumOfA + "\ta\n", []*tar.Header{file("../evil", 1)}},
		{"other size", "f\t1\t" + sumOfA + "\ta\n", []*tar.Header{file("a", 2)}},
		{"other kind", "d\t0\t\ta\n", []*tar.Header{file("a", 1)}},
		{"hard link", "f\t0\t\ta\n", []*tar.Header{{Typeflag: tar.TypeLink, Name: "a", Linkname: "/etc/passwd"}}},
		{"other content", "f\t2\t" + sumOfA + "\ta\n", []*tar.Header{file("a", 2)}},
		{"member missing", "f\t1\t" + sumOfA + "\ta\n", nil},
		{"unknown kind", "c\t0\t\ta\n", nil},
		{"negative size", "f\t-1\t" + sumOfA + "\ta\n", nil},
		{"short line", "f\t1\ta\n", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			parent := t.TempDir()
			dir := filepath.Join(parent, "tree")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := craft(t, tc.manifest, tc.members...).Extract(context.Background(), dir); err == nil {
				t.Error("accepted")
			}
			if list, err := os.ReadDir(parent); err != nil || len(list) != 1 {
				t.Errorf("beside the tree: %v, %v", list, err)
			}
		})
	}
	sound := craft(t, "f\t1\t"+sumOfA+"\ta\n", file("a", 1))
	if err := sound.Extract(context.Background(), t.TempDir()); err != nil {
		t.Errorf("a sound archive made the same way is refused: %v", err)
	}
}

// An archive cut anywhere gives an error.
func TestExtract_damaged(t *testing.T) {
	whole := pack(t, os.DirFS(makeTree(t)))
	for cut := 0; cut < len(whole); cut += max(len(whole)/40, 1) {
		if err := packed(whole[:cut]).Extract(context.Background(), t.TempDir()); err == nil {
			t.Errorf("an archive of %d bytes cut to %d was accepted", len(whole), cut)
		}
	}
}

func TestExtract_cancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := packed(pack(t, os.DirFS(makeTree(t)))).Extract(ctx, t.TempDir()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

func TestVerify(t *testing.T) {
	for _, tc := range []struct {
		name   string
		damage func(dir string) error
		ok     bool
	}{
		{"nothing", func(string) error { return nil }, true},
		{"more files", func(dir string) error { return os.WriteFile(dir+"/lib/more.pyc", nil, 0o600) }, true},
		{"file gone", func(dir string) error { return os.Remove(dir + "/lib/empty") }, false},
		{"file cut", func(dir string) error { return os.Truncate(dir+"/lib/big", 5) }, false},
		{"file longer", func(dir string) error { return os.Truncate(dir+"/lib/big", 1<<20) }, false},
		{"not executable", func(dir string) error { return os.Chmod(dir+"/bin/python3.14", 0o644) }, false},
		{"link gone", func(dir string) error { return os.Remove(dir + "/bin/python3") }, false},
		{"directory gone", func(dir string) error { return os.Remove(dir + "/lib/nothing") }, false},
		{"file is directory", func(dir string) error {
			return errors.Join(os.Remove(dir+"/lib/empty"), os.Mkdir(dir+"/lib/empty", 0o700))
		}, false},
		{"file is link", func(dir string) error {
			return errors.Join(os.Remove(dir+"/lib/big"), os.Symlink("empty", dir+"/lib/big"))
		}, false},
		{"tree gone", os.RemoveAll, false},
		{"tree is file", func(dir string) error {
			return errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o600))
		}, false},
		{"tree is link", func(dir string) error {
			return errors.Join(os.Rename(dir, dir+"-moved"), os.Symlink(dir+"-moved", dir))
		}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := makeTree(t)
			m, err := Scan(os.DirFS(dir))
			if err != nil {
				t.Fatal(err)
			}
			if err := tc.damage(dir); err != nil {
				t.Fatal(err)
			}
			if err := m.Verify(dir); (err == nil) != tc.ok {
				t.Errorf("Verify = %v, want ok = %v", err, tc.ok)
			}
		})
	}
}

func BenchmarkVerify(b *testing.B) {
	fsys := fstest.MapFS{}
	for i := range 4000 {
		fsys[fmt.Sprintf("pkg%d/mod%d.py", i%100, i)] = &fstest.MapFile{Data: []byte("x")}
	}
	dir := b.TempDir()
	if err := (Files{FS: fsys}).Extract(context.Background(), dir); err != nil {
		b.Fatal(err)
	}
	m, err := Scan(fsys)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := m.Verify(dir); err != nil {
			b.Fatal(err)
		}
	}
}
