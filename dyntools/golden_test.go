package dyntools

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write what the goldens should say")

// goldenChars is the description limit that the goldens are made with.
const goldenChars = 1024

// TestGolden compares signature -> tree -> schema -> fingerprint. A case is a directory of the archive:
// signature.py is for people, callable.json is what Python sends; then either schema.json and fingerprint (with
// advertised.json where that differs), or error.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("finding goldens: %v, %d files", err, len(files))
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want := &txtar.Archive{Comment: archive.Comment}
			for _, f := range archive.Files {
				if name, ok := strings.CutSuffix(f.Name, "/signature.py"); ok {
					want.Files = append(want.Files, f)
					want.Files = append(want.Files, goldenCase(t, archive, name)...)
				}
			}
			text := txtar.Format(want)
			if *update {
				if err := os.WriteFile(file, text, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(txtar.Format(archive)), string(text)); diff != "" && !*update {
				t.Errorf("golden (-) and outcome (+) differ; run with -update if the outcome is right:\n%s", diff)
			}
		})
	}
}

// goldenCase returns the files of a case as they should be.
func goldenCase(t *testing.T, archive *txtar.Archive, name string) []txtar.File {
	t.Helper()
	var input []byte
	for _, f := range archive.Files {
		if f.Name == name+"/callable.json" {
			input = append(bytes.TrimSpace(f.Data), '\n')
		}
	}
	files := []txtar.File{{Name: name + "/callable.json", Data: input}}
	add := func(file, text string) {
		files = append(files, txtar.File{Name: name + "/" + file, Data: []byte(text + "\n")})
	}
	schema, err := NewSchema(decodeCallable(t, input), goldenChars)
	if err != nil {
		var refused *Error
		if !errors.As(err, &refused) {
			t.Fatalf("%s: error %v is no *Error", name, err)
		}
		add("error", string(refused.Code)+": "+refused.Message)
		return files
	}
	add("schema.json", string(schema.Input))
	if !bytes.Equal(schema.Advertised, schema.Input) {
		add("advertised.json", string(schema.Advertised))
	}
	add("fingerprint", schema.Fingerprint)
	return files
}

// decodeCallable is strict, so that a golden cannot use a field that does not exist.
func decodeCallable(t testing.TB, raw []byte) *Callable {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	var c Callable
	if err := d.Decode(&c); err != nil {
		t.Fatalf("decoding %s: %v", raw, err)
	}
	return &c
}
