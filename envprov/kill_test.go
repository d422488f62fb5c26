package envprov

import (
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ipython-mcp/internal/filelock"
)

// killRounds is how many starts are killed, at random moments from the beginning to a little after the end.
const killRounds = 50

func TestKill_NothingHalfMadeIsEverUsed(t *testing.T) {
	r, log := fakeRequest(t)
	longest := timeOf(t, r)
	remove(t, r.Settings.Workspace)
	finished := 0
	for range killRounds {
		start := startAlone(t, r)
		time.Sleep(rand.N(longest + longest/4))
		// It may have ended by itself.
		_ = start.Process.Kill()
		_ = start.Wait()
		start.waitForDescendants(t)
		if _, err := os.Lstat(r.Settings.EnvironmentDir()); err == nil {
			finished++
			checkWhole(t, r)
			remove(t, r.Settings.EnvironmentDir())
		}
		for _, name := range entries(t, r.Settings.Workspace) {
			if !strings.HasPrefix(name, ".env.") {
				t.Errorf("%s was left", name)
			}
		}
	}
	t.Logf("%d of %d starts came to their end", finished, killRounds)
	provisionOK(t, r)
	if diff := cmp.Diff([]string{"env"}, entries(t, r.Settings.Workspace)); diff != "" {
		t.Errorf("what killed starts left was not removed: %s", diff)
	}
	if len(calls(t, log)) == 0 {
		t.Error("no round came to running uv")
	}
}

// TestKill_EndsUV makes sure that uv does not go on when the start that runs it is killed.
func TestKill_EndsUV(t *testing.T) {
	r, log := fakeRequest(t, "SLOW=pip", "TOKEN=x")
	start := startAlone(t, r)
	var pid int
	waitUntil(t, "uv runs", func() bool {
		text, _ := os.ReadFile(log + ".child") // written after the other
		if len(text) == 0 {
			return false
		}
		text, err := os.ReadFile(log + ".uv")
		if err != nil {
			t.Fatal(err)
		}
		pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil
	})
	if err := start.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = start.Wait()
	waitUntil(t, "uv has ended", func() bool { return ended(pid) })
}

// TestSweep_LeavesWhatIsNotItsOwn looks at everything that may lie in a workspace.
func TestSweep_LeavesWhatIsNotItsOwn(t *testing.T) {
	workspace := realDir(t)
	for _, name := range []string{
		"env", ".env.tmp-1", ".other.tmp-22", ".a.tmp-1.tmp-2", ".held.tmp-3", ".git", ".tmp-9", ".-bad.tmp-1",
		"x.tmp-1",
	} {
		if err := os.MkdirAll(filepath.Join(workspace, name, "deep"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{".env.lock", ".gone.lock", ".note.tmp-1", "file.lock"} {
		if err := os.WriteFile(filepath.Join(workspace, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	unlock, ok := filelock.Try(lockPath(workspace, "held"))
	if !ok {
		t.Fatal("the lock cannot be taken")
	}
	defer unlock()
	sweep(workspace)
	want := []string{
		".-bad.tmp-1", ".git", ".held.lock", ".held.tmp-3", ".note.tmp-1", ".tmp-9", "env", "file.lock",
		"x.tmp-1",
	}
	if diff := cmp.Diff(want, entries(t, workspace)); diff != "" {
		t.Error(diff)
	}
}

func TestSweep_RemovesWhatCannotBeWrittenTo(t *testing.T) {
	workspace := realDir(t)
	locked := filepath.Join(workspace, ".env.tmp-1", "a", "b")
	if err := os.MkdirAll(locked, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(locked), 0o500); err != nil {
		t.Fatal(err)
	}
	sweep(workspace)
	if left := entries(t, workspace); left != nil {
		t.Errorf("left are %v", left)
	}
}

// aloneStart is a start in a process of its own.
type aloneStart struct {
	*exec.Cmd
	held *os.File // ends when neither the process nor what it has run holds the other end of the pipe
}

// waitForDescendants waits until what the fake uv was just running has ended as well: it might still make directories.
func (s aloneStart) waitForDescendants(t *testing.T) {
	t.Helper()
	if _, err := io.Copy(io.Discard, s.held); err != nil {
		t.Fatal(err)
	}
}

func startAlone(t *testing.T, r Request) aloneStart {
	t.Helper()
	text, err := json.Marshal(requestAlone{r.Settings, r.Base, r.Requirements, r.Environ})
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(os.Args[0])
	// The race detector would wait a second at the end.
	command.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", provisionRequest+"="+string(text))
	held, holder, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { held.Close() })
	command.ExtraFiles = []*os.File{holder}
	if err := errors.Join(command.Start(), holder.Close()); err != nil {
		t.Fatal(err)
	}
	return aloneStart{command, held}
}

// timeOf is how long one undisturbed start takes.
func timeOf(t *testing.T, r Request) time.Duration {
	t.Helper()
	begun := time.Now()
	if err := startAlone(t, r).Wait(); err != nil {
		t.Fatal(err)
	}
	return time.Since(begun)
}
