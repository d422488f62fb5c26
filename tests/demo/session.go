package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// session is one connection to a server that was started for it.
type session struct {
	voice   *voice
	client  *client.Client
	server  *exec.Cmd
	log     *bytes.Buffer // the server's stderr
	library string        // a directory on the server's sys.path
}

// connect starts the server and shakes hands.
func connect(ctx context.Context, v *voice, path, library string) (*session, error) {
	s := &session{voice: v, log: &bytes.Buffer{}, library: library}
	s.server = exec.CommandContext(ctx, path)
	s.server.Env = environment("IPYTHON_MCP_LIBRARY_PATHS=" + library)
	s.server.Stderr = s.log
	input, err := s.server.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := s.server.StdoutPipe()
	if err != nil {
		return nil, err
	}
	v.title("Start " + path)
	started := time.Now()
	if err := s.server.Start(); err != nil {
		return nil, err
	}
	s.client = client.NewClient(transport.NewIO(output, input, io.NopCloser(strings.NewReader(""))))
	if err := s.shakeHands(ctx, started); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *session) shakeHands(ctx context.Context, started time.Time) error {
	if err := s.client.Start(ctx); err != nil {
		return err
	}
	hello, err := s.client.Initialize(ctx, mcp.InitializeRequest{Params: mcp.InitializeParams{
		ProtocolVersion: mcp.LATEST_PROTOCOL_VERSION,
		ClientInfo:      mcp.Implementation{Name: "demo", Version: "1"},
	}})
	if err != nil {
		return err
	}
	s.voice.note("%s %s answered the handshake after %v; the first start of all extracts the Python inside", hello.ServerInfo.Name,
		hello.ServerInfo.Version, time.Since(started).Round(time.Millisecond))
	return nil
}

// environment is this process's, without settings of the server that would make its answers other than the demo
// expects. Which Python it runs, and where its cache is, make no difference.
func environment(extra ...string) []string {
	kept := slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		indifferent := name == "IPYTHON_MCP_PYTHON" || name == "IPYTHON_MCP_CACHE_DIR"
		return strings.HasPrefix(name, "IPYTHON_MCP_") && !indifferent
	})
	return append(kept, extra...)
}

// call calls a tool and returns the text block of its answer, and a line for each picture; showing it is the caller's choice.
func (s *session) call(ctx context.Context, tool string, arguments map[string]any) (string, error) {
	params := mcp.CallToolParams{Name: tool, Arguments: arguments}
	result, err := s.client.CallTool(ctx, mcp.CallToolRequest{Params: params})
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, content := range result.Content {
		switch block := content.(type) {
		case mcp.TextContent:
			text.WriteString(block.Text)
		case mcp.ImageContent:
			fmt.Fprintf(&text, "\n[%s, %d characters of base64]", block.MIMEType, len(block.Data))
		}
	}
	if result.IsError {
		return "", fmt.Errorf("%s was refused: %s", tool, &text)
	}
	return text.String(), nil
}

// cell executes code, shows both, and checks that the answer contains what is expected.
func (s *session) cell(ctx context.Context, code string, expected ...string) error {
	s.voice.code(code)
	return s.show(ctx, "execute", map[string]any{"code": code}, expected)
}

// started executes code and waits for it no longer than so many seconds.
func (s *session) started(ctx context.Context, seconds float64, code string, expected ...string) error {
	s.voice.code(code)
	s.voice.note("wait_seconds: %v", seconds)
	return s.show(ctx, "execute", map[string]any{"code": code, "wait_seconds": seconds}, expected)
}

// tool calls another tool than execute, likewise.
func (s *session) tool(ctx context.Context, name string, arguments map[string]any, expected ...string) error {
	s.voice.call(name, arguments)
	return s.show(ctx, name, arguments, expected)
}

func (s *session) show(ctx context.Context, tool string, arguments map[string]any, expected []string) error {
	text, err := s.call(ctx, tool, arguments)
	if err != nil {
		return err
	}
	s.voice.answer(text)
	for _, part := range expected {
		if !strings.Contains(text, part) {
			return fmt.Errorf("expected %q in the answer %q", part, text)
		}
	}
	return nil
}

// close closes the server's stdin, as clients do, and waits for its end.
func (s *session) close() error {
	err := s.client.Close()
	if wait := s.server.Wait(); wait != nil {
		err = errors.Join(err, fmt.Errorf("%w; the server said: %s", wait, s.log))
	}
	return err
}
