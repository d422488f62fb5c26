package tests

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	// endLimit is how soon the process must be gone after EOF or a signal.
	endLimit = 2 * time.Second
	// hardEndLimit is the same where nothing can be interrupted and every grace is used up: it is the contract's limit
	// for the process, and this machine is shared.
	hardEndLimit = 3 * time.Second
)

// endings are the ways in which a server is told to end.
var endings = []struct {
	name string
	end  func(*server)
}{
	{"EOF", (*server).closeInput},
	{"SIGTERM", func(s *server) { s.signal(syscall.SIGTERM) }},
	{"SIGINT", func(s *server) { s.signal(syscall.SIGINT) }},
	{"SIGHUP", func(s *server) { s.signal(syscall.SIGHUP) }},
}

// endsBy ends the server and checks that this is in time, quiet and successful.
func (s *server) endsBy(end func()) {
	s.t.Helper()
	end()
	if took := s.ends(); took > endLimit {
		s.t.Errorf("the server ended after %v", took)
	}
	if !s.state.Success() {
		s.t.Errorf("the server ended with %v", s.state)
	}
	s.checkNoLocks()
}

// checkNoLocks makes sure that no lock of the cache stays behind. A start of another test may hold one for a while.
func (s *server) checkNoLocks() {
	s.t.Helper()
	eventually(s.t, "a cache without locks", func() bool {
		locks, err := filepath.Glob(filepath.Join(cacheDir, "*.lock"))
		return err == nil && len(locks) == 0
	})
}

// What runs when the end comes. The name says what is special about it.
var busyEnds = []struct{ name, prepare, code string }{
	{name: "idle"},
	{name: "sleeps", code: "import time\ntime.sleep(600)"},
	{name: "loops", code: "while True: pass"},
	{name: "loops in C, deaf to signals", code: "sum(range(10**12))"},
	{name: "waits for a child", code: "import os\nos.system('sleep 600')"},
	{name: "prints for ever", code: "while True: print('x' * 1000)"},
	{name: "awaits", code: "import asyncio\nawait asyncio.sleep(600)"},
	{name: "catches KeyboardInterrupt once", code: "try:\n    while True: pass\nexcept KeyboardInterrupt:\n" +
		"    while True: pass"},
	{name: "catches KeyboardInterrupt always", code: "import time\nwhile True:\n    try:\n" +
		"        while True: time.sleep(1)\n    except BaseException: pass"},
	{name: "has a hanging atexit handler", code: "import atexit, time\natexit.register(time.sleep, 600)"},
	{name: "has a thread that is no daemon", code: "import threading, time\n" +
		"threading.Thread(target=time.sleep, args=(600,)).start()"},
	{name: "has a daemon that prints for ever", code: "import threading\ndef flood():\n    while True: print('x')\n" +
		"threading.Thread(target=flood, daemon=True).start()"},
	{
		name: "ignored signals before", prepare: "import signal\n" +
			"for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP): signal.signal(n, signal.SIG_IGN)",
		code: "import time\ntime.sleep(600)",
	},
	{
		name: "ignored signals before, idle", prepare: "import signal\n" +
			"for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP): signal.signal(n, signal.SIG_IGN)",
	},
	{
		name: "ignores signals itself",
		code: "import signal, time\n" +
			"for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP): signal.signal(n, signal.SIG_IGN)\n" +
			"time.sleep(600)",
	},
	{name: "blocks signals", code: "import signal, time\n" +
		"signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())\ntime.sleep(600)"},
	{name: "closed descriptors", prepare: "import os\nfor fd in range(3): os.close(fd)", code: "import time\n" +
		"time.sleep(600)"},
}

// TestEnd ends servers in every way while they do everything.
func TestEnd(t *testing.T) {
	for _, busy := range busyEnds {
		for _, how := range endings {
			if how.name == "SIGHUP" && busy.name != "idle" && busy.name != "loops" {
				continue // it goes the way of SIGTERM; two are enough
			}
			t.Run(how.name+" "+busy.name, func(t *testing.T) {
				t.Parallel()
				s := connect(t, options{})
				s.succeed(busy.prepare + "\n1")
				if busy.code != "" {
					s.running(busy.code)
				}
				s.endsBy(func() { how.end(s) })
			})
		}
	}
}

func TestEnd_BeforeInitialize(t *testing.T) {
	for _, how := range endings {
		t.Run(how.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, options{})
			if how.name != "EOF" {
				s.awaitStart()
			}
			s.endsBy(func() { how.end(s) })
		})
	}
}

// awaitStart waits until the process has put its signal handlers in place.
func (s *server) awaitStart() {
	s.t.Helper()
	s.exchange(`{"jsonrpc":"2.0","id":"awake","method":"ping"}`, `"awake"`)
}

func TestEnd_AtexitHandlersRun(t *testing.T) {
	for _, how := range endings {
		t.Run(how.name, func(t *testing.T) {
			t.Parallel()
			mark := filepath.Join(t.TempDir(), "mark")
			s := connect(t, options{})
			s.succeed(fmt.Sprintf("import atexit\natexit.register(lambda: open(%q, 'w').close());", mark))
			s.running("import time\ntime.sleep(600)")
			s.endsBy(func() { how.end(s) })
			if matches, _ := filepath.Glob(mark); len(matches) != 1 {
				t.Error("the handler did not run")
			}
		})
	}
}

// A call that is about to be answered is answered before the end.
func TestEnd_AnswersWhatIsNearlyDone(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.works("the start")
	id := s.sendCell("6 * 7")
	s.closeInput()
	if e := s.executionOf(id); string(e.Result) != "42" {
		t.Errorf("the last call gives %s", e.Result)
	}
	s.ends()
}

func TestEnd_ClientClosesItsReadingEnd(t *testing.T) {
	for name, code := range map[string]string{"idle": "1", "prints": "print('x' * 100_000)", "loops": "while True: pass"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := connect(t, options{})
			s.works("the start")
			s.closeOutput()
			// Only a write can notice it: the ping is answered whatever runs.
			s.sendCell(code)
			s.send("ping", nil)
			if took := s.ends(); took > hardEndLimit {
				t.Errorf("the server ended after %v", took)
			}
			if s.state.Exited() == false {
				t.Errorf("the server ended with %v", s.state)
			}
			s.checkNoLocks()
		})
	}
}

// A client that is killed takes its pipes with it: the server sees EOF. Here the client is a shell between us and the
// server.
func TestEnd_ClientIsKilled(t *testing.T) {
	t.Parallel()
	s := start(t, options{binary: "/bin/sh", args: []string{"-c", `mkfifo "$TMPDIR/in"
` + binary + ` <"$TMPDIR/in" & echo $! >"$TMPDIR/pid"; exec 3>"$TMPDIR/in"; rm "$TMPDIR/in"
while read -r line; do printf '%s\n' "$line" >&3; done`}, untidy: true})
	s.initialize("2025-06-18")
	s.works("the start")
	s.running("while True: pass")
	if err := s.command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	limit := time.Now().Add(hardEndLimit)
	for len(s.descendants()) > 0 && time.Now().Before(limit) {
		time.Sleep(10 * time.Millisecond)
	}
	if left := s.descendants(); len(left) > 0 {
		t.Errorf("an orphan is left: %v", left)
	}
}

// os._exit, exec and fatal signals are the user's own: the client sees the process end.
func TestEnd_OfTheUsersOwn(t *testing.T) {
	t.Parallel()
	s := connect(t, options{untidy: true})
	s.sendCell("import os\nos._exit(7)")
	s.ends()
	if s.state.ExitCode() != 7 {
		t.Errorf("the state is %v", s.state)
	}
}

func TestCrash_LeavesAPythonTraceback(t *testing.T) {
	for name, code := range map[string]string{
		"main thread": "import ctypes\ndef crash(): ctypes.string_at(0)\ncrash()",
		"other thread": "import ctypes, threading\ndef crash(): ctypes.string_at(0)\n" +
			"t = threading.Thread(target=crash); t.start(); t.join()",
		"abort": "import os\ndef crash(): os.abort()\ncrash()",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := connect(t, options{untidy: true})
			s.sendCell(code)
			s.ends()
			if log := s.stderrAtEnd(); s.state.Success() || !strings.Contains(log, "Fatal Python error") ||
				!strings.Contains(log, "in crash") {
				t.Errorf("the state is %v", s.state)
			}
		})
	}
}
