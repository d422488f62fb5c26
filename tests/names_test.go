package tests

import (
	"fmt"
	"strings"
	"testing"
)

// Names of a megabyte, of ten thousand parts and in huge numbers get clear codes, bounded.
func TestNames_Huge(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.succeed("import math\nclass Endless:\n    def __getattr__(self, name): return self\nendless = Endless()")
	long := strings.Repeat("x", 1<<20)
	parts := "endless" + strings.Repeat(".a", 10_000)
	shortParts := "endless" + strings.Repeat(".a", 4_000)
	many := make([]string, 101)
	for i := range many {
		many[i] = fmt.Sprintf("name%d", i)
	}
	for _, test := range []struct {
		name, tool string
		arguments  map[string]any
		code       string // empty: ok
	}{
		{"a megabyte", "inspect", map[string]any{"name": long}, "invalid_name"},
		{"a megabyte", "call_function", map[string]any{"name": long, "arguments": map[string]any{}}, "invalid_name"},
		{"a megabyte", "search", map[string]any{"query": long}, "invalid_query"},
		{"a megabyte", "remove", map[string]any{"names": []string{long}}, "invalid_names"},
		{"a megabyte", "reload", map[string]any{"modules": []string{long}}, "invalid_modules"},
		{"ten thousand parts", "inspect", map[string]any{"name": parts}, "invalid_name"},
		{"ten thousand parts", "call_function", map[string]any{"name": parts, "arguments": map[string]any{}}, "invalid_name"},
		{"ten thousand parts", "reload", map[string]any{"modules": []string{parts}}, "invalid_modules"},
		{"four thousand parts that exist", "inspect", map[string]any{"name": shortParts}, ""},
		{"four thousand parts", "reload", map[string]any{"modules": []string{shortParts}}, "reload_error"},
		{"too many", "remove", map[string]any{"names": many}, "invalid_names"},
		{"too many", "reload", map[string]any{"modules": many}, "invalid_modules"},
		{"a hundred", "remove", map[string]any{"names": many[:100]}, ""},
	} {
		a := s.call(test.tool, test.arguments)
		if len(a.Structured)+len(a.text()) > 100_000 {
			t.Errorf("%s of %s: the answer has %d bytes", test.tool, test.name, len(a.Structured))
		}
		answer := string(a.Structured)
		if test.code == "" && !strings.Contains(answer, `"error":null`) ||
			test.code != "" && !strings.Contains(answer, `"code":"`+test.code+`"`) {
			t.Errorf("%s of %s gives %.500s", test.tool, test.name, answer)
		}
	}
	s.works("huge names")
}
