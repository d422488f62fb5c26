package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// settle is how long a process is left alone before its idle memory is read.
const settle = time.Second

// measureIdle compares the memory of an idle server with that of plain Python with IPython.
func measureIdle(ctx context.Context, b *bench) (err error) {
	worker, err := b.startWorker(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, worker.close()) }()
	if _, err := worker.cells(1); err != nil {
		return err
	}
	server, err := b.serve(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.close()) }()
	time.Sleep(settle) // what is measured: nobody asks for anything
	plain, err := resident(worker.cmd.Process.Pid)
	if err != nil {
		return err
	}
	ours, err := resident(server.cmd.Process.Pid)
	if err != nil {
		return err
	}
	b.report.bytesAtMost("idle memory", ours, plain*13/10+30*megabyte,
		fmt.Sprintf("1.3 × %s of plain Python with IPython + 30 MB", megabytes(plain)))
	return nil
}

// everyday is what a session consists of: cells that give a value, print and fail, and the other tools.
var everyday = []string{
	cellParams("1+1"),
	cellParams("def double(number):\n    return 2 * number\nprint(double(21))"),
	cellParams("import math\nrows = [{'n': n, 'root': math.sqrt(n)} for n in range(20)]\nrows"),
	cellParams("{}['missing']"),
	toolParams("call_function", map[string]any{"name": "double", "arguments": map[string]any{"number": 4}}),
	toolParams("inspect", map[string]any{"name": "double"}),
	toolParams("search", map[string]any{"query": "d"}),
	toolParams("list", map[string]any{}),
}

const (
	callsGrowth = 8 * megabyte
	// firstCalls is when memory must have stopped growing.
	firstCalls  = 10_000
	sampleEvery = 100
)

// measureCalls watches memory over many calls. Compared are the peaks of two spans of the same length: the one that
// ends after the first 10,000 calls (a tenth of a shorter run), and the last one.
func measureCalls(ctx context.Context, b *bench) (err error) {
	server, err := b.serve(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.close()) }()
	first := min(firstCalls, b.calls/10)
	var early, late int64
	started := time.Now()
	for call := range b.calls {
		if _, err := server.call("tools/call", everyday[call%len(everyday)]); err != nil {
			return err
		}
		if call%sampleEvery != 0 {
			continue
		}
		now, err := resident(server.cmd.Process.Pid)
		if err != nil {
			return err
		}
		switch {
		case call >= first/2 && call < first:
			early = max(early, now)
		case call >= b.calls-first/2:
			late = max(late, now)
		}
	}
	each := time.Since(started).Seconds() / float64(b.calls)
	what := fmt.Sprintf("memory after %d calls beyond that after %d", b.calls, first)
	b.report.bytesAtMost(what, late-early, callsGrowth,
		fmt.Sprintf("%s - %s; %s per call", megabytes(late), megabytes(early), span(each)))
	return nil
}
