package tests

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// update makes the tests with golden files write them.
var update = flag.Bool("update", false, "write what the server answers into the golden files under testdata")

var (
	// binary is the program under test: IPYTHON_MCP_TEST_BINARY, or built here.
	binary string
	// cacheDir is shared by the servers of a run, so that the bundled Python is extracted once.
	cacheDir string
	// work holds what this run makes; removed at its end.
	work string
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	flag.Parse()
	var err error
	if work, err = os.MkdirTemp("", "ipython-mcp-tests-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(work)
	cacheDir = filepath.Join(work, "cache")
	if binary = os.Getenv("IPYTHON_MCP_TEST_BINARY"); binary == "" {
		binary = filepath.Join(work, "ipython-mcp")
		if err := build(binary); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return m.Run()
}

// build builds the program; the race detector is a flag more.
func build(path string, flags ...string) error {
	command := exec.Command("go", append([]string{"build", "-o", path}, append(flags, "../cmd/ipython-mcp")...)...)
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot build the program: %v\n%s", err, output)
	}
	return nil
}

// raceBinary is the program built with the race detector, for the tests that are about goroutines.
var raceBinary = sync.OnceValues(func() (string, error) {
	path := filepath.Join(work, "ipython-mcp-race")
	return path, build(path, "-race")
})

// inCI turns what is missing on a developer's machine into a failure.
func inCI() bool { return os.Getenv("CI") != "" }

// missing skips a test whose tool is not there, or fails it in CI.
func missing(t *testing.T, what string) {
	t.Helper()
	if inCI() {
		t.Fatalf("%s is missing", what)
	}
	t.Skipf("%s is missing", what)
}
