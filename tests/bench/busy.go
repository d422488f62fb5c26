package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	busyCell  = "import time\nend = time.monotonic() + 3\nwhile time.monotonic() < end:\n    pass"
	busyPings = 500
	busyLists = 200
)

// measureBusy says how long answers take that need no Python while Python computes.
func measureBusy(ctx context.Context, b *bench) (err error) {
	server, err := b.serve(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.close()) }()
	cell, err := server.send("tools/call", cellParams(busyCell))
	if err != nil {
		return err
	}
	for _, request := range []struct {
		method string
		count  int
	}{{"ping", busyPings}, {"tools/list", busyLists}} {
		took, err := server.timeEach(request.method, request.count)
		if err != nil {
			return err
		}
		b.report.info(request.method+" while a cell computes", span(median(took)),
			fmt.Sprintf("median; 99 %% within %s, all within %s", span(quantile(took, 0.99)), span(quantile(took, 1))))
	}
	if _, early := server.waiting[cell]; early {
		return errors.New("the cell ended before the measurement")
	}
	_, err = server.await(cell)
	return err
}

// timeEach returns the seconds that each of that many calls took.
func (c *client) timeEach(method string, count int) ([]float64, error) {
	took := make([]float64, count)
	for i := range took {
		started := time.Now()
		if _, err := c.call(method, "{}"); err != nil {
			return nil, err
		}
		took[i] = time.Since(started).Seconds()
	}
	return took, nil
}
