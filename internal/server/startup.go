package server

import (
	"context"
	"time"
)

const (
	// startupInterval is how often a call that waits for the start is told of it where nothing new happens.
	startupInterval = 2 * time.Second
	// startupPause is the least time between two of its progress notifications.
	startupPause = 100 * time.Millisecond
)

// Startup tells how far the start of the namespace is. Its method may be called from any goroutine.
type Startup interface {
	// Now says in words what is being done, for people; news is closed when that changes. Once over, the namespace is
	// there or has failed.
	Now() (text string, news <-chan struct{}, over bool)
}

// followStartup sends progress while a call waits for the start, until that is over or stop is called.
func (s *Server) followStartup(ctx context.Context, begun time.Time) (stop func()) {
	if s.startup == nil {
		return func() {}
	}
	if _, _, over := s.startup.Now(); over {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	go s.reportStartup(ctx, begun)
	return cancel
}

func (s *Server) reportStartup(ctx context.Context, begun time.Time) {
	for {
		text, news, over := s.startup.Now()
		if over || ctx.Err() != nil {
			return
		}
		Progress(ctx, time.Since(begun).Seconds(), text)
		select {
		case <-ctx.Done():
			return
		case <-time.After(startupPause):
		}
		select {
		case <-ctx.Done():
			return
		case <-news:
		case <-time.After(startupInterval):
		}
	}
}
