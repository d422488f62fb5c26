package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
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

// answer is what a call gave: the text block that people read, and the structured answer as JSON.
type answer struct {
	text       string
	structured string
}

// connect starts the server and shakes hands.
func connect(ctx context.Context, v *voice, path, library string) (*session, error) {
	s := &session{voice: v, log: &bytes.Buffer{}, library: library}
	s.server = exec.CommandContext(ctx, path)
	s.server.Env = append(os.Environ(), "IPYTHON_MCP_LIBRARY_PATHS="+library)
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
	if err := s.client.Start(ctx); err != nil {
		return nil, err
	}
	hello, err := s.client.Initialize(ctx, mcp.InitializeRequest{Params: mcp.InitializeParams{
		ProtocolVersion: mcp.LATEST_PROTOCOL_VERSION,
		ClientInfo:      mcp.Implementation{Name: "demo", Version: "1"},
	}})
	if err != nil {
		return nil, fmt.Errorf("%w; the server said: %s", err, s.log)
	}
	v.note("%s %s answered the handshake after %v", hello.ServerInfo.Name, hello.ServerInfo.Version,
		time.Since(started).Round(time.Millisecond))
	return s, nil
}

// call calls a tool; showing it is the caller's choice.
func (s *session) call(ctx context.Context, tool string, arguments map[string]any) (answer, error) {
	result, err := s.client.CallTool(ctx, mcp.CallToolRequest{Params: mcp.CallToolParams{Name: tool, Arguments: arguments}})
	if err != nil {
		return answer{}, err
	}
	var a answer
	for _, content := range result.Content {
		if text, ok := content.(mcp.TextContent); ok {
			a.text += text.Text
		}
	}
	structured, err := json.Marshal(result.StructuredContent)
	if err != nil {
		return answer{}, err
	}
	a.structured = string(structured)
	if result.IsError {
		return a, fmt.Errorf("%s was refused: %s", tool, a.text)
	}
	return a, nil
}

// cell executes code, shows both, and checks that the answer's text contains what is expected.
func (s *session) cell(ctx context.Context, code string, expect ...string) (answer, error) {
	s.voice.code(code)
	return s.shown(s.call(ctx, "execute", map[string]any{"code": code}))(expect...)
}

// tool calls another tool than execute, likewise.
func (s *session) tool(ctx context.Context, name string, arguments map[string]any, expect ...string) (answer, error) {
	s.voice.call(name, arguments)
	return s.shown(s.call(ctx, name, arguments))(expect...)
}

func (s *session) shown(a answer, err error) func(expect ...string) (answer, error) {
	return func(expect ...string) (answer, error) {
		if err != nil {
			return a, err
		}
		s.voice.answer(a.text)
		for _, part := range expect {
			if !strings.Contains(a.text, part) {
				return a, fmt.Errorf("expected %q in the answer %q", part, a.text)
			}
		}
		return a, nil
	}
}

// close closes the server's stdin, as clients do, and waits for its end.
func (s *session) close() error {
	err := s.client.Close()
	if wait := s.server.Wait(); wait != nil {
		err = errors.Join(err, fmt.Errorf("%w; the server said: %s", wait, s.log))
	}
	return err
}
