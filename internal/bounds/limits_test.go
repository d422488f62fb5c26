package bounds

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// contract is section 2 of the client contract, and the spool's limit of section 9.
var contract = []struct {
	name, value string
	field       func(Limits) int64
}{
	{"IPYTHON_MCP_MAX_TEXT_CHARS", "8192", func(l Limits) int64 { return int64(l.TextChars) }},
	{"IPYTHON_MCP_MAX_REPR_CHARS", "1024", func(l Limits) int64 { return int64(l.ReprChars) }},
	{"IPYTHON_MCP_MAX_TRACEBACK_CHARS", "4096", func(l Limits) int64 { return int64(l.TracebackChars) }},
	{"IPYTHON_MCP_MAX_RESULTS", "100", func(l Limits) int64 { return int64(l.Results) }},
	{"IPYTHON_MCP_MAX_DISPLAY_ITEMS", "20", func(l Limits) int64 { return int64(l.DisplayItems) }},
	{"IPYTHON_MCP_MAX_JSON_DEPTH", "6", func(l Limits) int64 { return int64(l.JSONDepth) }},
	{"IPYTHON_MCP_MAX_TOOL_NAME_CHARS", "64", func(l Limits) int64 { return int64(l.ToolNameChars) }},
	{"IPYTHON_MCP_MAX_TOOL_DESCRIPTION_CHARS", "1024", func(l Limits) int64 { return int64(l.ToolDescriptionChars) }},
	{"IPYTHON_MCP_MAX_DYNAMIC_TOOLS", "100", func(l Limits) int64 { return int64(l.DynamicTools) }},
	{"IPYTHON_MCP_MAX_SPOOL_BYTES", "67108864", func(l Limits) int64 { return l.SpoolBytes }},
}

func lookupIn(environment map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, set := environment[name]
		return value, set
	}
}

func TestVariables(t *testing.T) {
	t.Parallel()
	variables := Variables()
	if len(variables) != len(contract) {
		t.Fatalf("%d variables, the contract has %d", len(variables), len(contract))
	}
	for i, want := range contract {
		if got := variables[i]; got.Name != want.name || got.Default != want.value || got.Doc == "" {
			t.Errorf("variable %d is %+v, want %s with default %s", i, got, want.name, want.value)
		}
	}
	if fields := reflect.TypeFor[Limits]().NumField(); fields != len(contract) {
		t.Errorf("Limits has %d fields, the contract %d variables", fields, len(contract))
	}
}

// Every variable changes its own field, and only this one.
func TestParse_fields(t *testing.T) {
	t.Parallel()
	for _, variable := range contract {
		got, problems := Parse(lookupIn(map[string]string{variable.name: "7"}))
		if len(problems) > 0 || variable.field(got) != 7 {
			t.Errorf("%s=7 gives %+v and %v", variable.name, got, problems)
		}
		if err := got.Set(variable.name, variable.value); err != nil || got != Defaults() {
			t.Errorf("%s=7 and then its default give %+v and %v", variable.name, got, err)
		}
	}
}

func TestParse_values(t *testing.T) {
	t.Parallel()
	const name = "IPYTHON_MCP_MAX_RESULTS"
	tests := []struct {
		value string
		want  int // 0 is an error
	}{
		{"", 100},
		{"1", 1},
		{"007", 7},
		{"+7", 7},
		{"9007199254740992", 1 << 53},
		{"0", 0},
		{"-1", 0},
		{"1.5", 0},
		{"1e3", 0},
		{" 1", 0},
		{"1 ", 0},
		{"1_000", 0},
		{"ten", 0},
		{"0x10", 0},
		{"٣", 0},
		{"9007199254740993", 0},
		{"9223372036854775808", 0},
		{"a\nb", 0},
		{"\xff", 0},
		{strings.Repeat("9", 5000), 0},
	}
	for _, test := range tests {
		got, problems := Parse(lookupIn(map[string]string{name: test.value}))
		if test.want > 0 {
			if len(problems) > 0 || got.Results != test.want {
				t.Errorf("%q: %d and %v, want %d", test.value, got.Results, problems, test.want)
			}
			continue
		}
		if len(problems) != 1 || got != Defaults() {
			t.Errorf("%q: %v and %+v, want one problem and the defaults", test.value, problems, got)
			continue
		}
		text := problems[0].Error()
		if !strings.HasPrefix(text, name+" is ") || !strings.Contains(text, "positive integer") || len(text) > 300 ||
			strings.Contains(text, "\n") || !utf8.ValidString(text) {
			t.Errorf("%q: unclear or unbounded error %q", test.value, text)
		}
	}
}

func TestParse_reportsAllAtOnce(t *testing.T) {
	t.Parallel()
	environment := map[string]string{"IPYTHON_MCP_MAX_REPR_CHARS": "11"}
	for _, variable := range contract[2:] {
		environment[variable.name] = "none"
	}
	got, problems := Parse(lookupIn(environment))
	if len(problems) != len(contract)-2 || got.ReprChars != 11 {
		t.Errorf("%d problems and %+v, want %d and the valid value", len(problems), got, len(contract)-2)
	}
	for i, problem := range problems {
		if !strings.Contains(problem.Error(), contract[i+2].name+` is "none"`) {
			t.Errorf("problem %d does not name %s and its value: %v", i, contract[i+2].name, problem)
		}
	}
}

func TestLimits_Set(t *testing.T) {
	t.Parallel()
	l := Defaults()
	if err := l.Set("IPYTHON_MCP_MAX_SPOOL_BYTES", "4294967296"); err != nil || l.SpoolBytes != 1<<32 {
		t.Errorf("4 GiB: %d and %v", l.SpoolBytes, err)
	}
	for _, name := range []string{"IPYTHON_MCP_MAX_NOTHING", "", strings.Repeat("N", 1000)} {
		if err := l.Set(name, "1"); err == nil || len(err.Error()) > 200 {
			t.Errorf("unknown %.50q: %v", name, err)
		}
	}
	if err := l.Set("IPYTHON_MCP_MAX_RESULTS", "0"); err == nil || l.Results != 100 {
		t.Errorf("0: %d and %v", l.Results, err)
	}
}
