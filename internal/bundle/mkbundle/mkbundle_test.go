package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tree writes files (name to content) below a fresh directory.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		file := filepath.Join(dir, name)
		err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(content), 0o644))
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func list(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, strings.TrimPrefix(path, dir+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestPrune(t *testing.T) {
	for _, tc := range []struct {
		name    string
		useless rule
		useful  []string
		rest    []string
	}{
		{"cpython", uselessInCPython, []string{
			"bin/python3.14", "bin/pydoc3.14", "lib/libpython3.14.so.1.0", "lib/python3.14/unittest/mock.py",
			"lib/python3.14/doctest.py", "lib/python3.14/lib-dynload/_ctypes.cpython-314-x86_64-linux-gnu.so",
		}, []string{
			"bin/pip3", "bin/idle3.14", "bin/python3.14-config", "lib/x.a", "lib/python3.14/distutils/w64.exe",
			"lib/python3.14/idlelib/idle_test/t.py", "lib/python3.14/test/support/x.py",
			"lib/python3.14/lib-dynload/_testcapi.cpython-314-x86_64-linux-gnu.so",
			"lib/python3.14/lib-dynload/_ctypes_test.cpython-314-x86_64-linux-gnu.so",
		}},
		{"site", uselessInSite, []string{
			"IPython/testing/tools.py", "ipython-9.dist-info/METADATA", "jedi/third_party/typeshed/stdlib/os.pyi", "x/bin/y.py",
		}, []string{
			"bin/ipython", "share/man/man1/ipython.1", "psutil/tests/a.py", "x/t.exe", "jedi/third_party/typeshed/stubs/a/b.pyi",
		}},
		{"byte code", byteCode, []string{"a.py"}, []string{"__pycache__/a.pyc", "p/__pycache__/b.pyc"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			files := map[string]string{}
			for _, name := range slices.Concat(tc.useful, tc.rest) {
				files[name] = name
			}
			dir := tree(t, files)
			if err := prune(dir, tc.useless); err != nil {
				t.Fatal(err)
			}
			slices.Sort(tc.useful)
			if got := list(t, dir); !slices.Equal(got, tc.useful) {
				t.Errorf("left %q, want %q", got, tc.useful)
			}
		})
	}
}

func TestRelink(t *testing.T) {
	dir := tree(t, map[string]string{
		"python": "elf", "python3": "elf", "python3.14": "elf", "pythonx": "other",
		"lib.so": "lib", "lib.so.1.0": "lib", "alone": "elf",
	})
	if err := relink(dir); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"python": "python3.14", "python3": "python3.14", "lib.so": "lib.so.1.0"}
	for _, name := range list(t, dir) {
		if target, err := os.Readlink(filepath.Join(dir, name)); target != want[name] {
			t.Errorf("%s links to %q (%v), want %q", name, target, err, want[name])
		}
	}
}

func TestTrimRecords(t *testing.T) {
	dir := tree(t, map[string]string{
		"a/__init__.py": "",
		"a-1.dist-info/RECORD": "../../bin/a,sha256=x,9\na/__init__.py,,0\n\"a/gone,py\",,0\n" +
			"a-1.dist-info/RECORD,,\n",
	})
	if err := trimRecords(dir); err != nil {
		t.Fatal(err)
	}
	want := "a/__init__.py,,0\na-1.dist-info/RECORD,,\n"
	if got, err := os.ReadFile(filepath.Join(dir, "a-1.dist-info/RECORD")); string(got) != want {
		t.Errorf("RECORD is %q (%v), want %q", got, err, want)
	}
}

func TestPack_replacesAndCompares(t *testing.T) {
	b := builder{work: tree(t, map[string]string{"site/a.py": "a"}), log: &bytes.Buffer{}}
	out := t.TempDir()
	file := filepath.Join(out, "site.tar.zst")
	if err := b.pack(siteDir, file, true); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("comparing with nothing: %v", err)
	}
	for range 2 {
		if err := b.pack(siteDir, file, false); err != nil {
			t.Fatal(err)
		}
	}
	if got := list(t, out); len(got) != 1 {
		t.Errorf("out holds %q", got)
	}
	if err := b.pack(siteDir, file, true); err != nil {
		t.Errorf("the same tree differs: %v", err)
	}
	if err := os.WriteFile(filepath.Join(b.work, "site/a.py"), []byte("b"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := b.pack(siteDir, file, true); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("another tree is the same: %v", err)
	}
}

func TestRun_usage(t *testing.T) {
	var log bytes.Buffer
	for _, args := range [][]string{{"-nosuch"}, {"extra"}} {
		if code := run(t.Context(), args, &log); code != 2 {
			t.Errorf("run(%q) = %d, want 2", args, code)
		}
	}
}

// Every requirement is pinned and has hashes: nothing else may come into the binary.
func TestRequirements_locked(t *testing.T) {
	b, err := os.ReadFile("../requirements.txt")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(b), "\\\n", " ")
	pinned := map[string]bool{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, _, ok := strings.Cut(line, "==")
		if !ok || !strings.Contains(line, "--hash=sha256:") || strings.ContainsAny(name, " ;@/") {
			t.Errorf("%q is not one pinned, hashed requirement", line)
		}
		pinned[name] = true
	}
	for _, name := range []string{"ipython", "cloudpickle", "packaging", "psutil", "typing-extensions"} {
		if !pinned[name] {
			t.Errorf("%s is not locked", name)
		}
	}
}
