package bounds

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// parseGolden returns the two files of an archive, line by line.
func parseGolden(t *testing.T, path, first, second string) (a, b []string) {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(archive.Files) != 2 || archive.Files[0].Name != first || archive.Files[1].Name != second {
		t.Fatalf("%s does not consist of %s and %s", path, first, second)
	}
	lines := func(data []byte) []string { return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") }
	return lines(archive.Files[0].Data), lines(archive.Files[1].Data)
}

// The transcripts hold one write of a real program per line, as a JSON string, and what a terminal emulator (pyte)
// shows in the end.
func TestTerminal_transcripts(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob(filepath.Join("testdata", "terminal", "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			written, read := parseGolden(t, path, "written", "read")
			var spool bytes.Buffer
			s := NewStream(1<<20, &spool)
			for _, line := range written {
				var text string
				if err := json.Unmarshal([]byte(line), &text); err != nil {
					t.Fatal(err)
				}
				_, _ = s.Write([]byte(text))
				_ = s.Snapshot() // disturbs nothing
			}
			got := s.Close().Render("")
			// An emulator does not tell blanks at an end from nothing.
			if want := strings.Join(read, "\n"); strings.TrimRight(got, " \n") != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
			if spool.String() != got {
				t.Errorf("the spool has %q", spool.String())
			}
		})
	}
}

// Fingerprints made here and by Python's json.dumps must be equal.
func TestCanonicalJSON_likePython(t *testing.T) {
	t.Parallel()
	inputs, canonical := parseGolden(t, filepath.Join("testdata", "canonical", "python.txtar"), "input", "canonical")
	if len(inputs) != len(canonical) {
		t.Fatalf("%d inputs and %d canonical forms", len(inputs), len(canonical))
	}
	for i, input := range inputs {
		if got, err := CanonicalJSON(json.RawMessage(input)); err != nil || string(got) != canonical[i] {
			t.Errorf("%s\n got %s, %v\nwant %s", input, got, err, canonical[i])
		}
	}
}
