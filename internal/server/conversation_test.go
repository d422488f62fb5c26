package server

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"ipython-mcp/shell"
)

var update = flag.Bool("update", false, "write what the server says into testdata/*.txtar")

// TestConversations plays testdata/*.txtar: each line of the file "client" is sent once the line before has been
// answered, and what the server says must be the file "server". A file "options" may hold the words compact and
// failed-start.
func TestConversations(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no conversations: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			parts := make(map[string]string)
			for _, f := range archive.Files {
				parts[f.Name] = string(f.Data)
			}
			got := converse(t, parts["options"], parts["client"])
			if *update {
				writeConversation(t, file, archive, got)
				return
			}
			if diff := cmp.Diff(strings.Split(parts["server"], "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("the server says something else (-want +got), go test -update writes it down:\n%s", diff)
			}
		})
	}
}

func converse(t *testing.T, options, client string) string {
	t.Helper()
	namespace := newFakeNamespace()
	if strings.Contains(options, "failed-start") {
		namespace.fail = &shell.StartupError{Phase: "preload", Message: "cannot import nope: ModuleNotFoundError"}
	}
	c := connect(t, newServer(t, Options{Namespace: namespace, Compact: strings.Contains(options, "compact")}))
	var said strings.Builder
	for line := range strings.Lines(client) {
		line = strings.TrimSuffix(line, "\n")
		c.send(line)
		if wantsAnswer(line) {
			said.WriteString(c.next() + "\n")
		}
	}
	rest, err := c.end()
	if err != nil {
		t.Errorf("Serve: %v", err)
	}
	for _, line := range rest {
		said.WriteString(line + "\n")
	}
	return said.String()
}

// wantsAnswer says whether a line gets an answer: everything but notifications, responses and blank lines.
func wantsAnswer(line string) bool {
	if strings.Trim(line, " \t\r\n") == "" {
		return false
	}
	var m map[string]json.RawMessage
	if json.Unmarshal([]byte(line), &m) != nil {
		return true
	}
	_, method := m["method"]
	_, id := m["id"]
	_, result := m["result"]
	_, failed := m["error"]
	switch {
	case !method:
		return !result && !failed
	case !id:
		return !bytes.Equal(m["jsonrpc"], []byte(`"2.0"`)) || !bytes.HasPrefix(m["method"], []byte(`"`)) ||
			bytes.Equal(m["method"], []byte(`""`))
	}
	return true
}

func writeConversation(t *testing.T, file string, archive *txtar.Archive, said string) {
	t.Helper()
	kept := archive.Files[:0]
	for _, f := range archive.Files {
		if f.Name != "server" {
			kept = append(kept, f)
		}
	}
	archive.Files = append(kept, txtar.File{Name: "server", Data: []byte(said)})
	if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
		t.Fatal(err)
	}
}
