package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

const (
	printedBytes   = 200_000_000
	printingRounds = 5
	printingGrowth = 16 * megabyte
)

// prints are two ways to print 200 MB: as programs do, and in few large pieces.
var prints = []struct{ name, code string }{
	{"2.5 million print calls", "line = 'x' * 79\nfor _ in range(2_500_000):\n    print(line)"},
	{"200 large print calls", "chunk = ('x' * 79 + '\\n') * 12_500\nfor _ in range(200):\n    print(chunk, end='')"},
}

// measurePrinting compares a cell that prints 200 MB with the same script whose output a C program drains, and watches
// the memory.
func measurePrinting(ctx context.Context, b *bench) error {
	drain, err := b.compileDrain(ctx)
	if err != nil {
		return err
	}
	for _, way := range prints {
		if err := b.measurePrint(ctx, drain, way.name, way.code); err != nil {
			return fmt.Errorf("%s: %w", way.name, err)
		}
	}
	return nil
}

// measurePrint takes a fresh server, so that memory that printing once has taken does not hide what it takes.
func (b *bench) measurePrint(ctx context.Context, drain, name, code string) (err error) {
	server, err := b.serve(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.close()) }()
	var plain, ours []float64
	var grown int64
	for range printingRounds {
		drained, err := b.timeDrained(ctx, drain, code)
		if err != nil {
			return err
		}
		printed, more, err := server.timePrint(code)
		if err != nil {
			return err
		}
		plain, ours, grown = append(plain, drained), append(ours, printed), max(grown, more)
	}
	b.report.atMost("200 MB in "+name+" / into a C program", medianRatio(ours, plain), 2,
		fmt.Sprintf("%s / %s; %s", span(median(ours)), span(median(plain)), spread(ours, plain)))
	b.report.bytesAtMost("memory that this takes at its peak", grown, printingGrowth, "")
	return nil
}

// timePrint returns how long the cell took, and how far memory rose meanwhile, in bytes.
func (c *client) timePrint(code string) (seconds float64, grown int64, err error) {
	pid := c.cmd.Process.Pid
	if err := resetPeak(pid); err != nil {
		return 0, 0, err
	}
	before, err := resident(pid)
	if err != nil {
		return 0, 0, err
	}
	started := time.Now()
	answer, err := c.execute(code)
	seconds = time.Since(started).Seconds()
	if err != nil {
		return 0, 0, err
	}
	if omitted := answer.Truncated.Omitted; omitted < printedBytes*99/100 || omitted >= printedBytes {
		return 0, 0, fmt.Errorf("the server left out %d characters of %d", omitted, printedBytes)
	}
	peak, err := peakResident(pid)
	return seconds, peak - before, err
}

// timeDrained returns the seconds from the start of a plain Python that runs the code until the drain has read it all.
func (b *bench) timeDrained(ctx context.Context, drain, code string) (float64, error) {
	reader, writer, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	sink := exec.CommandContext(ctx, drain)
	sink.Stdin = reader
	source := b.plain(ctx, code)
	source.Stdout = writer
	started := time.Now()
	err = errors.Join(sink.Start(), source.Start(), reader.Close(), writer.Close())
	if err == nil {
		err = errors.Join(source.Wait(), sink.Wait())
	}
	return time.Since(started).Seconds(), err
}

// compileDrain builds the C program with the machine's compiler.
func (b *bench) compileDrain(ctx context.Context) (string, error) {
	source, program := filepath.Join(b.work, "drain.c"), filepath.Join(b.work, "drain")
	if err := os.WriteFile(source, drainSource, 0o600); err != nil {
		return "", err
	}
	if said, err := exec.CommandContext(ctx, "cc", "-O2", "-o", program, source).CombinedOutput(); err != nil {
		return "", fmt.Errorf("compiling the draining program with cc: %w: %s", err, said)
	}
	return program, nil
}
