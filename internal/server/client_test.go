package server

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// The MCP library's own client gets through its handshake, lists and calls the tools and hears of changes, in every
// revision.
func TestClient(t *testing.T) {
	for _, version := range mcp.ValidProtocolVersions {
		t.Run(version, func(t *testing.T) {
			s := newServer(t, Options{})
			c := dial(t, s, version)
			ctx, done := context.WithTimeout(context.Background(), patience)
			defer done()
			request := mcp.InitializeRequest{}
			request.Params.ProtocolVersion = version
			request.Params.ClientInfo = mcp.Implementation{Name: "test", Version: "1"}
			hello, err := c.Initialize(ctx, request)
			if err != nil || hello.ServerInfo.Name != Name || hello.Instructions == "" {
				t.Fatalf("initialize: %+v, %v", hello, err)
			}
			if got := c.ProtocolVersion(); got != version {
				t.Errorf("the client speaks %s", got)
			}
			tools, err := c.ListTools(ctx, mcp.ListToolsRequest{})
			if err != nil || len(tools.Tools) != len(stableNames) {
				t.Fatalf("tools/list: %+v, %v", tools, err)
			}
			call := mcp.CallToolRequest{}
			call.Params.Name, call.Params.Arguments = "execute", map[string]any{"code": "1 < 2"}
			result, err := c.CallTool(ctx, call)
			if err != nil || result.IsError || len(result.Content) != 1 {
				t.Fatalf("execute: %+v, %v", result, err)
			}
			if text, is := result.Content[0].(mcp.TextContent); !is || text.Text != "1 < 2" {
				t.Errorf("execute: %+v", result.Content)
			}
			call.Params.Arguments = map[string]any{}
			if _, err := c.CallTool(ctx, call); err == nil {
				t.Error("execute without code is no error")
			}
		})
	}
}

func dial(t *testing.T, s *Server, version string) *client.Client {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- s.Serve(context.Background(), in, out)
		_ = out.Close()
	}()
	c := client.NewClient(transport.NewIO(fromServer, toServer, io.NopCloser(nil)), client.WithProtocolVersion(version))
	if err := c.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Close()
		select {
		case err := <-served:
			if err != nil {
				t.Errorf("Serve: %v", err)
			}
		case <-time.After(patience):
			t.Error("Serve did not return after the client had closed its side")
		}
	})
	return c
}
