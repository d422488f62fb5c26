package shell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"ipython-mcp/internal/bounds"
)

// ErrEnded is returned by operations once the interpreter is gone.
var ErrEnded = errors.New("the Python interpreter has ended; restart the server")

// StartupError is what every operation returns when the namespace could not be started.
type StartupError struct {
	Phase   string // as the client contract names it: "preload", "shell"
	Message string
}

func (e *StartupError) Error() string {
	return fmt.Sprintf("task environment startup failed during %s: %s", e.Phase, e.Message)
}

// Settings is what the namespace starts with. The zero value of a field means none.
type Settings struct {
	PreloadModules []string          // imported before the shell exists
	ModuleAliases  map[string]string // module to binding; every key is a preload
	LibraryPaths   []string          // first in sys.path
	SitePath       string            // directory with the bundled IPython
	Environment    bool              // the interpreter is an environment's, whose own IPython must do
	LogFD          int               // where crash reports go
	StackSignal    int               // makes the interpreter write its main thread's stack
	StackFD        int               // where to

	Redact func(string) string // takes secrets out of what a failed start says; nil: it has none
}

// Options is what a Shell is made of.
type Options struct {
	Engine Engine
	Output Output
	Limits bounds.Limits
	// InterruptChildren passes an interrupt on to the processes that were started since a moment; nil: to nobody.
	InterruptChildren func(since time.Time)
	// Stack reads the main thread's Python stack, as faulthandler writes it; nil: nobody can.
	Stack func() string
	// Keep keeps an open file from user code until the returned function is called; nil: nobody has to.
	Keep func(*os.File) (release func())
	// Aside does work that takes long without keeping Python's thread from Python; nil: the thread has nothing to do with the caller.
	Aside   func(work func())
	Scratch string // private directory for spools and what IPython writes; the caller removes it at the end
}

// Shell is the live namespace.
type Shell struct {
	engine  Engine
	output  Output
	limits  bounds.Limits
	scratch string
	// children interrupts what was started since a moment; may be nil.
	children func(since time.Time)
	stack    func() string // may be nil
	aside    func(work func())
	keep     func(*os.File) (release func()) // may be nil

	queue   queue
	starts  *Ticket       // the first ticket, until Start ends
	up      chan struct{} // closed then
	request int           // number of the last request; used by the ticket whose turn it is
	failure atomic.Pointer[StartupError]
	closing atomic.Bool

	watcher    Watcher         // set by Watch before the first operation; nil: nobody
	told       json.RawMessage // what Python compares; used by the ticket whose turn it is
	recording  *recording      // of the ticket whose turn it is; nil: nothing is recorded
	asking     *asking         // of the ticket whose turn it is; nil: nobody can be asked
	hit        bool            // an interrupt has ended the code of the ticket whose turn it is
	executions executions
	files      files
	background *bounds.Stream // output between operations; belongs to the ticket whose turn it is
}

// New makes the shell and opens its queue. Operations wait until Start has run.
func New(o Options) *Shell {
	s := &Shell{engine: o.Engine, output: o.Output, limits: o.Limits, scratch: o.Scratch, children: o.InterruptChildren}
	s.stack, s.keep, s.up, s.aside = o.Stack, o.Keep, make(chan struct{}), o.Aside
	if s.aside == nil {
		s.aside = func(work func()) { work() }
	}
	s.files.directory, s.files.limit = o.Scratch, maxFileBytes
	s.starts = s.queue.reserve()
	s.background = bounds.NewStream(s.limits.TextChars, nil)
	return s
}

// Start prepares the namespace in the interpreter. What is printed meanwhile (by preloads) is written to startOutput. Call it once.
func (s *Shell) Start(settings Settings, startOutput io.Writer) error {
	defer s.started()
	s.output.Redirect(startOutput, startOutput)
	var value struct {
		Failure *struct{ Phase, Message string } `json:"failure"`
	}
	err := s.exchange("start", s.startArguments(settings), &value)
	s.output.Redirect(s.background, s.background)
	switch {
	case err != nil:
		s.failure.Store(&StartupError{Phase: "shell", Message: err.Error()})
	case value.Failure != nil:
		message := value.Failure.Message
		if settings.Redact != nil {
			message = settings.Redact(message)
		}
		message, _ = bounds.Cut(message, s.limits.TextChars)
		s.failure.Store(&StartupError{Phase: value.Failure.Phase, Message: message})
	}
	if failed := s.failure.Load(); failed != nil {
		return failed
	}
	return nil
}

func (s *Shell) startArguments(o Settings) map[string]any {
	l := s.limits
	return map[string]any{
		"limits": map[string]int{
			"text_chars":        l.TextChars,
			"repr_chars":        l.ReprChars,
			"traceback_chars":   l.TracebackChars,
			"results":           l.Results,
			"display_items":     l.DisplayItems,
			"json_depth":        l.JSONDepth,
			"description_chars": l.ToolDescriptionChars,
		},
		"preload_modules": append([]string{}, o.PreloadModules...),
		"module_aliases":  o.ModuleAliases,
		"library_paths":   append([]string{}, o.LibraryPaths...),
		"site":            o.SitePath,
		"environment":     o.Environment,
		"scratch":         s.scratch,
		"log_fd":          o.LogFD,
		"stack_signal":    o.StackSignal,
		"stack_fd":        o.StackFD,
	}
}

// Reserve takes the next place in the queue. It never blocks.
func (s *Shell) Reserve() *Ticket { return s.queue.reserve() }

// Stop withdraws what waits, interrupts what runs until it ends or the context does, and reports whether the interpreter is idle. No
// operation runs afterwards.
func (s *Shell) Stop(ctx context.Context) bool {
	s.closing.Store(true)
	last := s.queue.reserve()
	repeat := time.NewTicker(stopInterruptInterval)
	defer repeat.Stop()
	for {
		s.engine.Interrupt()
		select {
		case <-last.turn:
			return true
		case <-ctx.Done():
			return false
		case <-repeat.C:
		}
	}
}

// stopInterruptInterval is the time between two interrupts of code that is to end because the server ends.
const stopInterruptInterval = 100 * time.Millisecond

// perform waits for the ticket's turn, runs one operation with its output recorded, and gives the ticket back.
func (s *Shell) perform(ctx context.Context, t *Ticket, op string, args, value any, r *recording) error {
	return s.within(ctx, t, r, func() error { return s.exchange(op, args, value) })
}

// within waits for the ticket's turn, does the work of one operation with its output recorded, and gives the ticket back.
func (s *Shell) within(ctx context.Context, t *Ticket, r *recording, work func() error) error {
	if err := t.wait(ctx); err != nil {
		return err
	}
	defer t.Release()
	if failed := s.failure.Load(); failed != nil {
		return failed
	}
	if s.closing.Load() {
		return ErrEnded
	}
	if err := s.output.Restore(); err != nil {
		return err
	}
	r.scratch, s.recording = s.scratch, r
	defer func() { s.recording = nil }()
	if t.execution != nil {
		t.execution.recording.Store(r)
	}
	s.output.Redirect(r.stdout, r.stderr)
	if r.takesBackground {
		r.background = s.background.Snapshot()
		s.background = bounds.NewStream(s.limits.TextChars, nil)
	}
	defer func() { s.output.Redirect(s.background, s.background) }()

	s.asking = s.newAsking(t.Ask, r)
	defer func() {
		s.asking.end()
		s.asking = nil
	}()

	s.hit = false
	defer func() { t.hit = s.hit }()
	i := s.newInterrupter()
	defer i.end()
	defer context.AfterFunc(ctx, i.interruptUntilOver)()
	return work()
}

// exchange sends one request to the interpreter and decodes its value. Only the ticket whose turn it is may call it.
func (s *Shell) exchange(op string, args, value any) error {
	s.request++
	if s.recording != nil {
		s.recording.request.Store(int64(s.request))
	}
	tools := s.watched()
	request, err := json.Marshal(struct {
		ID     int             `json:"id"`
		Op     string          `json:"op"`
		Args   any             `json:"args"`
		Tools  json.RawMessage `json:"tools,omitempty"`
		CanAsk bool            `json:"can_ask,omitempty"`
	}{s.request, op, args, news(tools, s.told), s.asking != nil})
	if err != nil {
		return fmt.Errorf("cannot encode the %s request: %v", op, err)
	}
	reply, err := s.replyTo(op, request, value)
	if err != nil {
		return err
	}
	if reply.ID != s.request {
		return fmt.Errorf("the reply to %s carries id %d instead of %d", op, reply.ID, s.request)
	}
	if reply.Fault != nil {
		message, _ := bounds.Cut(reply.Fault.Message, s.limits.TextChars)
		return fmt.Errorf("the operation %s failed inside the server: %s: %s", op, reply.Fault.Type, message)
	}
	s.told = tools
	s.hit = s.hit || reply.Hit
	if err := s.reconcile(reply.Bindings); err != nil {
		return fmt.Errorf("cannot decode the bindings after %s: %v", op, err)
	}
	return nil
}

// fromPython is a frame of Python's: the reply to a request, or what comes before it.
type fromPython struct {
	ID       int                             `json:"id"`
	Value    any                             `json:"value"`       // a pointer to what the reply's is decoded into
	Hit      bool                            `json:"interrupted"` // an interrupt has ended the code
	Bindings json.RawMessage                 `json:"bindings"`
	Fault    *struct{ Type, Message string } `json:"fault"`
	Ask      *asked                          `json:"ask"`
	Withdraw int                             `json:"withdraw"` // number of the question that is given up
}

// replyTo sends a request and returns the reply, with its value decoded into what value points to; what Python asks meanwhile is put to who
// can be asked.
func (s *Shell) replyTo(op string, request []byte, value any) (reply fromPython, err error) {
	var broken error
	err = s.engine.Call(request, func(frame []byte) bool {
		reply = fromPython{Value: value}
		broken = json.Unmarshal(frame, &reply)
		if broken == nil && reply.ID > 0 && reply.ID < s.request {
			return false // an earlier request's second reply: something went wrong in Python right behind the first
		}
		return broken != nil || !s.asking.follow(reply.Ask, reply.Withdraw)
	})
	switch {
	case err != nil:
		return reply, fmt.Errorf("%w (%v)", ErrEnded, err)
	case broken != nil:
		return reply, fmt.Errorf("cannot decode the reply to %s: %v", op, broken)
	}
	return reply, nil
}

// Fail ends a start that never came to Start: every operation answers err. Call it instead of Start.
func (s *Shell) Fail(err *StartupError) {
	s.failure.Store(err)
	s.started()
}

// started lets the operations begin.
func (s *Shell) started() {
	s.starts.Release()
	close(s.up)
}
