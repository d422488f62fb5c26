package main

import (
	"context"
	"io"
	"os"
	"time"

	"ipython-mcp/envprov"
)

// The end, counted from EOF on stdin or a signal. The contract allows 2 s in all.
const (
	answerGrace    = 400 * time.Millisecond  // for calls that are about to be answered, after EOF only
	interruptGrace = 500 * time.Millisecond  // for code that is being interrupted, after that
	exitLimit      = 1300 * time.Millisecond // then the process ends even if atexit handlers still run
	childrenGrace  = 150 * time.Millisecond  // between asking children to end and killing them
)

// serveProtocol speaks MCP from the handshake to the end of the connection, then ends the process. It runs in a
// goroutine of its own.
func (p *process) serveProtocol(stopPreparing func()) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	input := newEarlyReader(p.stdio.In, int(p.stdio.In.Fd()), p.handshake, func() { time.AfterFunc(answerGrace, cancel) })
	go func() {
		<-p.terminated
		time.AfterFunc(exitLimit, p.exitHard)
		cancel()
	}()
	select {
	case <-p.handshake:
		if err := p.server.Serve(ctx, input, p.stdio.Out); err != nil && ctx.Err() == nil {
			p.log.Warn("the connection broke", "error", err)
		}
	case <-ctx.Done():
	}
	p.end(stopPreparing)
}

// end interrupts what runs and lets the interpreter finalize; run returns on the main thread then.
func (p *process) end(stopPreparing func()) {
	time.AfterFunc(exitLimit-answerGrace, p.exitHard)
	p.ending.Store(true)
	stopPreparing()
	ctx, cancel := context.WithTimeout(context.Background(), interruptGrace)
	defer cancel()
	if !p.kernel.Stop(ctx) {
		p.log.Warn("the running code could not be interrupted; ending without it")
		p.exitHard()
	}
	// Fails only when the interpreter has gone already.
	_ = p.channel.Finish()
	close(p.ended)
}

// exitHard ends the process whatever Python does.
func (p *process) exitHard() {
	p.cleanup()
	os.Exit(exitOK)
}

// cleanup undoes what assemble made, the newest first. A second caller waits for the first and does nothing.
func (p *process) cleanup() {
	p.cleanupOnce.Do(func() {
		for i := len(p.cleanups) - 1; i >= 0; i-- {
			if err := p.cleanups[i](); err != nil && p.log != nil {
				p.log.Warn("could not clean up", "error", err)
			}
		}
	})
}

// startupLog passes on the first characters that are written before the namespace is up, and drops the rest.
type startupLog struct {
	out      io.Writer
	left     int               // bytes
	redactor *envprov.Redactor // takes secrets out of each write; nil knows none
}

func (l *startupLog) Write(data []byte) (int, error) {
	if part := data[:min(len(data), l.left)]; len(part) > 0 {
		l.left -= len(part)
		if _, err := io.WriteString(l.out, l.redactor.Redact(string(part))); err != nil {
			return 0, err
		}
	}
	return len(data), nil
}
