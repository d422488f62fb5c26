package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// A rule says whether a name, slash-separated and relative to a tree, goes. A directory goes with all that
// is in it.
type rule func(name string, d fs.DirEntry) bool

// uselessInCPython: scripts for modules that the module's CPython does not have (pip, idlelib), the
// build's configuration for headers that are not there, static libraries, and the test extensions of the
// standard library.
func uselessInCPython(name string, d fs.DirEntry) bool {
	base := path.Base(name)
	return matchesAny(name, "bin/pip*", "bin/idle*", "bin/*-config") ||
		matchesAny(base, "*.a", "*.exe", "_test*.so", "_ctypes_test*.so", "_xxtestfuzz*.so", "xxlimited*.so") ||
		d.IsDir() && matchesAny(base, "idle_test", "test", "tests")
}

// uselessInSite: scripts and manual pages, which belong to environments, the tests of the packages, and
// jedi's stubs of other people's packages: half of all files, and jedi looks whether they are there.
func uselessInSite(name string, d fs.DirEntry) bool {
	base := path.Base(name)
	return matchesAny(name, "bin", "share", "jedi/third_party/typeshed/stubs") ||
		matchesAny(base, "*.exe") ||
		d.IsDir() && matchesAny(base, "test", "tests")
}

func byteCode(name string, d fs.DirEntry) bool { return d.IsDir() && path.Base(name) == "__pycache__" }

// matchesAny panics on a malformed pattern: they are constants of this file.
func matchesAny(name string, patterns ...string) bool {
	for _, p := range patterns {
		ok, err := path.Match(p, name)
		if err != nil {
			panic(err)
		}
		if ok {
			return true
		}
	}
	return false
}

// prune removes from the tree at dir what useless names.
func prune(dir string, useless rule) error {
	return filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || file == dir {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil || !useless(filepath.ToSlash(name), d) {
			return err
		}
		if err := os.RemoveAll(file); err != nil || !d.IsDir() {
			return err
		}
		return fs.SkipDir
	})
}

// relink turns copies back into the links they were: the module extracts links as copies. Of equal files
// in one directory whose names begin alike (python, python3, python3.14), all but the longest name become
// links to it.
func relink(dir string) error {
	list, err := os.ReadDir(dir) // sorted, so a longer name comes after its beginning
	if err != nil {
		return err
	}
	for i, short := range list {
		for j := len(list) - 1; j > i; j-- {
			if !strings.HasPrefix(list[j].Name(), short.Name()) || !short.Type().IsRegular() || !list[j].Type().IsRegular() {
				continue
			}
			linked, err := linkIfEqual(filepath.Join(dir, short.Name()), filepath.Join(dir, list[j].Name()))
			if err != nil {
				return err
			}
			if linked {
				break
			}
		}
	}
	return nil
}

func linkIfEqual(short, long string) (bool, error) {
	a, err := os.ReadFile(short)
	if err != nil {
		return false, err
	}
	b, err := os.ReadFile(long)
	if err != nil || !bytes.Equal(a, b) {
		return false, err
	}
	if err := os.Remove(short); err != nil {
		return false, fmt.Errorf("relink: %w", err)
	}
	return true, os.Symlink(filepath.Base(long), short)
}
