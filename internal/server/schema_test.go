package server

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"ipython-mcp/shell"
)

type listedTool struct {
	Name, Title, Description  string
	InputSchema, OutputSchema json.RawMessage
	Annotations               map[string]any
}

func listTools(t *testing.T, s *Server) []listedTool {
	t.Helper()
	var listed struct{ Tools []listedTool }
	line := connect(t, s).ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if err := json.Unmarshal(decode(t, line).Result, &listed); err != nil {
		t.Fatal(err)
	}
	return listed.Tools
}

// What clients and models need of every tool, whatever it is.
func TestTools_form(t *testing.T) {
	withoutOutput := []string{"execute", "call_function", "get_execution"}
	tools := listTools(t, newServer(t, Options{}))
	if len(tools) != len(stableNames) {
		t.Fatalf("%d tools are listed", len(tools))
	}
	for i, tool := range tools {
		t.Run(tool.Name, func(t *testing.T) {
			if tool.Name != stableNames[i] || tool.Title == "" || tool.Description == "" {
				t.Errorf("name %q, title %q, description %q", tool.Name, tool.Title, tool.Description)
			}
			if n := utf8.RuneCountInString(tool.Description); n >= 2000 {
				t.Errorf("the description has %d characters", n)
			}
			for _, hint := range []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} {
				if _, stated := tool.Annotations[hint].(bool); !stated {
					t.Errorf("%s is not stated", hint)
				}
			}
			checkInputSchema(t, tool.InputSchema)
			if got := tool.OutputSchema != nil; got == slices.Contains(withoutOutput, tool.Name) {
				t.Errorf("has an output schema: %v", got)
			}
		})
	}
	if n := utf8.RuneCountInString(instructions); n >= 2000 {
		t.Errorf("the instructions have %d characters", n)
	}
}

func checkInputSchema(t *testing.T, raw json.RawMessage) {
	t.Helper()
	var schema struct {
		Type                 string
		Properties           map[string]struct{ Description string }
		AdditionalProperties *bool
		AnyOf, OneOf, AllOf  any
	}
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatal(err)
	}
	closed := schema.AdditionalProperties != nil && !*schema.AdditionalProperties
	if schema.Type != "object" || schema.Properties == nil || !closed ||
		schema.AnyOf != nil || schema.OneOf != nil || schema.AllOf != nil {
		t.Errorf("the schema is %s", raw)
	}
	for _, forbidden := range []string{"$ref", "$id", "$schema", "$defs"} {
		if strings.Contains(string(raw), forbidden) {
			t.Errorf("the schema has %s: %s", forbidden, raw)
		}
	}
	for name, property := range schema.Properties {
		if property.Description == "" {
			t.Errorf("the argument %s has no description", name)
		}
	}
}

// Every answer, refusals and answers that Go made up included, fits the output schema that its tool declares, with
// all fields and compact.
func TestTools_answersFitTheirSchemas(t *testing.T) {
	calls := map[string]string{
		"list": "{}", "search": `{"query":"x"}`, "reload": `{"modules":["numpy"]}`, "inspect": `{"name":"x"}`,
		"remove": `{"names":[]}`, "reset": "{}", "register_tool": `{"name":"f"}`, "unregister_tool": `{"names":["f"]}`,
		"read_output": `{"execution_id":"e1"}`, "interrupt": `{"execution_id":"e1"}`,
	}
	for name, fail := range map[string]error{
		"answers":           nil,
		"failed start":      &shell.StartupError{Phase: "preload", Message: "no"},
		"interpreter ended": shell.ErrEnded,
		"inner error":       errors.New("the operation failed inside the server"),
	} {
		for _, compact := range []bool{false, true} {
			namespace := newFakeNamespace()
			namespace.fail = fail
			s := newServer(t, Options{Namespace: namespace, Compact: compact})
			c := connect(t, s)
			for _, tool := range listTools(t, s) {
				if tool.OutputSchema == nil {
					continue
				}
				got := decodeCall(t, c.ask(toolCall("1", tool.Name, calls[tool.Name])))
				if got.IsError != (fail != nil) || len(got.Content) != 1 || got.Content[0].Text == "" {
					t.Errorf("%s, %s: %+v", name, tool.Name, got)
				}
				if strings.Contains(string(tool.OutputSchema), ":true") {
					t.Errorf("%s: a bare true is no schema to some clients: %s", tool.Name, tool.OutputSchema)
				}
				schema, err := compileSchema(tool.OutputSchema)
				if err != nil {
					t.Fatal(err)
				}
				value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(got.Structured)))
				if err != nil {
					t.Fatal(err)
				}
				if err := schema.Validate(value); err != nil {
					t.Errorf("%s, compact %v, %s: %s does not fit: %v", name, compact, tool.Name, got.Structured, err)
				}
			}
		}
	}
}

func TestCompileSchema_loadsNothing(t *testing.T) {
	for _, raw := range []string{
		`{"$ref":"file:///etc/passwd"}`, `{"$ref":"https://example.org/schema"}`, `{"type":`, `{"type":7}`,
	} {
		if _, err := compileSchema(json.RawMessage(raw)); err == nil {
			t.Errorf("%s compiles", raw)
		}
	}
}

// Where the namespace cannot work, the code says why.
func TestRefusalOf(t *testing.T) {
	for code, err := range map[string]error{
		"startup_failed":    &shell.StartupError{Phase: "preload", Message: "no"},
		"interpreter_ended": errors.Join(shell.ErrEnded, errors.New("EOF")),
		"internal_error":    errors.New("cannot decode"),
	} {
		if got := refusalOf(err); got.Code != code || !strings.Contains(got.Message, err.Error()) {
			t.Errorf("%v: %+v", err, got)
		}
	}
}
