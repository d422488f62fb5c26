package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"ipython-mcp/internal/beat"
)

// errSessionEnded is the cause with which the contexts of a session's requests end when the session does.
var errSessionEnded = errors.New("the session has ended")

// session is one connection. It is created by Server.Serve and lives as long as that call.
type session struct {
	server *Server
	id     string
	ctx    context.Context // parent of every request's
	cancel context.CancelCauseFunc
	out    *writer

	// The reader's; handed over with role.
	lines    *lineReader
	input    Polled // nil: cannot be waited for
	serial   uint64
	role     atomic.Uint64
	seen     atomic.Uint64 // role at the last beat
	takeOver *beat.Beat

	idle    chan struct{} // closed when the input has ended and no job is left
	broken  chan struct{} // closed when the output has failed
	failure error         // why; set before broken is closed
	changed chan struct{} // holds one element while a tools/list_changed is due

	mu          sync.Mutex
	inflight    map[string]*request // by idKey
	jobs        int                 // all that have not ended
	running     int                 // those of them that are not parked
	inputDone   bool
	inputErr    error                      // nil at a plain EOF
	settled     bool                       // idle is closed
	ready       bool                       // the client has finished the legacy handshake
	initialized bool                       // initialize has been answered
	listeners   map[string]json.RawMessage // ids of the subscriptions/listen requests that wait for tools/list_changed
	elicits     bool                       // the client can put a form to its user
	asked       int                        // questions so far
	questions   map[string]chan<- message  // open ones, by their ids; nil once no response can come any more

	parking parking // open questions of calls that take no requests
}

func newSession(ctx context.Context, server *Server, id string, in io.Reader, out io.Writer) *session {
	s := &session{
		server:    server,
		id:        id,
		lines:     newLineReader(in, maxLineBytes),
		idle:      make(chan struct{}),
		broken:    make(chan struct{}),
		changed:   make(chan struct{}, 1),
		inflight:  make(map[string]*request),
		listeners: make(map[string]json.RawMessage),
		questions: make(map[string]chan<- message),
	}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	s.out = newWriter(out, func(err error) {
		s.failure = fmt.Errorf("writing to the client: %w", err)
		close(s.broken)
	})
	s.takeOver = beat.New(takeOverAfter, s.becomeReader)
	s.input, _ = in.(Polled)
	return s
}

// serve runs the session until the input has ended and every request is answered, the output fails, or the context
// ends.
func (s *session) serve(ctx context.Context) error {
	defer s.end()
	// The reader hands its role on; the last one ends at the end of the input or, once the session has ended, with the
	// next line. The other goroutine ends with the session.
	go s.read()
	go s.notify()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.broken:
		return s.failure
	case <-s.idle:
		if s.inputErr != nil {
			return fmt.Errorf("reading from the client: %w", s.inputErr)
		}
		return nil
	}
}

// end withdraws what still runs and closes the output.
func (s *session) end() {
	s.out.closed.Store(true)
	s.takeOver.Stop()
	s.cancel(errSessionEnded)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeQuestionsLocked()
}

func (s *session) ended() bool { return s.ctx.Err() != nil }

// inputEnds is the reader's last act. Subscriptions and questions have nothing to wait for any more.
func (s *session) inputEnds(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inputDone = true
	if !errors.Is(err, io.EOF) {
		s.inputErr = err
	}
	for _, r := range s.inflight {
		if r.method == methodListen {
			r.cancel(errSessionEnded)
		}
	}
	s.closeQuestionsLocked()
	s.settleLocked()
}

func (s *session) settleLocked() {
	if s.inputDone && s.jobs == 0 && !s.settled {
		s.settled = true
		close(s.idle)
	}
}
