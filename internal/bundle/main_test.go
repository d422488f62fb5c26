package bundle

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"ipython-mcp/internal/bundle/archive"
)

// The test binary is also the process that gets killed, or that has no permission: with childVariable set
// to one of the roles it extracts the test tree into the cache at cacheVariable, prints the tree's
// directory, and exits.
const (
	childVariable = "BUNDLE_TEST_ROLE"
	cacheVariable = "BUNDLE_TEST_CACHE"

	// archiveVariable names the test tree's archive, which the parent packs once for all children.
	archiveVariable = "BUNDLE_TEST_ARCHIVE"

	roleExtract = "extract" // as it is
	roleStop    = "stop"    // stops for good in the middle
	roleSmall   = "small"   // cannot write files above smallLimit bytes
	roleCompile = "compile" // precompiles afterwards, with an interpreter that does not exist
)

// Lines that children print.
const (
	lineReady      = "ready"      // waits for a line on stdin
	lineExtracting = "extracting" // is about to extract, after it got the lock
	lineStopped    = "stopped"    // stands in the middle of extracting
)

// smallLimit stands for a full disk.
const smallLimit = 4096

func TestMain(m *testing.M) {
	if role := os.Getenv(childVariable); role != "" {
		os.Exit(child(role))
	}
	file, err := packTestFiles()
	if err == nil {
		err = os.Setenv(archiveVariable, file)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.Remove(file)
	os.Exit(code)
}

func child(role string) int {
	fmt.Println(lineReady)
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return 2
	}
	if role == roleSmall {
		signal.Ignore(syscall.SIGXFSZ)
		limit := syscall.Rlimit{Cur: smallLimit, Max: smallLimit}
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
			fmt.Println(err)
			return 2
		}
	}
	c, _, err := OpenCache(os.Getenv(cacheVariable))
	if err == nil {
		c.site = childSource{source: testSource(), stop: role == roleStop}
		var tree Tree
		tree, err = c.Site(context.Background())
		fmt.Println(tree.Dir)
		if role == roleCompile && err == nil {
			err = c.Precompile(context.Background(), "/nonexistent/python", CacheTag, tree.Dir)
		}
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// childSource tells the parent where the child is.
type childSource struct {
	source
	stop bool
}

func (s childSource) Extract(ctx context.Context, dir string) error {
	fmt.Println(lineExtracting)
	if !s.stop {
		return s.source.Extract(ctx, dir)
	}
	if err := os.WriteFile(filepath.Join(dir, "half"), nil, 0o600); err != nil {
		return err
	}
	fmt.Println(lineStopped)
	select {}
}

// process is a running child.
type process struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// start starts a child and waits until it is ready.
func start(t *testing.T, role, cache string, edit ...func(*exec.Cmd)) *process {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), childVariable+"="+role, cacheVariable+"="+cache)
	cmd.Stderr = os.Stderr
	for _, f := range edit {
		f(cmd)
	}
	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	p := &process{t: t, cmd: cmd, in: in, out: bufio.NewReader(out)}
	p.expect(lineReady)
	return p
}

func (p *process) release() {
	p.t.Helper()
	if _, err := io.WriteString(p.in, "\n"); err != nil {
		p.t.Fatal(err)
	}
}

func (p *process) expect(line string) {
	p.t.Helper()
	if got, err := p.out.ReadString('\n'); got != line+"\n" {
		p.t.Fatalf("child printed %q, want %q (%v)", got, line, err)
	}
}

// kill ends the child as nothing can be prepared for.
func (p *process) kill() {
	p.t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	io.Copy(io.Discard, p.out)
	p.cmd.Wait()
}

// finish returns what the child still printed, and how it ended.
func (p *process) finish() (lines []string, err error) {
	p.t.Helper()
	out, err := io.ReadAll(p.out)
	if err != nil {
		p.t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n"), p.cmd.Wait()
}

// asNobody takes the permissions of root from a child. Nobody else has them to lose.
func asNobody(cmd *exec.Cmd) {
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
}

// testFiles is a tree large enough to be killed in, small enough to be extracted fifty times.
var testFiles = func() fstest.MapFS {
	fsys := fstest.MapFS{"bin/run": {Data: []byte("#!/bin/sh\n"), Mode: 0o755}, "big": {Data: make([]byte, 1<<20)}}
	for i := range 120 {
		fsys[fmt.Sprintf("pkg%d/sub/mod%d.py", i%8, i)] = &fstest.MapFile{Data: bytes.Repeat([]byte{byte(i)}, i*16)}
	}
	return fsys
}()

// packTestFiles packs testFiles into a file that everybody may read.
func packTestFiles() (string, error) {
	f, err := os.CreateTemp("", "bundle-test-")
	if err != nil {
		return "", err
	}
	return f.Name(), errors.Join(archive.Pack(f, testFiles), f.Chmod(0o644), f.Close())
}

func testSource() source {
	return archive.Packed{Open: func() (io.ReadCloser, error) { return os.Open(os.Getenv(archiveVariable)) }}
}

// openTest opens a cache whose site is the test tree.
func openTest(t *testing.T, dir string) *Cache {
	t.Helper()
	c, _, err := OpenCache(dir)
	if err != nil {
		t.Fatal(err)
	}
	c.site = testSource()
	return c
}

func mustSite(t *testing.T, c *Cache) Tree {
	t.Helper()
	tree, err := c.Site(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// checkWhole fails unless the cache holds exactly the given trees, the first being the test tree and whole.
func checkWhole(t *testing.T, cache string, trees ...string) {
	t.Helper()
	m, err := testSource().Manifest()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Verify(trees[0]); err != nil {
		t.Error(err)
	}
	var want []string
	for _, dir := range trees {
		want = append(want, filepath.Base(dir))
	}
	slices.Sort(want)
	if got := names(t, cache); !slices.Equal(got, want) {
		t.Errorf("the cache holds %q, want %q", got, want)
	}
}

func names(t *testing.T, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range list {
		names = append(names, d.Name())
	}
	return names
}
