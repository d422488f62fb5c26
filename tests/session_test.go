package tests

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/rogpeppe/go-internal/txtar"
)

// TestSessions runs the conversations under testdata/session, each with a server of its own. A file begins with what it
// proves; its sections are, in order:
//
//	env                    variables of the server, one a line
//	library/NAME           a file of the library directory, there before the start
//	write NAME             the same, written at this point
//	execute, or execute: what the cell is about
//	                       a cell
//	TOOL, or TOOL: …       a call of another tool, its arguments as JSON (none: empty)
//	answer                 what the call before answers, as printed by render
//	text                   the answer's text block
//
// With -update, what the server says replaces the answers and the texts.
func TestSessions(t *testing.T) {
	paths, err := filepath.Glob("testdata/session/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no sessions: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if len(strings.TrimSpace(string(archive.Comment))) == 0 {
				t.Error("the file does not say what it proves")
			}
			wanted := txtar.Format(archive)
			newSession(t, archive).run(archive)
			got := txtar.Format(archive)
			if *update {
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if d := diff.Diff("wanted", wanted, "got", got); len(d) > 0 {
				t.Errorf("the answers differ:\n%s", d)
			}
		})
	}
}

// session is a conversation that is going on.
type session struct {
	*server
	last answer
}

func newSession(t *testing.T, archive *txtar.Archive) *session {
	t.Helper()
	o := options{library: map[string]string{}}
	for _, file := range archive.Files {
		if name, is := strings.CutPrefix(file.Name, "library/"); is {
			o.library[name] = string(file.Data)
		} else if file.Name == "env" {
			o.env = append(o.env, strings.Split(strings.TrimSpace(string(file.Data)), "\n")...)
		}
	}
	return &session{server: connect(t, o)}
}

// run holds the conversation and puts what the server said into the archive.
func (s *session) run(archive *txtar.Archive) {
	s.t.Helper()
	for i := range archive.Files {
		file := &archive.Files[i]
		name, _, _ := strings.Cut(file.Name, ":")
		switch {
		case name == "env" || strings.HasPrefix(name, "library/"):
		case strings.HasPrefix(name, "write "):
			s.write(strings.TrimPrefix(name, "write "), string(file.Data))
		case name == "answer":
			file.Data = []byte(s.normalized(render(s.t, s.last.Structured)))
		case name == "text":
			file.Data = []byte(s.normalized(s.last.text()) + "\n")
		case name == "execute":
			s.last = s.call("execute", map[string]any{"code": strings.TrimSuffix(string(file.Data), "\n")})
		default:
			arguments := json.RawMessage(file.Data)
			if strings.TrimSpace(string(file.Data)) == "" {
				arguments = json.RawMessage("{}")
			}
			s.last = s.call(name, arguments)
		}
	}
}

// normalized hides what differs from run to run: paths, times and addresses.
func (s *session) normalized(text string) string {
	replacements := []string{s.library, "$LIBRARY", s.tmp, "$TMPDIR", s.home, "$HOME"}
	for _, tree := range []string{"cpython", "site", "ipymcp"} {
		paths, _ := filepath.Glob(filepath.Join(cacheDir, tree+"-????????????????")) // the pattern is valid
		for _, path := range paths {
			replacements = append(replacements, path, "$"+strings.ToUpper(tree))
		}
	}
	text = strings.NewReplacer(replacements...).Replace(text)
	text = clock.ReplaceAllString(text, "HH:MM:SS")
	return taskNumber.ReplaceAllString(address.ReplaceAllString(text, "0xADDRESS"), "Task-N")
}
