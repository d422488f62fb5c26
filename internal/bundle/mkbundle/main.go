package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
)

// options is the command line.
type options struct {
	out          string // directory of the archives
	requirements string // lock file with hashes
	check        bool   // compare instead of writing
	tools        string // make an interpreter with the locked packages here, and no archives
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stderr)
	stop()
	os.Exit(code)
}

// run returns the exit code: 0 made, 1 failed, 2 wrong usage.
func run(ctx context.Context, args []string, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("mkbundle", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.out, "out", "internal/bundle/data", "`directory` for the archives")
	flags.StringVar(&o.requirements, "requirements", "internal/bundle/requirements.txt", "lock `file` with hashes")
	flags.BoolVar(&o.check, "check", false, "build, and fail unless the archives in -out are the same")
	flags.StringVar(&o.tools, "tools", "", "make an interpreter that has the locked packages in this `directory`, instead of archives")
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 {
		return 2
	}
	if err := bundle(ctx, o, stderr); err != nil {
		fmt.Fprintf(stderr, "mkbundle: %v\n", err)
		return 1
	}
	return 0
}

// bundle builds both trees in a temporary directory and packs them.
func bundle(ctx context.Context, o options, log io.Writer) (err error) {
	beside := "" // the temporary directory, or where the tools go: they are renamed into their place
	if o.tools != "" {
		beside = filepath.Dir(o.tools)
		if err := os.MkdirAll(beside, 0o755); err != nil {
			return err
		}
	}
	work, err := os.MkdirTemp(beside, "mkbundle-")
	if err != nil {
		return err
	}
	if work, err = filepath.Abs(work); err != nil {
		return err
	}
	defer os.RemoveAll(work)
	// The module extracts its pip below TMPDIR, and pip builds there: all of it goes when work goes.
	if err := os.Setenv("TMPDIR", work); err != nil {
		return err
	}
	b := builder{work: work, log: log}
	if err := b.cpython(); err != nil {
		return fmt.Errorf("cpython: %w", err)
	}
	if o.tools != "" {
		return b.makeTools(ctx, o.requirements, o.tools)
	}
	if err := b.site(ctx, o.requirements); err != nil {
		return fmt.Errorf("site: %w", err)
	}
	for _, name := range []string{cpythonDir, siteDir} {
		if err := b.compile(ctx, name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		file := filepath.Join(o.out, fmt.Sprintf("%s-%s-%s.tar.zst", name, runtime.GOOS, runtime.GOARCH))
		if err := b.pack(name, file, o.check); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
