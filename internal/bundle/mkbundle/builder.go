package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"ipython-mcp/internal/bundle/archive"

	"github.com/kluctl/go-embed-python/pip"
	"github.com/kluctl/go-embed-python/python"
)

// The trees, named as their archives are.
const (
	cpythonDir = "cpython"
	siteDir    = "site"
)

// interpreter is the bundled CPython's program inside its tree.
const interpreter = "bin/python3.14"

// sitePackages is where the bundled CPython looks for packages of its own, inside its tree.
const sitePackages = "lib/python3.14/site-packages"

// builder makes the trees below work, which it does not own.
type builder struct {
	work string
	log  io.Writer // what pip says, and sizes
}

func (b builder) dir(name string) string { return filepath.Join(b.work, name) }

// cpython extracts the module's CPython and drops what is of no use here.
func (b builder) cpython() error {
	dir := b.dir(cpythonDir)
	if _, err := python.NewEmbeddedPythonWithTmpDir(dir, false); err != nil {
		return err
	}
	for _, sub := range []string{"bin", "lib"} {
		if err := relink(filepath.Join(dir, sub)); err != nil {
			return err
		}
	}
	return prune(dir, uselessInCPython)
}

// site installs what the binary carries beside CPython.
func (b builder) site(ctx context.Context, requirements string) error {
	if err := b.install(ctx, requirements, b.dir(siteDir)); err != nil {
		return err
	}
	if err := prune(b.dir(siteDir), uselessInSite); err != nil {
		return err
	}
	return trimRecords(b.dir(siteDir))
}

// makeTools makes the extracted interpreter one that has the locked packages of its own, and puts it at place: what tests and checks run.
func (b builder) makeTools(ctx context.Context, requirements, place string) error {
	if err := b.install(ctx, requirements, filepath.Join(b.dir(cpythonDir), sitePackages)); err != nil {
		return err
	}
	if err := os.RemoveAll(place); err != nil {
		return err
	}
	return os.Rename(b.dir(cpythonDir), place)
}

// install puts the locked wheels into the directory target and nothing else. No dependency is resolved here, no source is built, no
// wheel without a locked hash is taken.
func (b builder) install(ctx context.Context, requirements, target string) error {
	pipLib, err := pip.NewPipLib("mkbundle")
	if err != nil {
		return err
	}
	args := []string{
		"-B", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--root-user-action=ignore",
		"--no-compile", "--no-deps", "--require-hashes", "--only-binary=:all:", "--upgrade",
		"--requirement", requirements, "--target", target,
	}
	cmd := b.command(ctx, args...)
	cmd.Env = append(cmd.Env, "PYTHONPATH="+pipLib.GetExtractedPath())
	cmd.Stdout, cmd.Stderr = b.log, b.log
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("pip install --requirement %s: %w", requirements, err)
	}
	return nil
}

// compile writes the byte code of a tree. It is never checked against the sources (unchecked-hash),
// because both are in one immutable tree and times do not survive extraction. One process, one order, one
// hash seed: byte code depends on all three.
func (b builder) compile(ctx context.Context, name string) error {
	dir := b.dir(name)
	if err := prune(dir, byteCode); err != nil {
		return err
	}
	cmd := b.command(ctx, "-m", "compileall", "-q", "-f", "--invalidation-mode", "unchecked-hash", "-s", dir, dir)
	cmd.Env = append(cmd.Env, "PYTHONHASHSEED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("compileall: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// command runs the extracted interpreter, without what PYTHON* variables of the builder's environment
// would change.
func (b builder) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(b.dir(cpythonDir), interpreter), args...)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "PYTHON") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "PYTHONNOUSERSITE=1")
	return cmd
}

// pack writes a tree's archive to file, whole or not at all; or only compares.
func (b builder) pack(name, file string, check bool) error {
	var packed bytes.Buffer
	if err := archive.Pack(&packed, os.DirFS(b.dir(name))); err != nil {
		return err
	}
	if check {
		return same(file, packed.Bytes())
	}
	fmt.Fprintf(b.log, "%s: %.1f MiB\n", filepath.Base(file), float64(packed.Len())/(1<<20))
	return replace(file, packed.Bytes())
}

func same(file string, want []byte) error {
	got, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("%s (%d bytes) differs from a new build (%d bytes)", file, len(got), len(want))
	}
	return nil
}

func replace(file string, content []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(file), ".mkbundle-")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(content)
	if closeErr := tmp.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	if err := os.Chmod(tmp.Name(), 0o644); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), file)
}
