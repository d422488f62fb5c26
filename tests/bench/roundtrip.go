package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	cellsPerRound = 100
	warmUpCells   = 200
)

// measureRoundTrips compares execute("1+1") over stdio with the bare work in plain Python, and with a FastMCP server that does it.
func measureRoundTrips(ctx context.Context, b *bench) (err error) {
	worker, err := b.startWorker(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, worker.close()) }()
	server, err := b.serve(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.close()) }()
	contenders := []func(int) (float64, error){worker.cells, server.cells}
	if b.fastMCPPath != "" {
		fastMCP, err := b.startFastMCP(ctx)
		if err != nil {
			return fmt.Errorf("the FastMCP server: %w", err)
		}
		defer func() { _ = fastMCP.close() }() // how it ends is not what is measured
		contenders = append(contenders, fastMCP.cells)
	}
	seconds, err := takeTurns(b.rounds, contenders)
	if err != nil {
		return err
	}
	plain, ours := seconds[0], seconds[1]
	b.report.atMost("execute(\"1+1\") over stdio / run_cell in plain Python", medianRatio(ours, plain), 1.5,
		fmt.Sprintf("%s / %s", milliseconds(median(ours)), milliseconds(median(plain))))
	const versusFastMCP = "the same in a FastMCP server / over stdio"
	if len(seconds) < 3 {
		b.report.add(row{what: versusFastMCP, absent: true, goal: "≥ 5×", details: "not measured: give -fastmcp-path"})
		return nil
	}
	b.report.atLeast(versusFastMCP, medianRatio(seconds[2], ours), 5,
		fmt.Sprintf("%s / %s", milliseconds(median(seconds[2])), milliseconds(median(ours))))
	return nil
}

// takeTurns has every contender run its cells in every round, after a warm-up; it returns the seconds per cell by contender and round.
func takeTurns(rounds int, contenders []func(int) (float64, error)) ([][]float64, error) {
	seconds := make([][]float64, len(contenders))
	for i, contender := range contenders {
		if _, err := contender(warmUpCells); err != nil {
			return nil, err
		}
		seconds[i] = make([]float64, rounds)
	}
	for round := range rounds {
		for i, contender := range contenders {
			took, err := contender(cellsPerRound)
			if err != nil {
				return nil, err
			}
			seconds[i][round] = took
		}
	}
	return seconds, nil
}

// cells calls execute("1+1") that many times and returns the seconds that one took.
func (c *client) cells(count int) (float64, error) {
	params := cellParams("1+1")
	started := time.Now()
	for range count {
		if _, err := c.call("tools/call", params); err != nil {
			return 0, err
		}
	}
	return time.Since(started).Seconds() / float64(count), nil
}

func (b *bench) startFastMCP(ctx context.Context) (*client, error) {
	c, err := dial(b.plain(ctx, fastMCPScript, b.fastMCPPath))
	if err != nil {
		return nil, err
	}
	if err := c.initialize(); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}
