// Command demo drives a built ipython-mcp with mcp-go's client through a session that can be watched: what a coding
// agent does with the server, step by step. Each step checks what it expects; the exit status is 1 when one fails.
//
// The client answers on goroutines of its own; everything else happens on the main one. It imports nothing of the
// product, and changes nothing but a temporary directory.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// sessionLimit bounds the whole demo, extraction on a fresh machine included.
const sessionLimit = 3 * time.Minute

func main() { os.Exit(run()) }

func run() int {
	binary := flag.String("binary", "bin/ipython-mcp", "the `program` to show")
	flag.Parse()
	interruptible, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(interruptible, sessionLimit)
	defer cancel()
	v := newVoice(os.Stdout)
	path, err := filepath.Abs(*binary)
	if err == nil {
		err = show(ctx, v, path)
	}
	if err != nil {
		v.failed(err)
		return 1
	}
	v.registration(path)
	return 0
}

// show runs the whole session against the program at path.
func show(ctx context.Context, v *voice, path string) (err error) {
	library, err := os.MkdirTemp("", "ipython-mcp-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(library)
	s, err := connect(ctx, v, path, library)
	if err != nil {
		return fmt.Errorf("starting %s: %w", path, err)
	}
	for _, step := range steps {
		v.title(step.title)
		if err := step.act(ctx, s); err != nil {
			_ = s.close()
			return fmt.Errorf("%s: %w", step.title, err)
		}
	}
	v.title("The end")
	started := time.Now()
	if err := s.close(); err != nil {
		return fmt.Errorf("ending: %w", err)
	}
	v.note("the client closed stdin; the server ended after %v", time.Since(started).Round(time.Millisecond))
	return nil
}
