package tests

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// realClient returns the path of a client that make test has installed below IPYTHON_MCP_TEST_CLIENTS.
func realClient(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(os.Getenv("IPYTHON_MCP_TEST_CLIENTS"), "node_modules", ".bin", name)
	if _, err := os.Stat(path); err != nil {
		missing(t, "the client "+name+" (make test installs it, and sets IPYTHON_MCP_TEST_CLIENTS)")
	}
	return path
}

// runClient runs a real client with a HOME of its own and returns what it prints.
func runClient(t *testing.T, home, path string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, path, args...)
	command.Env = baseEnvironment(home, t.TempDir())
	command.Dir = home
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", filepath.Base(path), args, err, output)
	}
	return string(output)
}

func TestClients_Codex(t *testing.T) {
	t.Parallel()
	codex, home := realClient(t, "codex"), t.TempDir()
	runClient(t, home, codex, "mcp", "add", "ipython", "--env", "IPYTHON_MCP_MAX_RESULTS=7", "--", binary)
	mentions(t, runClient(t, home, codex, "mcp", "list"), "ipython", binary, "enabled", "IPYTHON_MCP_MAX_RESULTS")
	mentions(t, runClient(t, home, codex, "mcp", "get", "ipython"), "enabled: true", "IPYTHON_MCP_MAX_RESULTS")
}

func TestClients_Inspector(t *testing.T) {
	t.Parallel()
	inspector, home := realClient(t, "mcp-inspector"), t.TempDir()
	env := []string{"--cli", "-e", "IPYTHON_MCP_CACHE_DIR=" + cacheDir, binary}
	// --strict also fails where a schema is not what every client can read.
	list := runClient(t, home, inspector, append(env, "--strict", "--method", "tools/list")...)
	mentions(t, list, `"execute"`, `"call_function"`, `"reload"`)
	call := append(env, "--method", "tools/call", "--tool-name", "execute", "--tool-arg")
	mentions(t, runClient(t, home, inspector, append(call, "code=6*7")...), `"result": 42`, `"text": "42"`)
	failed := runClient(t, home, inspector, append(call, "code=1/0")...)
	mentions(t, failed, `"ok": false`, `"execution_error"`, "ZeroDivisionError")
}
