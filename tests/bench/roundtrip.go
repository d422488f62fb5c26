package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	cellsPerRound = 50
	warmUpCells   = 200
	// casts is how many times all processes are started anew: two processes of the same program differ by a quarter in
	// speed on some machines, as long as they live.
	casts = 5
)

// measureRoundTrips compares execute("1+1") over stdio with the bare work in plain Python, and with a FastMCP server
// that does the same.
func measureRoundTrips(ctx context.Context, b *bench) error {
	var plain, ours, fastMCP []float64
	for range casts {
		seconds, err := b.castTrips(ctx, max(1, b.rounds/casts))
		if err != nil {
			return err
		}
		plain, ours = append(plain, seconds[0]...), append(ours, seconds[1]...)
		if len(seconds) > 2 {
			fastMCP = append(fastMCP, seconds[2]...)
		}
	}
	b.report.atMost("execute(\"1+1\") over stdio / run_cell in plain Python", medianRatio(ours, plain), 1.5,
		fmt.Sprintf("%s / %s; %s", span(median(ours)), span(median(plain)), spread(ours, plain)))
	const versusFastMCP = "the same in a FastMCP server / over stdio"
	if len(fastMCP) == 0 {
		b.report.add(row{what: versusFastMCP, absent: true, goal: "≥ 5×", details: "not measured: give -fastmcp-path"})
		return nil
	}
	b.report.atLeast(versusFastMCP, medianRatio(fastMCP, ours), 5,
		fmt.Sprintf("%s / %s; %s", span(median(fastMCP)), span(median(ours)), spread(fastMCP, ours)))
	return nil
}

// castTrips starts every contender and returns the seconds per cell by contender (plain Python, the server, FastMCP if it
// is there) and round.
func (b *bench) castTrips(ctx context.Context, rounds int) (seconds [][]float64, err error) {
	worker, err := b.startWorker(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, worker.close()) }()
	server, err := b.serve(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.close()) }()
	contenders := []func(int) (float64, error){worker.cells, server.cells}
	if b.fastMCPPath != "" {
		fastMCP, err := b.startFastMCP(ctx)
		if err != nil {
			return nil, fmt.Errorf("the FastMCP server: %w", err)
		}
		defer func() { _ = fastMCP.close() }() // how it ends is not what is measured
		contenders = append(contenders, fastMCP.cells)
	}
	return takeTurns(rounds, contenders)
}

// takeTurns has every contender run its cells in every round, after a warm-up. It returns the seconds per cell by
// contender and round.
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
	var whole time.Duration
	for range count {
		took, err := c.trip("tools/call", params)
		if err != nil {
			return 0, err
		}
		whole += took
	}
	return whole.Seconds() / float64(count), nil
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
