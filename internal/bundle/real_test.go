package bundle

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// openReal opens a cache in a fresh directory with the archives of this build. Without archives there is
// nothing to test on a laptop; in CI that is a failure.
func openReal(t *testing.T) (*Cache, Tree, Tree) {
	t.Helper()
	c, _, err := OpenCache(filepath.Join(t.TempDir(), "cache"))
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	cpython, err := c.CPython(t.Context())
	if errors.Is(err, ErrNoArchives) && os.Getenv("CI") == "" {
		t.Skip("the archives are not built: run `make build`")
	}
	if err != nil {
		t.Fatal(err)
	}
	site, err := c.Site(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("extracted in %v", time.Since(began))
	return c, cpython, site
}

// imports is what the bundled Python must be able to do: extension modules, their libraries, IPython and
// what it needs, and knowing what is installed. That no byte code is written shows that all of it is
// there.
const imports = `
import sys
sys.path.append(sys.argv[1])
import bz2, ctypes, curses, decimal, hashlib, lzma, multiprocessing, readline, sqlite3, ssl, tkinter, uuid
import zlib, zoneinfo
import cloudpickle, IPython, jedi, packaging.requirements, psutil, typing_extensions
from importlib.metadata import version
assert version("ipython") == IPython.__version__, IPython.__version__
assert sys.implementation.cache_tag == sys.argv[2], sys.implementation.cache_tag
assert sys.version.startswith(sys.argv[3]), sys.version
assert sqlite3.connect(":memory:").execute("select 1").fetchone() == (1,)
assert psutil.Process().pid > 0
stale = [m.__name__ for m in list(sys.modules.values()) if getattr(m, "__cached__", None) and m.__file__.endswith(".py")
         and not __import__("os").path.exists(m.__cached__)]
assert not stale, stale
print(sys.prefix, IPython.__version__)
`

func python(ctx context.Context, t *testing.T, exe string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(ctx, exe, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "PYTHONDONTWRITEBYTECODE=1"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s %q: %v\n%s", exe, args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func TestReal_python(t *testing.T) {
	c, cpython, site := openReal(t)
	for _, exe := range []string{Interpreter, "bin/python3", "bin/python"} {
		got := python(t.Context(), t, cpython.Path(exe), "-I", "-c", imports, site.Dir, CacheTag, Version)
		if !strings.HasPrefix(got, cpython.Dir+" ") {
			t.Errorf("%s says %q, want its prefix to be %q", exe, got, cpython.Dir)
		}
	}
	if info, err := os.Stat(cpython.Path(Library)); err != nil || !info.Mode().IsRegular() {
		t.Errorf("library: %v, %v", info, err)
	}
	venv := filepath.Join(t.TempDir(), "venv")
	python(t.Context(), t, cpython.Path(Interpreter), "-m", "venv", "--without-pip", venv)
	if got := python(t.Context(), t, venv+"/bin/python", "-c", "import sys; print(sys.prefix)"); got != venv {
		t.Errorf("an environment's python says that its prefix is %q, want %q", got, venv)
	}

	began := time.Now()
	if _, err := c.CPython(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := c.Site(t.Context()); err != nil {
		t.Error(err)
	}
	t.Logf("verified in %v", time.Since(began))
}

func TestReal_precompile(t *testing.T) {
	c, cpython, _ := openReal(t)
	fsys := fstest.MapFS{"pkg/__init__.py": {Data: []byte("x = 1")}}
	files, err := c.Files(t.Context(), "shell", fsys)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Precompile(t.Context(), cpython.Path(Interpreter), CacheTag, files.Dir); err != nil {
		t.Fatal(err)
	}
	code := files.Path("pkg/__pycache__/__init__." + CacheTag + ".pyc")
	b, err := os.ReadFile(code)
	if err != nil {
		t.Fatal(err)
	}
	if b[4] != 1 { // PEP 552: hash-based, not checked against the source
		t.Errorf("flags of the byte code are %#x, want 1", b[4])
	}
	if _, err := c.Files(t.Context(), "shell", fsys); err != nil || !exists(code) {
		t.Errorf("the next start does not take the compiled tree (%v)", err)
	}
}

// Nothing in the trees may need the machine that built them, and all byte code is of the one kind that
// survives extraction.
func TestReal_content(t *testing.T) {
	_, cpython, site := openReal(t)
	sources, compiled := 0, 0
	for _, tree := range []Tree{cpython, site} {
		err := filepath.WalkDir(tree.Dir, func(path string, d os.DirEntry, err error) error {
			switch filepath.Ext(path) {
			case ".py":
				sources++
			case ".pyc":
				compiled++
				if b, err := os.ReadFile(path); err != nil || len(b) < 16 || b[4] != 1 {
					t.Errorf("%q is not unchecked byte code (%v)", path, err)
				} else if strings.Contains(string(b), "mkbundle-") {
					t.Errorf("%q names the directory it was built in", path)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if sources == 0 || sources != compiled {
		t.Errorf("%d sources and %d compiled", sources, compiled)
	}
}
