package envprov

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// pickyPython cannot start with two variables, and notes each of its starts.
const pickyPython = `#!/bin/sh
echo start >> "$LOG"
[ -z "$PYTHONBAD" ] && [ "$PYTHONMODE" != 7 ]
`

func TestUnusableVariables(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	python, log := filepath.Join(directory, "python"), filepath.Join(directory, "log")
	if err := os.WriteFile(python, []byte(pickyPython), 0o755); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		path    string
		environ []string
		want    []string
		starts  int
	}{
		{python, nil, nil, 0},
		{python, []string{"PYTHONMODE=1", "PYTHONGOOD=1"}, nil, 1},
		{python, []string{"PYTHONMODE=7", "PYTHONGOOD=1", "PYTHONBAD=1"}, []string{"PYTHONMODE", "PYTHONBAD"}, 5},
		{"/bin/false", []string{"PYTHONMODE=7"}, nil, 0},
		{"/nowhere", []string{"PYTHONMODE=7"}, nil, 0},
	}
	for _, test := range tests {
		if err := os.RemoveAll(log); err != nil {
			t.Fatal(err)
		}
		environ := append([]string{"LOG=" + log}, test.environ...)
		if got := UnusableVariables(context.Background(), test.path, environ); !slices.Equal(got, test.want) {
			t.Errorf("%s with %q: %q", test.path, test.environ, got)
		}
		if got := calls(t, log); len(got) != test.starts {
			t.Errorf("%s with %q was started %d times, want %d", test.path, test.environ, len(got), test.starts)
		}
	}
}
