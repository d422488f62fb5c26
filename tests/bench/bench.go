package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

type options struct {
	binary      string
	fastMCPPath string
	calls       int
	rounds      int
}

// bench is what all measurements share.
type bench struct {
	options
	report report

	work   string // temporary directory: IPython's own files, the drain program
	python string // the interpreter that the server runs
	site   string // where the server's IPython lies
}

var (
	//go:embed scripts/plain.py
	plainScript string
	//go:embed scripts/fastmcp_server.py
	fastMCPScript string
	//go:embed scripts/drain.c
	drainSource []byte
)

// newBench asks the server which interpreter and which IPython it runs: the baselines run the same. It also warms the
// server's cache.
func newBench(ctx context.Context, o options) (b *bench, err error) {
	b = &bench{options: o, report: report{out: os.Stdout}}
	if b.binary, err = filepath.Abs(o.binary); err != nil {
		return nil, err
	}
	if b.work, err = os.MkdirTemp("", "ipython-mcp-bench-"); err != nil {
		return nil, err
	}
	if err := b.learn(ctx); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (b *bench) close() { _ = os.RemoveAll(b.work) }

func (b *bench) learn(ctx context.Context) error {
	c, err := b.serve(ctx)
	if err != nil {
		return err
	}
	answer, err := c.execute("import sys, IPython\n[sys.executable, IPython.__file__]")
	if err := errors.Join(err, c.close()); err != nil {
		return err
	}
	var places [2]string
	if err := json.Unmarshal(answer.Result, &places); err != nil {
		return fmt.Errorf("the server says of its interpreter %s: %w", answer.Result, err)
	}
	b.python, b.site = places[0], filepath.Dir(filepath.Dir(places[1]))
	return nil
}

// environment is this process's, without what would change Python, IPython or the server. Which Python the server runs,
// and where its cache is, may be chosen.
func (b *bench) environment(extra ...string) []string {
	kept := []string{"IPYTHONDIR=" + b.work}
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		changes := strings.HasPrefix(name, "PYTHON") || strings.HasPrefix(name, "IPYTHON")
		if !changes || name == "IPYTHON_MCP_CACHE_DIR" || name == "IPYTHON_MCP_PYTHON" {
			kept = append(kept, variable)
		}
	}
	return append(kept, extra...)
}

// server is the command that starts the measured server. Its log goes nowhere, but is written.
func (b *bench) server(ctx context.Context) *exec.Cmd {
	cmd := exec.CommandContext(ctx, b.binary)
	cmd.Env = b.environment()
	return cmd
}

// plain is the command that starts the same interpreter with the same packages.
func (b *bench) plain(ctx context.Context, script string, packages ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, b.python, "-c", script)
	path := strings.Join(append([]string{b.site}, packages...), string(os.PathListSeparator))
	cmd.Env = b.environment("PYTHONPATH=" + path)
	return cmd
}

// serve starts the server and has it run a first cell: the namespace is ready afterwards.
func (b *bench) serve(ctx context.Context) (*client, error) {
	c, err := dial(b.server(ctx))
	if err != nil {
		return nil, err
	}
	if err := c.initialize(); err != nil {
		return nil, errors.Join(err, c.close())
	}
	if _, err := c.execute("1+1"); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}
