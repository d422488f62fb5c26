package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
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

// Whatever code, or IPython, makes of the exception: what an interrupt has ended is interrupted. Code that goes on to a good end is not.
func TestInterrupt_HoweverCodeEnds(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.succeed("import asyncio, sys, time")
	const caught = "try:\n    print('begun'); time.sleep(600)\nexcept KeyboardInterrupt:\n    "
	const cancelled = "async def f():\n    try:\n        print('begun'); await asyncio.sleep(600)\n    except asyncio.CancelledError:\n        "
	for code, want := range map[string]struct{ status, errorType string }{
		"%%bash\necho begun\nexec sleep 600":                                     {"interrupted", "CalledProcessError"},
		"%%script --no-raise-error bash\necho begun\nexec sleep 600":             {"interrupted", "KeyboardInterrupt"},
		"get_ipython().run_cell('print(\"begun\"); time.sleep(600)')\n'ended'":   {"interrupted", "KeyboardInterrupt"},
		caught + "raise ValueError from None":                                    {"interrupted", "ValueError"},
		caught + "sys.exit(3)":                                                   {"interrupted", "SystemExit"},
		caught + "print('caught')":                                               {"ok", ""},
		cancelled + "raise ValueError from None\nawait f()":                      {"interrupted", "ValueError"},
		cancelled + "pass\nawait f()":                                            {"ok", ""},
		"class C:\n    def __repr__(self): print('begun'); time.sleep(600)\nC()": {"ok", ""}, // the code itself had ended
	} {
		id := s.detached(code)
		s.begun()
		got := s.interrupt(id)
		e := s.final(id)
		if !got.Interrupted || got.Status != want.status || e.Status != want.status || e.OK != (want.status == "ok") ||
			want.errorType != "" && (e.Error.ErrorType != want.errorType || !strings.Contains(e.Error.Message, "by a call of interrupt")) {
			t.Errorf("%s\ninterrupt answers %+v, the execution %+v, %+v", code, got, e, e.Error)
		}
	}
}

// What interrupted code has started ends with it, as at a terminal; what ignores SIGINT or has a session of its own lives on, and so does
// what code has started that handles its interrupt.
func TestInterrupt_EndsWhatTheCodeHasStarted(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.succeed("import os, subprocess, time")
	file := filepath.Join(t.TempDir(), "pid")
	const handled = "try:\n    time.sleep(600)\nexcept KeyboardInterrupt: pass"
	script := filepath.Join(t.TempDir(), "child.sh")
	writeFile(t, script, "echo $$ > "+file+"\nexec sleep 600\n")
	sleeps := "sh " + script + "; true"
	for code, lives := range map[string]bool{
		"!(" + sleeps + ") | cat":                                                                 false,
		"out = !(" + sleeps + ") | cat":                                                           false,
		"%%bash\n" + sleeps:                                                                       false,
		"os.system('(" + sleeps + "); true')":                                                     false,
		"subprocess.run('(" + sleeps + ") | cat', shell=True)":                                    false,
		"subprocess.Popen('" + sleeps + "', shell=True)\ntime.sleep(600)":                         false,
		"subprocess.Popen('" + sleeps + "', shell=True)\n" + handled:                              true,
		"subprocess.Popen('" + sleeps + "', shell=True, start_new_session=True)\ntime.sleep(600)": true,
		"!sh " + script + " &\ntime.sleep(600)":                                                   true,
		"subprocess.Popen('trap \"\" INT; " + sleeps + "', shell=True)\ntime.sleep(600)":          true,
	} {
		id := s.detached(code)
		pid := 0
		eventually(t, "the child", func() bool {
			text, err := os.ReadFile(file)
			if err != nil {
				return false
			}
			_, err = fmt.Sscan(string(text), &pid)
			return err == nil
		})
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if got := s.interrupt(id); !got.Interrupted {
			t.Errorf("%s: interrupt answers %+v", code, got)
		}
		if !lives {
			eventually(t, "the end of the child", func() bool { return !alive(pid) })
		} else if s.works("the interrupted code"); !alive(pid) {
			t.Errorf("%s: the child has ended", code)
		} else if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	}
}

// An interrupted operation leaves the rest undone, and says so.
func TestInterrupt_Operations(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	s := connect(t, options{env: []string{"IPYTHON_MCP_LIBRARY_PATHS=" + directory}})
	gate, begun := filepath.Join(directory, "gate"), filepath.Join(directory, "begun")
	block := fmt.Sprintf("open(%q, 'w').close(); time.sleep(600)", begun)
	for _, module := range []string{"first", "second"} {
		writeFile(t, filepath.Join(directory, module+".py"), fmt.Sprintf("import os, time\nif os.path.exists(%q):\n    %s", gate, block))
	}
	s.succeed("import time, first, second\nclass Slow:\n    def __repr__(self):\n        " + block + "\n" +
		"slow = [Slow() for _ in range(20)]\nslow1, slow2, slow3, slow4, slow5, slow6 = slow[:6]")
	touch(t, gate)
	for tool, arguments := range map[string]map[string]any{
		"search":  {"query": "slow"},
		"inspect": {"name": "slow"},
		"reload":  {"modules": []string{"first", "second"}},
	} {
		id := s.sendCall(tool, arguments)
		eventually(t, "the "+tool, func() bool { return os.Remove(begun) == nil })
		started := time.Now()
		if got := s.interrupt(""); !got.Interrupted || got.Status != "interrupted" || time.Since(started) > 900*time.Millisecond {
			t.Errorf("%s: interrupt answers %+v after %v", tool, got, time.Since(started))
		}
		answer := s.toolAnswer(id)
		text := string(answer.Structured)
		if e := decodeInto[struct{ Error *failure }](t, answer.Structured).Error; e == nil || e.ErrorType != "KeyboardInterrupt" ||
			tool == "reload" && !strings.Contains(text, "second was not loaded: the reload was interrupted") {
			t.Errorf("%s answers %s", tool, text)
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
