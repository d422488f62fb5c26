package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"ipython-mcp/internal/bounds"
)

// patience is how long tests wait for what must come; it only passes in full when a test fails.
const patience = 20 * time.Second

// conn is the client's end of a session in memory.
type conn struct {
	t      *testing.T
	in     *io.PipeWriter
	lines  chan string // closed when the server's output ends
	served chan error  // the result of Serve
	stop   context.CancelCauseFunc
}

func newServer(t testing.TB, o Options) *Server {
	t.Helper()
	if o.Namespace == nil {
		o.Namespace = newFakeNamespace()
	}
	o.Version = "1.2.3"
	if o.Limits.Results == 0 {
		o.Limits = bounds.Defaults()
	}
	o.Limits.TextChars = 100
	if o.Reply == 0 {
		o.Reply = patience
	}
	if o.Answer == 0 {
		o.Answer = patience
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// connect opens a session and closes it when the test ends.
func connect(t *testing.T, s *Server) *conn {
	t.Helper()
	clientIn, in := io.Pipe()
	out, serverOut := io.Pipe()
	ctx, stop := context.WithCancelCause(context.Background())
	c := &conn{t: t, in: in, lines: make(chan string, 1<<15), served: make(chan error, 1), stop: stop}
	go func() {
		c.served <- s.Serve(ctx, clientIn, serverOut)
		_ = serverOut.Close()
	}()
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(c.lines)
		reader := bufio.NewReader(out)
		for {
			line, err := reader.ReadString('\n')
			if err != nil {
				return
			}
			c.lines <- line[:len(line)-1]
		}
	})
	t.Cleanup(func() {
		stop(errors.New("test is over"))
		_ = in.Close()
		reading.Wait()
	})
	return c
}

func (c *conn) send(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Errorf("sending: %v", err)
	}
}

// next returns the next line of the server.
func (c *conn) next() string {
	c.t.Helper()
	select {
	case line, open := <-c.lines:
		if !open {
			c.t.Fatal("the server ended instead of answering")
		}
		return line
	case <-time.After(patience):
		c.t.Fatal("no line came from the server")
	}
	return ""
}

// ask sends a request and returns the next line.
func (c *conn) ask(line string) string {
	c.t.Helper()
	c.send(line)
	return c.next()
}

// end closes the client's side and returns what Serve returned and what still came.
func (c *conn) end() ([]string, error) {
	c.t.Helper()
	_ = c.in.Close()
	return c.rest()
}

func (c *conn) rest() ([]string, error) {
	c.t.Helper()
	select {
	case err := <-c.served:
		var rest []string
		for line := range c.lines {
			rest = append(rest, line)
		}
		return rest, err
	case <-time.After(patience):
		c.t.Fatal("Serve did not return")
	}
	return nil, nil
}

// answer is what tests look at in a line.
type answer struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func decode(t testing.TB, line string) answer {
	t.Helper()
	var a answer
	if err := json.Unmarshal([]byte(line), &a); err != nil {
		t.Fatalf("the server wrote %.200q: %v", line, err)
	}
	return a
}

// callResult is the result of a tools/call.
type callResult struct {
	Content    []struct{ Type, Text string }
	Structured json.RawMessage `json:"structuredContent"`
	IsError    bool
}

func decodeCall(t testing.TB, line string) callResult {
	t.Helper()
	var r callResult
	if err := json.Unmarshal(decode(t, line).Result, &r); err != nil {
		t.Fatalf("%.200s: %v", line, err)
	}
	return r
}

func toolCall(id, name, arguments string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + name + `",` +
		`"arguments":` + arguments + `}}`
}

func execute(id, code string) string {
	encoded, _ := json.Marshal(map[string]string{"code": code})
	return toolCall(id, "execute", string(encoded))
}

// modernMeta makes a request one of the 2026-07-28 era.
const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientCapabilities":{}}`

// modern makes a tools/call one of that era.
func modern(call string) string {
	return strings.Replace(call, `"arguments"`, modernMeta+`,"arguments"`, 1)
}

const initialize = `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-06-18",` +
	`"capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`

const initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`

func ping(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}` }

// logTo returns a logger that writes everything to a buffer.
func logTo() (*slog.Logger, *lockedBuffer) {
	b := &lockedBuffer{}
	return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{Level: slog.LevelDebug})), b
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
