package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
)

// worker is a plain Python with an IPython shell that runs cells when told to.
type worker struct {
	cmd    *exec.Cmd
	input  io.WriteCloser
	output *bufio.Reader
}

// startWorker returns when the worker's shell is built.
func (b *bench) startWorker(ctx context.Context) (*worker, error) {
	w := &worker{cmd: b.plain(ctx, plainScript)}
	input, err := w.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	w.input, w.output = input, bufio.NewReader(output)
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	if said, err := w.line(); err != nil || said != "ready" {
		return nil, errors.Join(fmt.Errorf("plain IPython said %q instead of being ready", said), err, w.close())
	}
	return w, nil
}

// cells runs that many cells and returns the seconds that one took.
func (w *worker) cells(count int) (float64, error) {
	if _, err := fmt.Fprintln(w.input, count); err != nil {
		return 0, err
	}
	said, err := w.line()
	if err != nil {
		return 0, err
	}
	seconds, err := strconv.ParseFloat(said, 64)
	return seconds / float64(count), err
}

func (w *worker) line() (string, error) {
	line, err := w.output.ReadString('\n')
	return strings.TrimSuffix(line, "\n"), err
}

func (w *worker) close() error {
	_ = w.input.Close()
	return w.cmd.Wait()
}
