package tests

import (
	"fmt"
	"testing"
)

// The server answers what needs no Python at any time, whatever user code does.
func TestBusy_AnswersWhilePythonRuns(t *testing.T) {
	for name, code := range map[string]string{
		"sleep":         "import time\ntime.sleep(600)",
		"loop":          "while True: pass",
		"loop in C":     "sum(range(10**12))",
		"GIL held in C": "import ctypes\nctypes.PyDLL(None).sleep(5)",
		"lock":          "import threading\nthreading.Event().wait()",
		"four threads": "import threading\n" +
			"ts = [threading.Thread(target=exec, args=('while True: pass',), daemon=True) for _ in range(4)]\n" +
			"[t.start() for t in ts]; ts[0].join()",
		"prints":   "while True: print('x' * 79)",
		"big repr": "'x' * 500_000_000; list(range(20_000_000)); repr(list(range(20_000_000)))[:1]",
		"child":    "import subprocess\nsubprocess.run(['sleep', '600'])",
		"blocked signal": "import signal, time\n" +
			"signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())\ntime.sleep(600)",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := connect(t, options{})
			s.works("the start")
			s.running(code)
			for range 10 {
				s.promptly("ping", nil)
				s.promptly("tools/list", map[string]any{})
			}
			s.promptly("initialize", initializeParams("2025-06-18"))
		})
	}
}

// A client that waits for the handshake while a preload takes its time is answered too.
func TestBusy_HandshakeDuringASlowPreload(t *testing.T) {
	t.Parallel()
	s := start(t, options{
		library: map[string]string{"slow.py": "import os, time\n" +
			"while not os.path.exists(os.environ['GATE']): time.sleep(0.01)\nname = 'slow'"},
		env: []string{
			"IPYTHON_MCP_PRELOAD_MODULES=slow",
			"IPYTHON_MCP_HANDSHAKE_SECONDS=0.5",
			"GATE=" + t.TempDir() + "/gate",
		},
	})
	s.initialize("2025-06-18")
	s.promptly("ping", nil)
	s.promptly("tools/list", map[string]any{})
	id := s.sendCell("slow.name")
	s.promptly("ping", nil)
	if s.answered(id) {
		t.Error("a call ran before the preload was done")
	}
	touch(t, variable(s.command.Env, "GATE"))
	if e := s.executionOf(id); string(e.Result) != `"slow"` {
		t.Errorf("the call gives %+v", e)
	}
}

// 40 MB of output do not keep a hundred pings from their answers, and are counted exactly.
func TestBusy_AnswersDuringFortyMegabytes(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	id := s.running("for _ in range(500_000): print('x' * 79)")
	for range 100 {
		s.promptly("ping", nil)
	}
	e := s.executionOf(id)
	if !e.OK || e.Truncated.StdoutOmitted != 40_000_000-8192 || !e.Truncated.Stdout {
		t.Errorf("truncated is %+v, the error %v", e.Truncated, e.Error)
	}
}

// Calls run in the order in which they arrived, also where they are of different tools.
func TestOrder_CallsRunInArrivalOrder(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.succeed("seen = []\ndef see(n): seen.append(n)")
	for i := range 300 {
		if i%3 == 0 {
			s.sendCall("call_function", map[string]any{"name": "see", "arguments": map[string]any{"n": i}})
		} else {
			s.sendCell(fmt.Sprintf("see(%d)", i))
		}
	}
	s.equals("seen == list(range(300))", "true")
}
