package tests

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is how long a test waits for anything that has no time limit of its own. The machine may be busy.
const patience = 60 * time.Second

// endPatience is how long a test waits for an end that is overdue, only to say how late it came.
const endPatience = 10 * time.Second

// server is one started program and the raw client's end of its streams. Its methods are the test goroutine's.
type server struct {
	t       *testing.T
	command *exec.Cmd
	stdin   io.WriteCloser
	stdout  *os.File
	home    string // HOME, a directory of its own
	tmp     string // TMPDIR, a directory of its own; marks the processes that descend from the server
	library string // a directory on sys.path with options.library, else empty
	nextID  int

	mu         sync.Mutex
	arrived    *sync.Cond
	transcript transcript
	messages   []json.RawMessage   // everything received, in order
	responses  map[string]response // by id as sent
	requests   []notification      // what the server sent by itself, in order
	closed     bool                // stdout has ended
	log        bytes.Buffer        // stderr

	drained chan struct{}    // closed when stdout and stderr have ended
	exited  chan struct{}    // closed when the process has ended
	state   *os.ProcessState // set before
}

// options changes how a server is started and what is expected of its end.
type options struct {
	binary  string
	env     []string          // added to the environment; NAME= with nothing behind removes NAME, NAME=<empty> sets it to nothing
	args    []string          // after the program's name
	dir     string            // working directory
	library map[string]string // files of a directory that IPYTHON_MCP_LIBRARY_PATHS names
	unread  bool              // stdout is not read before readOutput
	deaf    bool              // stderr is not read while the server runs
	untidy  bool              // user code leaves files behind, or the end is not an orderly one
}

// passedOn lists the variables of the test run that servers see, beside HOME and TMPDIR: what Codex passes on.
var passedOn = []string{"PATH", "SHELL", "USER", "LANG", "TERM", "TZ"}

func baseEnvironment(home, tmp string) []string {
	env := []string{"HOME=" + home, "TMPDIR=" + tmp, "IPYTHON_MCP_CACHE_DIR=" + cacheDir}
	for _, name := range passedOn {
		if value, set := os.LookupEnv(name); set {
			env = append(env, name+"="+value)
		}
	}
	return env
}

const emptyValue = "<empty>"

// merge applies the changes of options.env.
func merge(base, changes []string) []string {
	for _, change := range changes {
		name, value, _ := strings.Cut(change, "=")
		base = slices.DeleteFunc(base, func(v string) bool { return strings.HasPrefix(v, name+"=") })
		switch value {
		case "":
		case emptyValue:
			base = append(base, name+"=")
		default:
			base = append(base, change)
		}
	}
	return base
}

// slots bounds how many tests have servers at the same time.
var slots = make(chan struct{}, 3)

// holders are the tests that have a slot.
var holders sync.Map

// takeSlot waits until the test may have servers, as many as it likes.
func takeSlot(t *testing.T) {
	if _, held := holders.LoadOrStore(t, true); held {
		return
	}
	slots <- struct{}{}
	t.Cleanup(func() {
		holders.Delete(t)
		<-slots
	})
}

// start runs the program without a handshake.
func start(t *testing.T, o options) *server {
	t.Helper()
	takeSlot(t)
	s := &server{t: t, home: t.TempDir(), tmp: t.TempDir(), responses: map[string]response{}}
	s.exited, s.drained = make(chan struct{}), make(chan struct{})
	s.arrived = sync.NewCond(&s.mu)
	if o.binary == "" {
		o.binary = binary
	}
	s.command = exec.Command(o.binary, o.args...)
	s.command.Env = merge(baseEnvironment(s.home, s.tmp), append(s.libraryVariable(o.library), o.env...))
	s.command.Dir = o.dir
	if s.command.Dir == "" {
		s.command.Dir = s.home
	}
	stderr := s.pipes()
	if err := s.command.Start(); err != nil {
		t.Fatal(err)
	}
	var readers sync.WaitGroup
	readers.Go(func() {
		if o.deaf {
			<-s.exited
		}
		s.readLog(stderr)
	})
	if !o.unread {
		readers.Go(func() { s.read(s.stdout) })
	}
	go func() { readers.Wait(); close(s.drained) }()
	go func() {
		// The process, not the pipes: a child that survives it may hold them.
		s.state, _ = s.command.Process.Wait()
		close(s.exited)
	}()
	t.Cleanup(func() { s.finish(o, stderr) })
	return s
}

// pipes makes the three pipes with the server's ends closed after the start, and returns the reading end of stderr.
func (s *server) pipes() (stderr io.ReadCloser) {
	s.t.Helper()
	var errs [3]error
	var out io.ReadCloser
	s.stdin, errs[0] = s.command.StdinPipe()
	out, errs[1] = s.command.StdoutPipe()
	stderr, errs[2] = s.command.StderrPipe()
	for _, err := range errs {
		if err != nil {
			s.t.Fatal(err)
		}
	}
	s.stdout = out.(*os.File)
	return stderr
}

func (s *server) libraryVariable(files map[string]string) []string {
	if files == nil {
		return nil
	}
	s.library = s.t.TempDir()
	for name, text := range files {
		s.write(name, text)
	}
	return []string{"IPYTHON_MCP_LIBRARY_PATHS=" + s.library}
}

// connect starts the program and shakes hands.
func connect(t *testing.T, o options) *server {
	t.Helper()
	s := start(t, o)
	s.initialize("2025-06-18")
	return s
}

// finish ends the server as clients do, and checks what holds for every server.
func (s *server) finish(o options, stderr io.Closer) {
	_ = s.stdin.Close() // a test may have closed it
	select {
	case <-s.exited:
	case <-time.After(10 * time.Second):
		s.t.Error("the server did not end; killed")
		_ = s.command.Process.Kill()
		<-s.exited
	}
	_, _ = s.stdout.Close(), stderr.Close()
	<-s.drained
	if log := s.stderr(); strings.Contains(log, "panic") || strings.Contains(log, "DATA RACE") {
		s.t.Errorf("the server is broken:\n%s", log)
	}
	s.checkNoProcesses()
	if !o.untidy {
		checkEmpty(s.t, s.tmp)
		checkEmpty(s.t, s.home)
	}
	if s.t.Failed() {
		log := s.stderr()
		s.t.Logf("the transcript:\n%s\nthe end of stderr:\n%s", &s.transcript, log[max(0, len(log)-3000):])
	}
}

// checkEmpty reports what is in a directory that must stay empty.
func checkEmpty(t *testing.T, directory string) {
	t.Helper()
	entries, err := os.ReadDir(directory)
	if err != nil && !os.IsNotExist(err) {
		t.Error(err)
	}
	for _, entry := range entries {
		t.Errorf("%s was left behind", entry.Name())
	}
}

// checkNoProcesses reports and kills processes that descend from the server. Each inherits its TMPDIR.
func (s *server) checkNoProcesses() {
	for limit := time.Now().Add(time.Second); len(s.descendants()) > 0 && time.Now().Before(limit); {
		time.Sleep(10 * time.Millisecond) // a kill takes effect when the kernel gets to it
	}
	for _, p := range s.descendants() {
		s.t.Errorf("process %d was left behind: %s", p.pid, p.command)
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
	}
}

// ends waits for the end of the process and returns how long it took.
func (s *server) ends() time.Duration {
	s.t.Helper()
	started := time.Now()
	select {
	case <-s.exited:
	case <-time.After(endPatience):
		s.t.Fatalf("the server did not end within %v", endPatience)
	}
	return time.Since(started)
}

// closeInput is what clients do to end a server.
func (s *server) closeInput() {
	s.t.Helper()
	if err := s.stdin.Close(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *server) signal(number syscall.Signal) {
	s.t.Helper()
	if err := s.command.Process.Signal(number); err != nil {
		s.t.Fatal(err)
	}
}

func (s *server) stderr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

// stderrAtEnd returns the whole of stderr, once the process and everything that held it has ended.
func (s *server) stderrAtEnd() string {
	s.t.Helper()
	select {
	case <-s.drained:
	case <-time.After(patience):
		s.t.Fatal("something keeps the server's streams open")
	}
	return s.stderr()
}

// closeOutput closes the client's end of stdout.
func (s *server) closeOutput() {
	s.t.Helper()
	if err := s.stdout.Close(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *server) readLog(stderr io.Reader) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := stderr.Read(buffer)
		s.mu.Lock()
		s.log.Write(buffer[:n])
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// read takes stdout apart. What is no protocol message fails the test.
func (s *server) read(stdout io.Reader) {
	for reader := bufio.NewReaderSize(stdout, 1<<20); ; {
		line, err := reader.ReadBytes('\n')
		s.mu.Lock()
		if len(line) > 0 {
			s.receiveLocked(line)
		}
		s.closed = err != nil
		s.arrived.Broadcast()
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// transcript keeps the newest lines of a conversation, the beginning of each.
type transcript struct{ lines []string }

const (
	keptLines     = 40
	keptLineBytes = 400
)

func (t *transcript) add(direction string, line []byte) {
	if len(t.lines) == keptLines {
		t.lines = slices.Delete(t.lines, 0, 1)
	}
	text := fmt.Sprintf(
		"%s %s %.*s",
		time.Now().Format("05.000"),
		direction,
		keptLineBytes,
		bytes.TrimRight(line, "\n"),
	)
	t.lines = append(t.lines, text)
}

func (t *transcript) String() string { return strings.Join(t.lines, "\n") }

// readOutput begins to read the stdout of a server that was started unread.
func (s *server) readOutput() { go s.read(s.stdout) }

// variable is the value of a variable in an environment.
func variable(environment []string, name string) string {
	for _, v := range environment {
		if value, is := strings.CutPrefix(v, name+"="); is {
			return value
		}
	}
	return ""
}
