package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// startRounds is enough: a start is long, and differs little from the next.
const startRounds = 15

// measureStarts compares the time to an answered handshake with that of a plain Python that builds a shell.
func measureStarts(ctx context.Context, b *bench) error {
	var plain, handshake, firstCell []float64
	for range min(b.rounds, startRounds) {
		started := time.Now()
		worker, err := b.startWorker(ctx)
		if err != nil {
			return err
		}
		plain = append(plain, time.Since(started).Seconds())
		if err := worker.close(); err != nil {
			return err
		}
		answered, executed, err := b.timeStart(ctx)
		if err != nil {
			return err
		}
		handshake, firstCell = append(handshake, answered), append(firstCell, executed)
	}
	b.report.atMost("start to initialize answered / to a shell in plain Python", medianRatio(handshake, plain), 1.2,
		fmt.Sprintf("%s / %s", span(median(handshake)), span(median(plain))))
	b.report.info("start to the first cell answered / the same", times(medianRatio(firstCell, plain)),
		fmt.Sprintf("%s / %s", span(median(firstCell)), span(median(plain))))
	return nil
}

// timeStart returns the seconds from the start of a server to its handshake, and to its first cell, which is asked for
// right after it.
func (b *bench) timeStart(ctx context.Context) (handshake, firstCell float64, err error) {
	started := time.Now()
	c, err := dial(b.server(ctx))
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	if err := c.initialize(); err != nil {
		return 0, 0, err
	}
	handshake = time.Since(started).Seconds()
	if _, err := c.execute("1+1"); err != nil {
		return 0, 0, err
	}
	return handshake, time.Since(started).Seconds(), nil
}
