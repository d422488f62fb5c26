package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

type interruption struct {
	OK, Interrupted bool
	ExecutionID     string `json:"execution_id"`
	Status, Note    string
	Stack           *string
}

func (s *server) interrupt(id string) interruption {
	s.t.Helper()
	return decodeInto[interruption](s.t, s.call("interrupt", map[string]any{"execution_id": id}).Structured)
}

// interrupt stops what runs and says so; the namespace stays, and the execution's answer tells who did it.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.succeed("x = 5")
	id := s.detached("x = 6\nprint('before')\nwhile True: pass")
	if got := s.interrupt(id); !got.OK || !got.Interrupted || got.ExecutionID != id || got.Status != "interrupted" || got.Stack != nil {
		t.Errorf("interrupt answers %+v", got)
	}
	e := s.final(id)
	if e.OK || e.Status != "interrupted" || e.Error.ErrorType != "KeyboardInterrupt" || !strings.Contains(e.Error.Message, "interrupt") {
		t.Errorf("the interrupted execution answers %+v, %v", e, e.Error)
	}
	s.equals("x >= 5", "true")
	for _, again := range []interruption{s.interrupt(id), s.interrupt(id)} {
		if !again.OK || again.Interrupted || again.Status != "interrupted" {
			t.Errorf("interrupting it again answers %+v", again)
		}
	}
	s.equals("'untouched'", `"untouched"`)
}

// Code that is interrupted has a moment to clean up before it is interrupted again, which code that goes on is.
func TestInterrupt_LetsCodeCleanUp(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	for code, printed := range map[string]string{
		"try:\n    BEGUN; time.sleep(600)\nfinally:\n    time.sleep(0.5); print('cleaned up')":              "cleaned up\n",
		"try:\n    BEGUN; time.sleep(600)\nexcept KeyboardInterrupt:\n    print('caught')\ntime.sleep(600)": "caught\n",
	} {
		begun := filepath.Join(t.TempDir(), "begun")
		id := s.sendCell("import time\n" + strings.Replace(code, "BEGUN", fmt.Sprintf("open(%q, 'w').close()", begun), 1))
		eventually(t, "the code", func() bool { return os.Remove(begun) == nil })
		if got := s.interrupt(""); !got.Interrupted {
			t.Errorf("interrupt answers %+v", got)
		}
		if e := s.executionOf(id); e.Status != "interrupted" || e.Stdout != printed {
			t.Errorf("the execution answers %+v", e)
		}
	}
}

// A waiting call hears that its code was interrupted by another.
func TestInterrupt_WithoutIDHitsWhatRuns(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.succeed("import time\ndef f():\n    time.sleep(600)")
	id := s.running("time.sleep(600)")
	if got := s.interrupt(""); !got.Interrupted {
		t.Errorf("interrupt answers %+v", got)
	}
	if e := s.executionOf(id); e.Status != "interrupted" {
		t.Errorf("the interrupted call answers %+v", e)
	}
	id = s.sendCall("call_function", map[string]any{"name": "f", "arguments": map[string]any{}})
	eventually(t, "the call", func() bool { return s.interrupt("").Interrupted })
	got := decodeInto[struct {
		Status string
		Error  failure
	}](t, s.toolAnswer(id).Structured)
	if got.Status != "interrupted" || got.Error.ErrorType != "KeyboardInterrupt" {
		t.Errorf("the interrupted call answers %+v", got)
	}
}

// Code that cannot be stopped is reported as such, with the user's part of its stack; the server answers everything else.
func TestInterrupt_WhatCannotBeStopped(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.works("the start")
	id := s.detached("def outer(n):\n    print('begun')\n    return sum(range(n))\nouter(10**12)")
	s.begun()
	eventually(t, "the stack", func() bool {
		started := time.Now()
		got := s.interrupt(id)
		if took := time.Since(started); took > 5*time.Second {
			t.Errorf("the answer took %v", took)
		}
		if got.Interrupted || got.Status != "running" || !strings.Contains(got.Note, "get_execution") {
			t.Fatalf("interrupt answers %+v", got)
		}
		return got.Stack != nil && strings.HasSuffix(*got.Stack, "line 4 in <module>\n  File \"Cell [2]\", line 3 in outer") &&
			!strings.Contains(*got.Stack, "ipymcp") && !strings.Contains(*got.Stack, "IPython")
	})
	s.promptly("ping", nil)
	raw := s.toolAnswer(s.sendWaiting("1", 0.1))
	if !raw.IsError {
		t.Errorf("the next call answers %s", raw.Structured)
	}
	s.endsBy(s.closeInput)
}

// User code that has blocked every signal is interrupted all the same; the others stay blocked.
func TestInterrupt_WithEverySignalBlocked(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.succeed("import signal, threading")
	s.equals("signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())\nsignal.pthread_kill(threading.get_ident(), signal.SIGUSR1)\n"+
		"signal.SIGUSR1 in signal.sigpending()", "true")
	id := s.detached("signal.pthread_sigmask(signal.SIG_SETMASK, signal.valid_signals())\nprint('begun')\nwhile True: pass")
	s.begun()
	if got := s.interrupt(id); !got.Interrupted {
		t.Fatalf("interrupt answers %+v", got)
	}
	s.works("the interrupted code")
}

// A write that blocks can be interrupted where user code has put a pipe of its own in place of descriptor 1 or 2.
func TestInterrupt_BlockedWriteToAReplacedDescriptor(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	for _, stream := range []string{"1", "2"} {
		id := s.detached("import os\nprint('begun')\nr, w = os.pipe(); os.dup2(w, " + stream + "); os.write(" + stream + ", bytes(10**6))")
		s.begun()
		if got := s.interrupt(id); !got.Interrupted {
			t.Fatalf("interrupt answers %+v", got)
		}
		s.works("the interrupted write")
	}
	s.equals("r, w = os.pipe(); os.set_blocking(w, False); os.dup2(w, 1); os.write(1, bytes(10**6)) < 10**6", "true")
}
