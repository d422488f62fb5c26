package bundle

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// places is a set of directories that the environment can point to.
type places struct{ home, tmp string }

// isolate points every variable that chooses a cache at fresh directories.
func isolate(t *testing.T) places {
	t.Helper()
	p := places{home: t.TempDir(), tmp: t.TempDir()}
	t.Setenv("HOME", p.home)
	t.Setenv("TMPDIR", p.tmp)
	t.Setenv("XDG_CACHE_HOME", "")
	return p
}

func (p places) private() string {
	return filepath.Join(p.tmp, "ipython-mcp-"+strconv.Itoa(os.Getuid()))
}

func TestOpenCache_place(t *testing.T) {
	for _, tc := range []struct {
		name    string
		prepare func(t *testing.T, p places) (explicit, want string)
	}{
		{"home", func(t *testing.T, p places) (string, string) { return "", p.home + "/.cache/ipython-mcp" }},
		{"XDG_CACHE_HOME", func(t *testing.T, p places) (string, string) {
			t.Setenv("XDG_CACHE_HOME", p.home+"/not/there/yet")
			return "", p.home + "/not/there/yet/ipython-mcp"
		}},
		{"explicit", func(t *testing.T, p places) (string, string) { return p.home + "/my/cache", p.home + "/my/cache" }},
		{"no HOME", func(t *testing.T, p places) (string, string) { os.Unsetenv("HOME"); return "", p.private() }},
		{"empty HOME", func(t *testing.T, p places) (string, string) { os.Setenv("HOME", ""); return "", p.private() }},
		{"relative HOME", func(t *testing.T, p places) (string, string) { os.Setenv("HOME", "x"); return "", p.private() }},
		{"HOME is not there", func(t *testing.T, p places) (string, string) {
			os.Setenv("HOME", p.home+"/nobody")
			return "", p.private()
		}},
		{"HOME is a file", func(t *testing.T, p places) (string, string) {
			os.Setenv("HOME", file(t, p.home+"/file"))
			return "", p.private()
		}},
		{"cache is a file", func(t *testing.T, p places) (string, string) {
			file(t, p.home+"/.cache")
			return "", p.private()
		}},
		{"relative XDG_CACHE_HOME", func(t *testing.T, p places) (string, string) {
			os.Setenv("XDG_CACHE_HOME", "x")
			return "", p.private()
		}},
		{"home cannot be written", func(t *testing.T, p places) (string, string) {
			os.Setenv("HOME", "/proc") // not even root can create a directory there
			return "", p.private()
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := isolate(t)
			explicit, want := tc.prepare(t, p)
			c, cleanup, err := OpenCache(explicit)
			if err != nil {
				t.Fatal(err)
			}
			if c.Dir != want {
				t.Errorf("cache is at %q, want %q", c.Dir, want)
			}
			info, err := os.Stat(c.Dir)
			if err != nil || info.Mode().Perm()&0o077 != 0 {
				t.Errorf("others may enter the cache: %v, %v", info, err)
			}
			if err := cleanup(); err != nil || !exists(want) {
				t.Errorf("cleanup removed a lasting cache (%v)", err)
			}
		})
	}
}

func file(t *testing.T, path string) string {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Whatever stands at the private directory's name and is not ours is neither used nor touched: a fresh
// directory is, and cleanup removes it.
func TestOpenCache_trap(t *testing.T) {
	for _, tc := range []struct {
		name string
		trap func(path, elsewhere string) error
	}{
		{"link to a directory", func(path, elsewhere string) error { return os.Symlink(elsewhere, path) }},
		{"dangling link", func(path, elsewhere string) error { return os.Symlink(elsewhere+"/nothing", path) }},
		{"file", func(path, _ string) error { return os.WriteFile(path, nil, 0o600) }},
		{"open directory", func(path, _ string) error { return errors.Join(os.Mkdir(path, 0), os.Chmod(path, 0o777)) }},
		{"readable directory", func(path, _ string) error { return errors.Join(os.Mkdir(path, 0), os.Chmod(path, 0o750)) }},
	} {
		t.Run(tc.name, func(t *testing.T) { checkTrap(t, tc.trap) })
	}
	t.Run("directory of another user", func(t *testing.T) {
		checkTrap(t, func(path, _ string) error {
			if os.Getuid() != 0 { // only root can make one; as another user, a parent that is not ours does as well
				return os.Mkdir(path, 0o755)
			}
			return errors.Join(os.Mkdir(path, 0o700), os.Chown(path, 65534, 65534))
		})
	})
}

func checkTrap(t *testing.T, trap func(path, elsewhere string) error) {
	p := isolate(t)
	elsewhere := t.TempDir()
	if err := os.Chmod(elsewhere, 0o700); err != nil { // as private as the real one: only being a link is wrong
		t.Fatal(err)
	}
	os.Unsetenv("HOME")
	if err := trap(p.private(), elsewhere); err != nil {
		t.Fatal(err)
	}
	before := inode(t, p.private())
	c, cleanup, err := OpenCache("")
	if err != nil {
		t.Fatal(err)
	}
	if c.Dir == p.private() || filepath.Dir(c.Dir) != p.tmp {
		t.Errorf("cache is at %q", c.Dir)
	}
	if info := inode(t, c.Dir); !info.IsDir() || info.Mode().Perm() != 0o700 {
		t.Errorf("fresh cache has mode %v", info.Mode())
	}
	mustSite(t, openTest(t, c.Dir))
	if err := cleanup(); err != nil || exists(c.Dir) {
		t.Errorf("cleanup left %q (%v)", c.Dir, err)
	}
	if got := names(t, elsewhere); len(got) > 0 {
		t.Errorf("the trap caught %q", got)
	}
	if after := inode(t, p.private()); !os.SameFile(before, after) || before.Mode() != after.Mode() {
		t.Error("the trap was changed")
	}
}

// A private directory that is ours already is used again.
func TestOpenCache_again(t *testing.T) {
	p := isolate(t)
	os.Unsetenv("HOME")
	for range 2 {
		c, _, err := OpenCache("")
		if err != nil || c.Dir != p.private() {
			t.Fatalf("got %v, %v", c, err)
		}
	}
}

func TestTemporaryDirs(t *testing.T) {
	isolate(t)
	missing := filepath.Join(t.TempDir(), "missing")
	t.Setenv("TMPDIR", missing)
	if got := strings.Join(temporaryDirs(), " "); got != missing+" /tmp /var/tmp" {
		t.Errorf("temporaryDirs = %q", got)
	}
	good := t.TempDir()
	foreign := filepath.Join(t.TempDir(), "\xff")
	if err := os.Mkdir(foreign, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, candidates := range [][]string{
		{"", good}, {missing, good}, {"relative", good}, {file(t, missing), good}, {foreign, good},
	} {
		if dir, _, err := openTemporary(candidates); err != nil || filepath.Dir(dir) != good {
			t.Errorf("openTemporary(%q) = %q, %v", candidates, dir, err)
		}
	}
	if _, _, err := openTemporary([]string{missing}); err == nil {
		t.Error("a file was taken as a temporary directory")
	}
}

func TestOpenCache_explicitUnusable(t *testing.T) {
	p := isolate(t)
	regular := file(t, filepath.Join(p.home, "file"))
	for _, dir := range []string{"relative/cache", regular, regular + "/below", "/proc/nothing", "~/cache", p.home + "/\xff"} {
		_, _, err := OpenCache(dir)
		if err == nil {
			t.Errorf("%q was taken", dir)
			continue
		}
		oneLine(t, err.Error(), CacheDirVariable, strconv.Quote(dir), "set it to a writable directory")
	}
}
