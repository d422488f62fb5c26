package server

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	mcpserver "github.com/mark3labs/mcp-go/server"

	"ipython-mcp/dyntools"
	"ipython-mcp/internal/bounds"
)

// Name is what the server calls itself.
const Name = "ipython-mcp"

// Options is what a Server is made of.
type Options struct {
	Namespace Namespace
	Version   string        // of the program
	Limits    bounds.Limits // of names in answers and requests, and of dynamic tools
	// ModuleBindings are names that cannot be registered as tools, beside the shell's own.
	ModuleBindings []string
	Compact        bool         // leave null, empty and false fields out of structured answers
	Logger         *slog.Logger // nil: nothing is logged
	Startup        Startup      // what calls wait for; nil: nothing
	Thread         Thread       // the interpreter's; nil: it cannot be lent

	Reply   time.Duration // how long a call waits for its turn and its end unless it says otherwise
	Timeout time.Duration // how long code runs at most unless the call says otherwise; 0: for ever
	// Answer is how long a question waits for a call that takes it along, and then for the retry that answers it. It only
	// concerns calls that choose a revision by themselves.
	Answer time.Duration
}

// Server is the MCP server of one namespace. It may serve several connections.
type Server struct {
	core      *mcpserver.MCPServer
	namespace Namespace
	limits    bounds.Limits
	compact   bool
	log       *slog.Logger
	startup   Startup
	thread    Thread
	reply     time.Duration
	timeout   time.Duration
	patience  time.Duration
	registry  *dyntools.Registry
	tools     map[string]*tool // the stable ones; constant

	mu       sync.RWMutex
	sessions map[*session]struct{}
	opened   int // sessions so far
}

// New makes a server with the stable tools.
func New(o Options) (*Server, error) {
	s := &Server{
		namespace: o.Namespace,
		limits:    o.Limits,
		compact:   o.Compact,
		log:       o.Logger,
		startup:   o.Startup,
		thread:    o.Thread,
		reply:     o.Reply,
		timeout:   o.Timeout,
		patience:  o.Answer,
		registry:  newRegistry(o),
		tools:     make(map[string]*tool),
		sessions:  make(map[*session]struct{}),
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.core = mcpserver.NewMCPServer(Name, o.Version,
		mcpserver.WithInstructions(instructions),
		mcpserver.WithToolCapabilities(true),
		mcpserver.WithToolFilter(s.listed),
		mcpserver.WithHooks(hooks()),
	)
	stable, err := s.stableTools()
	if err != nil {
		return nil, err
	}
	for _, t := range stable {
		s.tools[t.definition.Name] = t
		s.core.AddTool(t.definition, s.handle)
	}
	s.namespace.Watch(&watcher{server: s})
	return s, nil
}

// Serve serves one connection. It returns nil once the input has ended and everything is answered, an error if the
// input or the output fails, and the context's cause when that ends; requests that are left are then withdrawn. Close
// the input to free its reader.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	s.mu.Lock()
	s.opened++
	ses := newSession(ctx, s, fmt.Sprintf("session-%d", s.opened), in, out)
	s.sessions[ses] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.sessions, ses)
		s.mu.Unlock()
	}()
	return ses.serve(ctx)
}

// tool returns a tool by name, a stale dynamic one too, or nil.
func (s *Server) tool(name string) *tool {
	if t := s.tools[name]; t != nil {
		return t
	}
	if r, is := s.registry.View().Lookup(name); is {
		return s.dynamicTool(r)
	}
	return nil
}

// announce tells every client that the list of tools has changed.
func (s *Server) announce() {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for ses := range s.sessions {
		ses.toolsChanged()
	}
}
