package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"ipython-mcp/envprov"
	"ipython-mcp/internal/bounds"
	"ipython-mcp/internal/bundle"
)

// runPrepare does what a start does before CPython runs, and says what a start would do then. It returns the exit
// status.
func runPrepare(lookup func(string) (string, bool)) int {
	c, problems := parseConfig(lookup)
	if len(problems) > 0 {
		fmt.Fprintln(os.Stderr, failureLine(problems, c.limits.TextChars))
		return exitFailure
	}
	cache, cleanup, err := bundle.OpenCache(c.cacheDir)
	if err != nil {
		fmt.Fprintf(os.Stderr, "ipython-mcp: %v\n", err)
		return exitFailure
	}
	// What cannot be removed is a temporary directory's content.
	defer func() { _ = cleanup() }()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()

	shown := newDisplay(os.Stderr)
	preparer := newPreparer(cache, c.settings, shown.report)
	begun := time.Now()
	found, failure := preparer.prepare(ctx)
	shown.close()
	if failure != nil {
		line, _ := bounds.Cut(failure.Error(), c.limits.TextChars)
		fmt.Fprintln(os.Stderr, line)
		return exitFailure
	}
	describePrepared(os.Stdout, c.settings, found, time.Since(begun))
	return exitOK
}

// describePrepared says what a start would do.
func describePrepared(out io.Writer, settings envprov.Settings, found prepared, took time.Duration) {
	kind := "bundled"
	if settings.Python != "" {
		kind = "chosen with IPYTHON_MCP_PYTHON"
	}
	directory := settings.EnvironmentDir()
	switch {
	case directory == "":
		fmt.Fprintf(out, "environment: none is configured; uv is never run\n")
	case bool(found.made):
		fmt.Fprintf(out, "environment: %s, made in %.1f s\n", directory, took.Seconds())
	default:
		fmt.Fprintf(out, "environment: %s, was there and is what is wanted\n", directory)
	}
	fmt.Fprintf(out, "interpreter: %s, Python %s (%s)\n", found.chosen.Executable, found.chosen.Version, kind)
	fmt.Fprintf(out, "library:     %s\n", found.chosen.Library)
	if directory == "" {
		fmt.Fprintf(out, "A start with these settings serves this interpreter at once.\n")
		return
	}
	fmt.Fprintf(out, "A start with these settings serves this environment at once, without running uv.\n")
}
