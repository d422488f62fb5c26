package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A signal that user code blocks in order to wait for it reaches nobody else: not a thread of Go's, where it would end the process.
func TestSignals_WaitedFor(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.succeed("import os, signal, subprocess")
	for _, number := range []string{"SIGUSR1", "SIGUSR2", "SIGIO", "SIGPWR", "SIGRTMIN + 2", "SIGRTMAX"} {
		s.equals("n = signal."+number+"\nsignal.pthread_sigmask(signal.SIG_BLOCK, [n]); os.kill(os.getpid(), n); signal.sigwait([n]) == n", "true")
	}
	s.equals("signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM]); signal.alarm(1); signal.sigwait([signal.SIGALRM]) == signal.SIGALRM", "true")
	s.equals("signal.pthread_sigmask(signal.SIG_SETMASK, [])\nsubprocess.getoutput('grep SigBlk /proc/self/status').strip('SigBlk:\\t 0')", `""`)
}

// A signal whose default ends a process does nothing where user code sends it, or brings it about, without handling it.
func TestSignals_DefaultsFromWithin(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	for _, code := range []string{
		"import os, signal, time\nfor n in ('QUIT', 'PIPE', 'ALRM', 'VTALRM', 'PROF', 'USR1', 'USR2', 'IO', 'PWR', 'XCPU', 'XFSZ', 'RTMAX'):\n" +
			"    number = getattr(signal, 'SIG' + n); signal.signal(number, signal.SIG_DFL); os.kill(os.getpid(), number)",
		"signal.alarm(1); time.sleep(1.2)",
		"for kind in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF): signal.setitimer(kind, 0.001, 0.001)\n" +
			"sum(range(10**6))\nfor kind in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF): signal.setitimer(kind, 0)",
		"r, w = os.pipe(); os.close(r)\ntry: os.write(w, b'x')\nexcept BrokenPipeError: pass",
		"import _signal\nfor n in range(1, 65):\n    try: _signal.signal(n, _signal.SIG_DFL)\n    except Exception: pass",
	} {
		s.succeed(code)
		s.works(code)
	}
	// Nor where a child sends it.
	s.succeed("import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'import os\\nfor n in (10, 12, 13, 14, 29, 30, 34, 64): os.kill(os.getppid(), n)'])")
	s.works("signals of a child")
	// A child dies of them as ever.
	s.equals("pid = os.fork()\nif not pid: os.kill(os.getpid(), signal.SIGUSR1); os._exit(0)\nos.WTERMSIG(os.waitpid(pid, 0)[1])", "10")
}

// What user code ignores is ignored by new programs, too, and interrupts no system call.
func TestSignals_Ignored(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.succeed("import ctypes, os, signal, subprocess, threading\nfor n in (10, 12, 3, 14, 40): signal.signal(n, signal.SIG_IGN)")
	for _, name := range []string{"USR1", "USR2", "QUIT", "ALRM", "40"} {
		s.equals("subprocess.run(['sh', '-c', 'kill -"+name+" $$; echo alive'], capture_output=True, text=True).stdout", `"alive\n"`)
	}
	s.equals("threading.Timer(0.1, os.kill, (os.getpid(), 12)).start(); ctypes.CDLL(None).usleep(300_000)", "0")
	s.succeed("for n in (10, 12, 3, 14, 40): signal.signal(n, signal.SIG_DFL); os.kill(os.getpid(), n)")
	s.equals("seen = []\nsignal.signal(10, lambda *a: seen.append(a[0])); os.kill(os.getpid(), 10)\nseen", "[10]")
}

// A timer's signal comes no faster than Python handles it.
func TestSignals_Storm(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.succeed("import signal\nseen = []\nsignal.signal(signal.SIGALRM, lambda *a: seen.append(1)); signal.setitimer(signal.ITIMER_REAL, 1e-6, 1e-6)")
	s.equals("signal.setitimer(signal.ITIMER_REAL, 0)\nlen(seen) > 0", "true")
}

// What takes the interrupt's signal away from Python ends nothing, and takes it away for no later cell.
func TestSignals_TheInterruptIsFixed(t *testing.T) {
	for name, code := range map[string]string{
		"_signal":              "import _signal; _signal.signal(16, _signal.SIG_DFL)",
		"faulthandler":         "import faulthandler; faulthandler.register(16)",
		"sigaction":            "import ctypes; ctypes.CDLL(None).sigaction(16, bytes(256), None)",
		"the C library itself": "import ctypes; ctypes.CDLL('libc.so.6').signal(16, 0)",
		"pthread_sigmask":      "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, [16])",
		"siginterrupt":         "import signal; signal.siginterrupt(16, False)",
		"set_wakeup_fd":        "import os, signal; r, w = os.pipe(); os.set_blocking(w, False); signal.set_wakeup_fd(w); os.close(w)",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := connect(t, options{})
			s.succeed("import time")
			id := s.running(code + "\ntime.sleep(2)")
			s.interrupt("")
			s.executionOf(id)
			s.works(code)
			id = s.running("while True: time.sleep(1)")
			if got := s.interrupt(""); !got.Interrupted {
				t.Errorf("interrupt answers %+v", got)
			}
			s.executionOf(id)
			s.works("the interrupt")
		})
	}
}

// A child that crashes dies of the signal, with Python's traceback at most.
func TestSignals_CrashOfAChild(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	for _, number := range []string{"SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGABRT", "SIGTRAP", "SIGSYS"} {
		e := s.succeed("import os, signal\npid = os.fork()\nif not pid: signal.raise_signal(signal." + number + ")\nos.WTERMSIG(os.waitpid(pid, 0)[1]) == signal." + number)
		if string(e.Result) != "true" || e.Stderr != "" {
			t.Errorf("after %s, the cell gives %s and %q", number, e.Result, e.Stderr)
		}
	}
	s.equals("import ctypes\npid = os.fork()\nif not pid: ctypes.string_at(0)\nos.WTERMSIG(os.waitpid(pid, 0)[1])", "11")
	if log := s.stderr(); strings.Contains(log, "goroutine") || strings.Contains(log, "signal arrived") {
		t.Errorf("the log says %s", log)
	}
}

// A handler runs at once whenever its signal comes, also between the end of a call and the wait for the next one, whatever the signal is.
func TestSignals_BetweenCalls(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.succeed("import os, signal, threading, time\ndef send(number, delay): time.sleep(delay); os.kill(os.getpid(), number)\n" +
		"numbers = [signal.SIGUSR1, signal.SIGCHLD, signal.SIGWINCH, signal.SIGCONT]\n" +
		"for number in numbers: signal.signal(number, lambda *a: open('came', 'w').close())")
	for i := range 100 {
		s.succeed(fmt.Sprintf("threading.Thread(target=send, args=(numbers[%d %% 4], %d * 3e-6)).start()", i, i))
		// No call comes that the handler could wait for.
		eventually(t, "the handler", func() bool { return os.Remove(filepath.Join(s.home, "came")) == nil })
	}
}

// C code's handlers run where there is room for them: Python's thread may be in Go, whose stacks are small.
func TestSignals_HandlersOfCCode(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.succeed("import ctypes, os, signal\nprogram, library = ctypes.CDLL(None), ctypes.CDLL('libc.so.6')\nhandler = ctypes.cast(program.abs, ctypes.c_void_p)\n" +
		"def found(c, number):\n    action = (ctypes.c_uint64 * 19)(); c.sigaction(number, None, action); return action[0], action[17]\n")
	for _, set := range []string{
		"program.signal(number, handler)",
		"action = (ctypes.c_uint64 * 19)(); action[0] = handler.value; program.sigaction(number, action, None)",
	} {
		for _, number := range []string{"SIGCHLD", "SIGWINCH", "SIGUSR1"} {
			s.succeed("number = signal." + number + "\n" + set)
			s.equals("found(program, number)[0] == handler.value", "true")
			s.equals("found(library, number)[1] & 0x08000000", "134217728") // SA_ONSTACK
			s.succeed("os.kill(os.getpid(), number)")
			s.works(set)
			s.succeed("program.signal(number, None)")
			s.equals("found(program, number)[0]", "0")
		}
	}
}
