package bundle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"ipython-mcp/internal/filelock"
)

const (
	// compiledMark, with a cache tag after it, is the file in a tree that says that the tree holds all
	// byte code for that tag. It lives and dies with the tree.
	compiledMark = ".compiled-"
	// compilerGrace is how long a stopped compiler's children may keep its output open.
	compilerGrace = time.Second
	// maxComplaint bounds how much of a compiler's output an error carries, in bytes.
	maxComplaint = 300
)

// cacheTag is what an interpreter's sys.implementation.cache_tag may be: it becomes part of a file name.
var cacheTag = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// Precompile makes sure that trees of this cache (their Dir) hold the byte code of the interpreter at
// python, whose cache tag is tag. It runs that interpreter once per tree and tag, without its environment
// and user packages. Byte code is unchecked: a tree's sources never change.
//
// A tree that cannot be written to is left as it is: importing from it is slow then, but works.
func (c *Cache) Precompile(ctx context.Context, python, tag string, dirs ...string) error {
	if !cacheTag.MatchString(tag) {
		return fmt.Errorf("bundle: precompile with %q: %q is no cache tag", python, tag)
	}
	for _, dir := range dirs {
		if filepath.Dir(dir) != c.Dir {
			return fmt.Errorf("bundle: precompile %q: not a tree of the cache %q", dir, c.Dir)
		}
		if err := precompile(ctx, python, filepath.Join(dir, compiledMark+tag), dir); err != nil {
			return fmt.Errorf("bundle: precompile %q with %q: %w", dir, python, err)
		}
	}
	return nil
}

// precompile compiles dir unless mark is there. Two servers that start at once would otherwise both spend
// the seconds, so it locks.
func precompile(ctx context.Context, python, mark, dir string) error {
	if exists(mark) || unix.Access(dir, unix.W_OK|unix.X_OK) != nil {
		return nil
	}
	unlock, err := filelock.Lock(ctx, dir+lockSuffix)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EROFS) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unlock()
	if exists(mark) {
		return nil
	}
	if err := runCompiler(ctx, python, dir); err != nil {
		return err
	}
	return os.WriteFile(mark, nil, 0o644)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// runCompiler uses all cores (-j 0): with an interpreter that is not the bundled one, a user waits for this.
func runCompiler(ctx context.Context, python, dir string) error {
	cmd := exec.CommandContext(ctx, python,
		"-I", "-m", "compileall", "-q", "-j", "0", "--invalidation-mode", "unchecked-hash", dir)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "PYTHON") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	// Its workers are in its group, so that stopping it leaves none behind.
	cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	cmd.WaitDelay = compilerGrace
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		first, _, _ := bytes.Cut(bytes.TrimSpace(out), []byte("\n"))
		return fmt.Errorf("compileall: %w: %.*s", err, maxComplaint, first)
	}
	return nil
}
