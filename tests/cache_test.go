package tests

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// leftovers are what an interrupted extraction leaves in a cache until the next start.
var leftovers = []string{"*.tmp-*", "*.old-*", "*.lock"}

// checkCache makes sure that a cache holds whole trees only.
func checkCache(t *testing.T, directory string) {
	t.Helper()
	for _, pattern := range leftovers {
		if found, err := filepath.Glob(filepath.Join(directory, pattern)); err != nil || len(found) > 0 {
			t.Errorf("the cache holds %v, %v", found, err)
		}
	}
	for _, tree := range []string{"cpython-*", "site-*"} {
		if found, err := filepath.Glob(filepath.Join(directory, tree)); err != nil || len(found) != 1 {
			t.Errorf("the cache holds %v, %v", found, err)
		}
	}
}

// servedFrom starts a server with the cache, uses it and ends it.
func servedFrom(t *testing.T, cache string) {
	t.Helper()
	s := connect(t, options{env: []string{"IPYTHON_MCP_CACHE_DIR=" + cache}})
	s.equals("import sys, json, sqlite3, IPython\nsys.executable.startswith("+quoted(cache)+")", "true")
	s.equals("import subprocess\n"+
		"subprocess.check_output([sys.executable, '-c', 'import ssl; print(1)'], text=True)", `"1\n"`)
	s.endsBy(s.closeInput)
	checkCache(t, cache)
}

// damage breaks a cache in ways that disks, cleaners and users do. Each gets the tree of CPython and that of IPython.
var damage = map[string]func(t *testing.T, cpython, site string) error{
	"the library truncated, a lock left": func(t *testing.T, cpython, site string) error {
		return errors.Join(
			os.Truncate(one(t, cpython, "lib/libpython3.14.so.1.0"), 1000),
			os.WriteFile(cpython+".lock", nil, 0o644),
		)
	},
	"a module missing, another empty": func(t *testing.T, cpython, site string) error {
		return errors.Join(os.Remove(one(t, cpython, "lib/python3.14/json/decoder.py")),
			os.Truncate(one(t, site, "IPython/core/interactiveshell.py"), 0))
	},
	"the interpreter missing, a package missing": func(t *testing.T, cpython, site string) error {
		return errors.Join(os.Remove(one(t, cpython, "bin/python3.14")), os.RemoveAll(one(t, site, "traitlets")))
	},
	"the interpreter no program, a tree a file": func(t *testing.T, cpython, site string) error {
		return errors.Join(
			os.Chmod(one(t, cpython, "bin/python3.14"), 0o644),
			os.RemoveAll(site),
			os.WriteFile(site, nil, 0o644),
		)
	},
	"a tree missing, another empty": func(t *testing.T, cpython, site string) error {
		return errors.Join(os.RemoveAll(cpython), os.RemoveAll(site), os.Mkdir(site, 0o755))
	},
}

func one(t *testing.T, tree, name string) string {
	t.Helper()
	path := filepath.Join(tree, name)
	if _, err := os.Lstat(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// copyOfCache copies the cache that the run shares.
func copyOfCache(t *testing.T) string {
	t.Helper()
	connect(t, options{}).works("the extraction")
	cache := filepath.Join(realPath(t), "cache")
	if output, err := exec.Command("cp", "-a", cacheDir, cache).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	return cache
}

// A broken cache is repaired by the next start.
func TestCache_Repair(t *testing.T) {
	for name, breakIt := range damage {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cache := copyOfCache(t)
			trees, _ := filepath.Glob(cache + "/cpython-*") // the pattern is valid
			sites, _ := filepath.Glob(cache + "/site-*")
			if len(trees) != 1 || len(sites) != 1 {
				t.Fatalf("the trees are %v, %v", trees, sites)
			}
			if err := breakIt(t, trees[0], sites[0]); err != nil {
				t.Fatal(err)
			}
			servedFrom(t, cache)
		})
	}
}

// A first start that is killed at any moment is made good by the next one.
func TestCache_KilledExtraction(t *testing.T) {
	t.Parallel()
	cache := filepath.Join(realPath(t), "cache")
	killed := 0
	for _, pause := range []time.Duration{20, 100, 250, 500, 900} {
		s := start(t, options{env: []string{"IPYTHON_MCP_CACHE_DIR=" + cache}, untidy: true})
		time.Sleep(pause * time.Millisecond) // where in the extraction the kill hits
		whole, _ := filepath.Glob(cache + "/cpython-????????????????")
		if err := s.command.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		s.ends()
		if len(whole) == 0 {
			killed++
		}
	}
	if killed == 0 {
		t.Error("no kill hit the extraction")
	}
	servedFrom(t, cache)
}

// Servers that start at once on an empty cache all serve, and extract once.
func TestCache_TwoFirstStarts(t *testing.T) {
	t.Parallel()
	cache := filepath.Join(realPath(t), "deep", "cache")
	var servers []*server
	for range 3 {
		servers = append(servers, start(t, options{env: []string{"IPYTHON_MCP_CACHE_DIR=" + cache}}))
	}
	for _, s := range servers {
		s.initialize("2025-06-18")
	}
	for _, s := range servers {
		s.works("a start beside others")
		s.endsBy(s.closeInput)
	}
	checkCache(t, cache)
}

// The client may go while the first extraction runs: the server ends in time, and leaves nothing half done for the
// next.
func TestCache_EndDuringExtraction(t *testing.T) {
	t.Parallel()
	cache := filepath.Join(realPath(t), "cache")
	s := start(t, options{env: []string{"IPYTHON_MCP_CACHE_DIR=" + cache}})
	eventually(t, "the beginning of the extraction", func() bool {
		found, _ := filepath.Glob(cache + "/*")
		return len(found) > 0
	})
	s.endsBy(s.closeInput)
	for _, pattern := range leftovers {
		if found, _ := filepath.Glob(filepath.Join(cache, pattern)); len(found) > 0 {
			t.Errorf("the cache holds %v", found)
		}
	}
	servedFrom(t, cache)
}

// A cache directory that cannot be made is a clear failure.
func TestCache_ThatCannotBeMade(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	touch(t, file)
	for _, path := range []string{file, filepath.Join(file, "below"), "/proc/nowhere/cache"} {
		mentions(t, refuses(t, options{env: []string{"IPYTHON_MCP_CACHE_DIR=" + path}}), path)
	}
}

// Byte code is there after the extraction: a start writes nothing into the cache, whatever PYTHONDONTWRITEBYTECODE
// says.
func TestCache_IsPrecompiled(t *testing.T) {
	t.Parallel()
	cache := copyOfCache(t)
	compiled := 0
	err := filepath.WalkDir(cache, func(path string, entry os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".cpython-314.pyc") {
			compiled++
		}
		return err
	})
	if err != nil || compiled < 500 {
		t.Errorf("%d files of byte code, %v", compiled, err)
	}
	before := listing(t, cache)
	servedFrom(t, cache)
	if listing(t, cache) != before {
		t.Error("a start changed the cache")
	}
}
