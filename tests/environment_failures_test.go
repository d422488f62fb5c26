package tests

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestEnvironment_WithoutUV(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	mentions(t, w.fails(append(w.env("env"), "PATH=/nowhere")), "during provisioning", "uv was not found", "install it")
	w.untouched()
}

func TestEnvironment_PackageThatDoesNotExist(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	mentions(t, w.fails(w.env("env", "nothing-like-this")), "during dependency_install", "nothing-like-this")
	w.untouched()
}

// TestEnvironment_BrokenIndex: the index refuses, breaks off or talks nonsense, and hears credentials that nobody else
// may see.
func TestEnvironment_BrokenIndex(t *testing.T) {
	t.Parallel()
	answers := map[string]http.HandlerFunc{
		"refuses": func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", http.StatusUnauthorized) },
		"fails": func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, "broken",
				http.StatusInternalServerError)
		},
		"nonsense":   func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte("\x00\x01 nonsense")) },
		"breaks off": func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) },
	}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkshop(t)
			var mu sync.Mutex
			var heard []string
			index := httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, r *http.Request) {
				_, password, _ := r.BasicAuth()
				mu.Lock()
				heard = append(heard, password)
				mu.Unlock()
				answer(response, r)
			}))
			t.Cleanup(index.Close)
			url := strings.Replace(index.URL, "http://", "http://reader:p.ss+w(rd@", 1) + "/t0ken-in-path/simple"
			said := w.fails(append(w.env("env", "demo"), "UV_NO_INDEX=", "UV_FIND_LINKS=", "UV_DEFAULT_INDEX="+url,
				`IPYTHON_MCP_ENVIRONMENT_VARIABLES={"A":"t0ken-in-path","B":"t0ken","C":"d"}`))
			mentions(t, said, "during dependency_install", "demo")
			lacks(t, said, "p.ss", "reader", "t0ken")
			w.untouched()
			mu.Lock()
			defer mu.Unlock()
			if !slices.Contains(heard, "p.ss+w(rd") {
				t.Errorf("the index heard %q", heard)
			}
		})
	}
}

// TestEnvironment_DirectURLWithCredentials: they reach the server of the wheel, and no file of ours.
func TestEnvironment_DirectURLWithCredentials(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	wheel := w.demo("1.0")
	files := httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != "s3cr3t" {
			http.Error(response, "who are you?", http.StatusUnauthorized)
			return
		}
		http.ServeFile(response, r, wheel)
	}))
	t.Cleanup(files.Close)
	url := strings.Replace(files.URL, "http://", "http://reader:s3cr3t@", 1) + "/" + filepath.Base(wheel)
	s := connect(t, options{env: w.env("env", "demo @ "+url)})
	if got := s.value("import demo\ndemo.version"); got != `"1.0"` {
		t.Error(got)
	}
	text, err := os.ReadFile(filepath.Join(w.workspace, "env", "ipython-mcp.json"))
	if err != nil {
		t.Fatal(err)
	}
	lacks(t, string(text)+s.stderr(), "s3cr3t", "reader")
}

// slowUV makes the installation wait until the file exists.
func (w *workshop) slowUV() (release string) {
	w.t.Helper()
	release = filepath.Join(w.root, "release")
	w.wrapUV(`if [ "$1" = pip ]; then
  echo "Building slowly with s3cr.t*" >&2
  while [ ! -e ` + release + ` ]; do sleep 0.05; done
fi
exec "$UV" "$@"`)
	return release
}

func TestEnvironment_SlowStartIsAnsweredAfterTheHandshake(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	w.demo("1.0")
	release := w.slowUV()
	s := start(t, options{env: append(w.env("env", "demo"), "IPYTHON_MCP_HANDSHAKE_SECONDS=0.2",
		`IPYTHON_MCP_ENVIRONMENT_VARIABLES={"A":"s3cr.t*"}`)})
	s.initialize("2025-06-18")
	s.promptly("ping", map[string]any{})
	id := s.send("tools/call", map[string]any{
		"name": "execute", "arguments": map[string]any{"code": "import demo\ndemo.version"},
		"_meta": map[string]any{"progressToken": "p"},
	})
	eventually(t, "progress that shows uv's last line", func() bool {
		notes := progressOf(t, s)
		return len(notes) > 0 && strings.Contains(notes[len(notes)-1].Message, "dependency_install, ") &&
			strings.Contains(notes[len(notes)-1].Message, "Building slowly with ***")
	})
	if err := os.WriteFile(release, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if e := s.executionOf(id); !e.OK || string(e.Result) != `"1.0"` {
		t.Errorf("the call that waited gives %+v", e)
	}
	last := -1.0
	for _, note := range progressOf(t, s) {
		lacks(t, note.Message, "s3cr")
		if note.Progress <= last {
			t.Errorf("progress goes from %v to %v", last, note.Progress)
		}
		last = note.Progress
	}
}

// progressNote is a progress notification.
type progressNote struct {
	Progress float64
	Message  string
}

// progressOf lists the progress notifications so far, which must carry the token p.
func progressOf(t *testing.T, s *server) []progressNote {
	t.Helper()
	var notes []progressNote
	for _, n := range s.notified() {
		if n.Method != "notifications/progress" {
			continue
		}
		var params struct {
			ProgressToken string
			progressNote
		}
		if err := json.Unmarshal(n.Params, &params); err != nil || params.ProgressToken != "p" {
			t.Errorf("progress is %s, %v", n.Params, err)
		}
		notes = append(notes, params.progressNote)
	}
	return notes
}

func TestEnvironment_FailureAfterTheHandshakeIsTheAnswer(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	release := w.slowUV()
	s := start(t, options{env: append(w.env("env", "not-there @ file:///nowhere/s3cr3t/not_there-1-py3-none-any.whl"),
		"IPYTHON_MCP_HANDSHAKE_SECONDS=0.2", `IPYTHON_MCP_ENVIRONMENT_VARIABLES={"A":"s3cr3t"}`)})
	s.initialize("2025-06-18")
	id := s.sendCell("1")
	if err := os.WriteFile(release, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	// Again and again, one after the other: there is no Python that could answer.
	for i, id := range []string{id, s.sendCall("list", map[string]any{}), "", "", ""} {
		if id == "" {
			id = s.sendCell(fmt.Sprint(i))
		}
		a := s.toolAnswer(id)
		text := a.Content[0].Text
		if !a.IsError {
			t.Error("it is no error")
		}
		mentions(t, text, "startup_failed", "task environment startup failed during dependency_install: ",
			"not_there-1")
		lacks(t, text, "s3cr3t")
	}
	w.untouched()
	s.closeInput()
	s.ends()
	mentions(t, s.stderrAtEnd(), "task environment startup failed during dependency_install: ")
	lacks(t, s.stderrAtEnd(), "s3cr3t")
	if s.state.Success() {
		t.Error("the exit status is 0")
	}
}

func TestEnvironment_TimeLimit(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	w.slowUV()
	said := w.fails(append(w.env("env", "demo"), "IPYTHON_MCP_ENVIRONMENT_SETUP_TIMEOUT_SECONDS=1"))
	mentions(t, said, "during dependency_install", "took longer than 1s",
		"IPYTHON_MCP_ENVIRONMENT_SETUP_TIMEOUT_SECONDS")
	w.untouched()
}

func TestEnvironment_EndWhileUVWorks(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	w.slowUV()
	s := start(t, options{env: append(w.env("env", "demo"), "IPYTHON_MCP_HANDSHAKE_SECONDS=0.2")})
	s.initialize("2025-06-18")
	eventually(t, "the beginning of provisioning", func() bool { return len(w.left()) > 0 })
	s.closeInput()
	if took := s.ends(); took > 4*time.Second {
		t.Errorf("the end took %v", took)
	}
	w.untouched()
}

func TestEnvironment_RaceOfEightStarts(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	w.demo("1.0")
	var wg sync.WaitGroup
	outcomes := make([]outcome, 8)
	for i := range outcomes {
		wg.Go(func() { outcomes[i] = w.run(w.env("env", "demo"), "prepare") })
	}
	wg.Wait()
	made := 0
	for _, o := range outcomes {
		if o.status != 0 {
			t.Errorf("a start failed: %s", o.stderr)
		}
		if strings.Contains(o.stdout, "made in") {
			made++
		}
	}
	if left := w.left(); made != 1 || !slices.Equal(left, []string{"env"}) {
		t.Errorf("it was made %d times; the workspace holds %v", made, left)
	}
	if got := connect(t, options{env: w.env("env", "demo")}).value("import demo\ndemo.version"); got != `"1.0"` {
		t.Error(got)
	}
}

// TestEnvironment_KilledStarts kills the real thing at moments spread over a whole start. Package envprov does it more
// often.
func TestEnvironment_KilledStarts(t *testing.T) {
	t.Parallel()
	const rounds = 10
	w := newWorkshop(t)
	w.demo("1.0")
	if got := w.run(nil, "prepare"); got.status != 0 { // extracts the bundled Python
		t.Fatal(got.stderr)
	}
	begun := time.Now()
	if got := w.run(w.env("first", "demo"), "prepare"); got.status != 0 {
		t.Fatal(got.stderr)
	}
	whole := time.Since(begun)
	python := filepath.Join(w.workspace, "env", "bin", "python")
	for round := range rounds {
		command := w.command(w.env("env", "demo"), "prepare")
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(whole * time.Duration(round+1) / rounds)
		// It may have ended by itself.
		_ = command.Process.Kill()
		_ = command.Wait()
		if _, err := os.Lstat(filepath.Dir(filepath.Dir(python))); err != nil {
			continue
		}
		if output, err := exec.Command(python, "-c",
			"import demo, only_by_pth; print(demo.version)").CombinedOutput(); err != nil {
			t.Errorf("an environment is half made: %v: %s", err, output)
		}
		if err := os.RemoveAll(filepath.Join(w.workspace, "env")); err != nil {
			t.Fatal(err)
		}
	}
	if got := connect(t, options{env: w.env("env", "demo")}).value("import demo\ndemo.version"); got != `"1.0"` {
		t.Error(got)
	}
	if left := w.left(); !slices.Equal(left, []string{"env", "first"}) {
		t.Errorf("the workspace holds %v", left)
	}
}
