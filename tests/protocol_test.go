package tests

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// hello is the result of initialize.
type hello struct {
	ProtocolVersion string
	ServerInfo      struct{ Name, Version string }
	Instructions    string
	Capabilities    map[string]any
}

const (
	newestLegacy = "2025-11-25"
	newest       = "2026-07-28"
)

// Every revision of the handshake is spoken; of one that is not known the newest that is.
func TestProtocol_Revisions(t *testing.T) {
	for revision, spoken := range map[string]string{
		"2024-11-05": "2024-11-05", "2025-03-26": "2025-03-26", "2025-06-18": "2025-06-18", newestLegacy: newestLegacy,
		"2099-01-01": newestLegacy, "1999-01-01": newestLegacy, "nonsense": newestLegacy,
	} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			s := start(t, options{})
			h := decodeInto[hello](t, s.initialize(revision))
			if h.ProtocolVersion != spoken || h.ServerInfo.Name != "ipython-mcp" || h.ServerInfo.Version == "" ||
				h.Capabilities["tools"] == nil {
				t.Errorf("initialize says %+v", h)
			}
			if h.Instructions == "" || len(h.Instructions) >= 2000 {
				t.Errorf("the instructions have %d characters", len(h.Instructions))
			}
			s.works("the handshake")
		})
	}
}

// modernMeta is what each request of the revision without a handshake carries.
var modernMeta = map[string]any{
	"io.modelcontextprotocol/protocolVersion":    "2026-07-28",
	"io.modelcontextprotocol/clientCapabilities": map[string]any{},
	"io.modelcontextprotocol/clientInfo":         map[string]any{"name": "test", "version": "1"},
}

func TestProtocol_WithoutHandshake(t *testing.T) {
	t.Parallel()
	s := start(t, options{})
	result, refused := s.request("server/discover", map[string]any{"_meta": modernMeta})
	if refused != nil {
		t.Fatalf("server/discover: %+v", refused)
	}
	var found struct{ SupportedVersions []string }
	if err := json.Unmarshal(result, &found); err != nil {
		t.Fatal(err)
	}
	for _, revision := range []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"} {
		if !slices.Contains(found.SupportedVersions, revision) {
			t.Errorf("%s is not among %v", revision, found.SupportedVersions)
		}
	}
	result, refused = s.request(
		"tools/call",
		map[string]any{"name": "execute", "arguments": map[string]any{"code": "6 * 7"}, "_meta": modernMeta},
	)
	if refused != nil || !bytes.Contains(result, []byte(`"result":42`)) {
		t.Errorf("the call gave %s, %+v", result, refused)
	}
	if result, refused = s.request(
		"tools/list",
		map[string]any{"_meta": modernMeta},
	); refused != nil ||
		!bytes.Contains(result, []byte(`"execute"`)) {
		t.Errorf("the list is %.200s, %+v", result, refused)
	}
	// Both eras in one connection see one namespace.
	s.initialize("2025-06-18")
	s.equals("_", "42")
}

// initialize is answered twice alike, and does not disturb what runs.
func TestProtocol_InitializeAgain(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.succeed("x = 5")
	s.initialize(newestLegacy)
	s.equals("x", "5")
}

// toolList is the result of tools/list.
type toolList struct {
	Tools []struct {
		Name, Title, Description  string
		InputSchema, OutputSchema json.RawMessage
		Annotations               map[string]any
	}
}

// Tools carry titles, annotations, descriptions and schemas that every client can read.
func TestProtocol_ToolList(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	result, _ := s.request("tools/list", map[string]any{})
	var names []string
	for _, tool := range decodeInto[toolList](t, result).Tools {
		names = append(names, tool.Name)
		if tool.Title == "" || tool.Description == "" || len(tool.Description) >= 2000 {
			t.Errorf("%s: title %q, description of %d characters", tool.Name, tool.Title, len(tool.Description))
		}
		for _, hint := range []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} {
			if _, stated := tool.Annotations[hint].(bool); !stated {
				t.Errorf("%s does not state %s", tool.Name, hint)
			}
		}
		input := decodeInto[map[string]json.RawMessage](t, tool.InputSchema)
		if string(input["type"]) != `"object"` || input["anyOf"] != nil || input["oneOf"] != nil ||
			input["allOf"] != nil {
			t.Errorf("%s: the input schema is %s", tool.Name, tool.InputSchema)
		}
		if bytes.Contains(tool.InputSchema, []byte(`"$ref"`)) || bytes.Contains(tool.OutputSchema, []byte(`"$ref"`)) {
			t.Errorf("%s: a schema has references", tool.Name)
		}
		// Answers with images carry no structuredContent, so their tools must not promise it.
		if mayHaveImages := tool.Name == "execute" ||
			tool.Name == "call_function"; mayHaveImages &&
			tool.OutputSchema != nil {
			t.Errorf("%s promises structured answers", tool.Name)
		}
	}
	stable := []string{"execute", "list", "call_function", "search", "reload", "inspect", "remove", "reset"}
	if len(names) < len(stable) || !slices.Equal(names[:len(stable)], stable) {
		t.Errorf("the tools are %v", names)
	}
	if slices.Contains(names, "runtime_status") {
		t.Error("a retired tool is listed")
	}
}

// mcpClient starts a server under mcp-go's client.
func mcpClient(t *testing.T, o ...client.ClientOption) (*client.Client, *mcp.InitializeResult) {
	t.Helper()
	takeSlot(t)
	home, tmp := t.TempDir(), t.TempDir()
	command := transport.WithCommandFunc(func(ctx context.Context, path string, _, args []string) (*exec.Cmd, error) {
		c := exec.CommandContext(ctx, path, args...)
		c.Env, c.Dir = baseEnvironment(home, tmp), home
		return c, nil
	})
	c := client.NewClient(transport.NewStdioWithOptions(binary, nil, nil, command), o...)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := c.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		checkEmpty(t, tmp)
		checkEmpty(t, home)
	})
	said, err := c.Initialize(
		ctx,
		mcp.InitializeRequest{Params: mcp.InitializeParams{ClientInfo: mcp.Implementation{Name: "test", Version: "1"}}},
	)
	if err != nil {
		t.Fatal(err)
	}
	return c, said
}

// An ordinary session with a real client, in both eras of the protocol.
func TestProtocol_RealClient(t *testing.T) {
	for revision, o := range map[string][]client.ClientOption{
		"2026-07-28": nil,
		newestLegacy: {client.WithProtocolVersion(newestLegacy)},
		"2024-11-05": {client.WithProtocolVersion("2024-11-05")},
	} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			c, said := mcpClient(t, o...)
			if said.ProtocolVersion != revision {
				t.Errorf("the client speaks %s", said.ProtocolVersion)
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			list, err := c.ListTools(ctx, mcp.ListToolsRequest{})
			if err != nil || len(list.Tools) < 8 {
				t.Fatalf("the list is %+v, %v", list, err)
			}
			call := func(tool string, arguments map[string]any) *mcp.CallToolResult {
				t.Helper()
				result, err := c.CallTool(
					ctx,
					mcp.CallToolRequest{Params: mcp.CallToolParams{Name: tool, Arguments: arguments}},
				)
				if err != nil {
					t.Fatal(err)
				}
				return result
			}
			call("execute", map[string]any{"code": "def area(w, h): return w * h"})
			answer := call("call_function", map[string]any{"name": "area", "arguments": map[string]any{"w": 3, "h": 4}})
			if structured, is := answer.StructuredContent.(map[string]any); !is || structured["result"] != 12.0 {
				t.Errorf("the answer is %+v", answer.StructuredContent)
			}
			answer = call("execute", map[string]any{"code": "1/0"})
			if text, is := answer.Content[0].(mcp.TextContent); !is ||
				!strings.Contains(text.Text, "ZeroDivisionError") ||
				answer.IsError {
				t.Errorf("the answer is %+v", answer)
			}
			cancelled, stop := context.WithCancel(ctx)
			stop()
			if _, err := c.CallTool(
				cancelled,
				mcp.CallToolRequest{
					Params: mcp.CallToolParams{Name: "execute", Arguments: map[string]any{"code": "while True: pass"}},
				},
			); err == nil {
				t.Error("a cancelled call is answered")
			}
			if answer = call("execute", map[string]any{"code": "area(2, 2)"}); answer.IsError {
				t.Errorf("after a cancellation: %+v", answer)
			}
		})
	}
}
