package envprov

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLocate_SaysWhyAnInterpreterCannotServe runs scripts that answer the probe as interpreters would.
func TestLocate_SaysWhyAnInterpreterCannotServe(t *testing.T) {
	const good = `"implementation": "CPython", "version": "3.12.1", "version_info": [3, 12], ` +
		`"cache_tag": "cpython-312", "executable": "/x/python", "library": "/x/libpython3.12.so", "free_threaded": false`
	replaced := func(old, new string) string { return "echo '{" + strings.Replace(good, old, new, 1) + "}'" }
	tests := []struct{ name, script, want string }{
		{"PyPy", replaced("CPython", "PyPy"), "it is PyPy; a CPython is needed"},
		{"old", replaced("[3, 12]", "[3, 10]"), "3.11 or newer is needed"},
		{"Python 2", replaced("[3, 12]", "[2, 7]"), "3.11 or newer is needed"},
		{"free-threaded", replaced("false", "true"), "free-threaded build of Python 3.12.1; use a regular build"},
		{"static", replaced(`"/x/libpython3.12.so"`, "null"), "static build of Python 3.12.1"},
		{"no text", replaced("/x/libpython3", `/\udcff/libpython3`), "is not in UTF-8"},
		{"broken", "echo hello", "its answer is no JSON"},
		{"fails", "echo first; echo 'the reason' >&2; exit 1", "(the reason)"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "python")
			if err := os.WriteFile(path, []byte("#!/bin/sh\n"+test.script+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			_, err := Locate(context.Background(), path)
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Fatalf("%v, want %q in one line", err, test.want)
			}
			if !strings.Contains(err.Error(), VarPython+"="+path) || !strings.Contains(err.Error(), ";") {
				t.Errorf("%v names no variable or no way out", err)
			}
		})
	}
	if _, err := Locate(context.Background(), "/nowhere/python"); err == nil || !strings.Contains(err.Error(),
		"no such file") {
		t.Errorf("a path that does not exist: %v", err)
	}
}

func TestLocate_IgnoresWhatASitecustomizePrints(t *testing.T) {
	path := filepath.Join(t.TempDir(), "python")
	script := `#!/bin/sh
echo hello from sitecustomize
echo '{"implementation": "CPython", "version": "3.12.1", "version_info": [3, 12], "cache_tag": "c", '\
'"executable": "/x", "library": "/y"}'
`
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	got, err := Locate(context.Background(), path)
	if want := (Interpreter{Executable: "/x", Library: "/y", Version: "3.12.1", CacheTag: "c"}); err != nil ||
		got != want {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestTail_KeepsTheEndInBoundedMemory(t *testing.T) {
	var kept tail
	for i := range 100_000 {
		fmt.Fprintf(&kept, "a line of nothing, number %d\n", i)
	}
	if len(kept.kept) > 2*tailBytes || !strings.HasSuffix(string(kept.kept), "number 99999\n") {
		t.Errorf("%d bytes are kept, the last are %.40q", len(kept.kept), kept.kept[max(0, len(kept.kept)-40):])
	}
	if _, err := kept.Write(bytes.Repeat([]byte("x"), 10*tailBytes)); err != nil || len(kept.kept) > 2*tailBytes {
		t.Errorf("%d bytes are kept, %v", len(kept.kept), err)
	}
}
