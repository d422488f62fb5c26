package tests

import (
	"encoding/json"
	"strings"
	"testing"
)

// The fields of every answer, sorted, exactly as the contract lists them. Others appear only where there is something
// in them: stdout and stderr of tools that ran user code, background_output.
const (
	executeFields = "display_data error execution_count execution_id ok result status stderr stdout truncated"
	listFields    = "error functions truncated"
	callFields    = "error name name_truncated ok result truncated"
	searchFields  = "error results truncated"
	reloadFields  = "error results"
	inspectFields = "callable documentation error kind module name ok qualified_type representation signature truncated"
	removeFields  = "error ok refused removed unknown"
	resetFields   = "error execution_count ok removed"
	errorFields   = "code error_type location location_truncated message message_truncated " +
		"retry_after_seconds retryable traceback traceback_truncated"
	truncatedFields = "display_data items result stderr stderr_omitted_chars stdout stdout_omitted_chars traceback"
)

// fieldTests are calls of every tool, some that work and some that do not.
var fieldTests = []struct {
	tool      string
	arguments map[string]any
	fields    string
	inner     map[string]string // fields of the objects behind a path: "error", "results.0"
}{
	{"execute", map[string]any{"code": "1"}, executeFields, map[string]string{"truncated": truncatedFields}},
	{
		"execute",
		map[string]any{"code": "print(1); display(2)"},
		executeFields,
		map[string]string{"display_data.0": "data metadata"},
	},
	{
		"execute",
		map[string]any{"code": ""},
		executeFields,
		map[string]string{"error": errorFields, "truncated": truncatedFields},
	},
	{
		"execute",
		map[string]any{"code": "1/0"},
		executeFields,
		map[string]string{"error": errorFields, "error.location": "column filename line"},
	},
	{
		"execute",
		map[string]any{"code": "="},
		executeFields,
		map[string]string{"error": errorFields, "error.location": "column filename line"},
	},
	{
		"execute",
		map[string]any{"code": "object()"},
		executeFields,
		map[string]string{"result": "json_compatible representation type"},
	},
	{
		"list",
		nil,
		listFields,
		map[string]string{
			"functions.0":           "description module name signature truncated",
			"functions.0.truncated": "description module signature",
		},
	},
	{"call_function", map[string]any{"name": "f", "arguments": map[string]any{}}, callFields, nil},
	{
		"call_function",
		map[string]any{"name": "none", "arguments": map[string]any{}},
		callFields,
		map[string]string{"error": errorFields},
	},
	{
		"call_function",
		map[string]any{"name": "f", "arguments": "nonsense"},
		callFields,
		map[string]string{"error": errorFields},
	},
	{
		"search",
		map[string]any{"query": "f"},
		searchFields,
		map[string]string{
			"results.0":           "description kind name qualified_type representation truncated",
			"results.0.truncated": "description qualified_type representation",
		},
	},
	{"search", map[string]any{"query": ""}, searchFields, map[string]string{"error": errorFields}},
	{
		"reload",
		map[string]any{"modules": []string{"json", "none"}},
		reloadFields,
		map[string]string{
			"results.0":       "binding error module ok truncated",
			"results.1":       "binding error module ok truncated",
			"results.1.error": errorFields,
		},
	},
	{"reload", map[string]any{"modules": []string{}}, reloadFields, map[string]string{"error": errorFields}},
	{
		"inspect",
		map[string]any{"name": "f"},
		inspectFields,
		map[string]string{"truncated": "documentation module qualified_type representation signature"},
	},
	{"inspect", map[string]any{"name": "none"}, inspectFields, map[string]string{"error": errorFields}},
	{"remove", map[string]any{"names": []string{"f", "none", "In"}}, removeFields, nil},
	{"remove", map[string]any{"names": []string{}}, removeFields, map[string]string{"error": errorFields}},
	{"reset", nil, resetFields, nil},
}

// Every answer has all of its fields and no other, in structuredContent, and a text block; a failure of user code is
// no MCP error.
func TestFields(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.succeed("def f(): pass")
	for _, test := range fieldTests {
		a := s.call(test.tool, test.arguments)
		if got := keysOf(t, a.Structured); got != test.fields {
			t.Errorf("%s %v: the fields are %s", test.tool, test.arguments, got)
		}
		for path, want := range test.inner {
			if got := keysOf(t, at(t, a.Structured, path)); got != want {
				t.Errorf("%s %v: the fields of %s are %s", test.tool, test.arguments, path, got)
			}
		}
		if len(a.Content) != 1 || a.Content[0].Type != "text" || a.Content[0].Text == "" || a.IsError {
			t.Errorf("%s %v: isError is %v, the content %+v", test.tool, test.arguments, a.IsError, a.Content)
		}
	}
}

// at follows a path of keys and indices.
func at(t *testing.T, value json.RawMessage, path string) json.RawMessage {
	t.Helper()
	for part := range strings.SplitSeq(path, ".") {
		if value[0] == '[' {
			items := decodeInto[[]json.RawMessage](t, value)
			if i := int(part[0] - '0'); i < len(items) {
				value = items[i]
				continue
			}
		} else if found := decodeInto[map[string]json.RawMessage](t, value)[part]; found != nil {
			value = found
			continue
		}
		t.Fatalf("no %s in %s", path, value)
	}
	return value
}

// With compact fields, what says nothing is left out, and what user code returned stays whole.
func TestFields_Compact(t *testing.T) {
	t.Parallel()
	s := connect(t, options{env: []string{"IPYTHON_MCP_RESPONSE_FIELDS=compact"}})
	for _, test := range []struct {
		tool      string
		arguments map[string]any
		fields    string
		contains  string
	}{
		{"execute", map[string]any{"code": "{'empty': None, 'no': False, 'list': []}"}, "execution_count execution_id ok result status", `{"empty":null,"no":false,"list":[]}`},
		{"execute", map[string]any{"code": "def f(): pass"}, "execution_count execution_id ok status", ""},
		{"execute", map[string]any{"code": "0"}, "execution_count execution_id ok result status", `"result":0`},
		{"execute", map[string]any{"code": "''"}, "execution_count execution_id ok result status", `"result":""`},
		{"execute", map[string]any{"code": "print(1)"}, "execution_count execution_id ok status stdout", ""},
		{"execute", map[string]any{"code": "1/0"}, "error execution_count execution_id ok status", `"ok":false`},
		{"execute", map[string]any{"code": ""}, "error ok status", ""},
		{"execute", map[string]any{"code": "print('x' * 10000)"}, "execution_count execution_id ok status stdout truncated", `{"stdout":true,"stdout_omitted_chars":1809}`},
		{"list", nil, "functions", `[{"name":"f","signature":"()","module":"__main__"}]`},
		{"search", map[string]any{"query": "nothing"}, "", "{}"},
		{"call_function", map[string]any{"name": "f", "arguments": map[string]any{}}, "name ok", ""},
		{"inspect", map[string]any{"name": "none"}, "error name ok", `"ok":false`},
		{"remove", map[string]any{"names": []string{"f"}}, "ok removed", `["f"]`},
		{"reset", nil, "execution_count ok", ""},
	} {
		a := s.call(test.tool, test.arguments)
		if got := keysOf(
			t,
			a.Structured,
		); got != test.fields ||
			!strings.Contains(string(a.Structured), test.contains) {
			t.Errorf("%s %v: the fields are %s in %s", test.tool, test.arguments, got, a.Structured)
		}
	}
}

// isError is true only where the server itself cannot work; the answer then has all fields as well.
func TestFields_IsError(t *testing.T) {
	t.Parallel()
	s := start(t, options{
		library: map[string]string{"fails.py": "import time\ntime.sleep(1)\n1/0"},
		env:     []string{"IPYTHON_MCP_PRELOAD_MODULES=fails", "IPYTHON_MCP_HANDSHAKE_SECONDS=0.1"},
	})
	s.initialize("2025-06-18")
	for _, test := range fieldTests {
		a := s.call(test.tool, test.arguments)
		e := decodeInto[failure](t, at(t, a.Structured, "error"))
		if !a.IsError && e.Code != "invalid_arguments" || keysOf(t, a.Structured) != test.fields {
			t.Errorf("%s %v: isError is %v, the answer %s", test.tool, test.arguments, a.IsError, a.Structured)
		}
	}
}
