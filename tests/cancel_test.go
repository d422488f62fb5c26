package tests

import (
	"fmt"
	"testing"
	"time"
)

// A cancelled call is not answered: a running one is interrupted, a waiting one never runs. Cancelling what is not
// there does nothing.
func TestCancel(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.succeed("ran = []")
	running := s.running("while True: pass")
	waiting := s.sendCell("ran.append('waiting')")
	next := s.sendCell("ran.append('next')\nran")
	s.cancel(waiting)
	s.cancel(waiting)
	s.cancel("12345")
	s.cancel(`"unknown"`)
	s.cancel(`"` + running + `"`) // a string is another id
	s.promptly("ping", nil)
	if s.answered(next) {
		t.Error("the next call ran beside the first")
	}
	s.cancel(running)
	s.cancel(running)
	if e := s.executionOf(next); string(e.Result) != `["next"]` {
		t.Errorf("what ran: %s", e.Result)
	}
	s.cancel(next) // has finished
	s.works("the cancellations")
	s.closeInput()
	s.ends()
	s.neverAnswered(running)
	s.neverAnswered(waiting)
}

// Every tool's call can be withdrawn while it waits.
func TestCancel_WaitingCallsOfEveryTool(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.succeed("x = 1\ndef f(): global x; x = 2")
	running := s.running("import time\ntime.sleep(600)")
	var waiting []string
	for tool, arguments := range map[string]map[string]any{
		"execute":       {"code": "x = 3"},
		"call_function": {"name": "f", "arguments": map[string]any{}},
		"remove":        {"names": []string{"x"}},
		"reset":         {},
		"list":          {},
		"search":        {"query": "x"},
		"inspect":       {"name": "x"},
		"reload":        {"modules": []string{"json"}},
	} {
		waiting = append(waiting, s.sendCall(tool, arguments))
	}
	for _, id := range append(waiting, running) {
		s.cancel(id)
	}
	s.equals("x", "1")
	for _, id := range append(waiting, running) {
		s.neverAnswered(id)
	}
}

// What an interrupt must be able to break.
var blockers = []string{
	"time.sleep(600)",
	"while True: pass",
	"while True: print('x' * 1000)",
	"subprocess.run(['sleep', '600'])",
	"os.system('sleep 600')",
	"!sleep 600",
	"queue.Queue().get()",
	"lock = threading.Lock(); lock.acquire(); lock.acquire()",
	"threading.Event().wait()",
	"t = threading.Thread(target=time.sleep, args=(3,)); t.start(); t.join()",
	"signal.signal(signal.SIGINT, signal.SIG_IGN); time.sleep(600)",
	"signal.signal(signal.SIGINT, lambda *a: None)\nwhile True: pass",
	"await asyncio.sleep(600)",
	"asyncio.run(asyncio.sleep(600))",
	"pair = socket.socketpair(); pair[0].recv(1)",
	"os.read(os.pipe()[0], 1)",
	"sum(iter(lambda: 1, 2))",
	"try:\n    time.sleep(600)\nexcept KeyboardInterrupt:\n    time.sleep(600)",
	"try:\n    time.sleep(600)\nfinally:\n    print('finally')",
	"list(map(lambda x: x, iter(int, 1)))",
	"%timeit -n 1 -r 1 time.sleep(600)",
	"exec('while True: pass')",
	"class C:\n    def __repr__(self):\n        while True: pass\nC()",
	"multiprocessing.get_context('fork').Pool(2).map(time.sleep, [600] * 4)",
}

func TestCancel_BreaksWhatBlocks(t *testing.T) {
	for _, code := range blockers {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			s := connect(t, options{})
			s.succeed("import time, subprocess, os, queue, threading, asyncio, signal, socket, multiprocessing")
			id := s.running(code)
			started := time.Now()
			s.cancel(id)
			s.awaitWithin(s.sendCell("1"), endPatience)
			if took := time.Since(started); took > 5*time.Second {
				t.Errorf("the next cell waited %v", took)
			}
			s.works(code)
			s.neverAnswered(id)
		})
	}
}

// Cells are cancelled at moments around their end: each is answered once or never, and the next ones are untouched.
func TestCancel_Races(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"", "race"} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			s := connect(t, options{binary: programFor(t, program)})
			s.succeed("done = 0")
			for i := range 150 {
				id := s.sendCell("done += 1")
				time.Sleep(time.Duration(i%15) * 100 * time.Microsecond) // where in the call the cancellation hits
				s.cancel(id)
				if got := s.value(fmt.Sprintf("'next %d'", i)); got != fmt.Sprintf(`"next %d"`, i) {
					t.Fatalf("round %d: %s", i, got)
				}
			}
			s.equals("done <= 150", "true")
		})
	}
}

// programFor is the program under test, or the one with the race detector.
func programFor(t *testing.T, kind string) string {
	t.Helper()
	if kind == "" {
		return binary
	}
	path, err := raceBinary()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestRace_UnderLoad puts everything on the protocol at once, under the race detector. Its report on stderr fails the
// test.
func TestRace_UnderLoad(t *testing.T) {
	t.Parallel()
	s := connect(t, options{binary: programFor(t, "race"), untidy: true})
	s.works("the start")
	var ids []string
	for i := range 200 {
		ids = append(ids, s.sendCell(fmt.Sprintf("print('x' * 100 * %d)\nimport os\nos.system('echo child')", i%20)))
		s.send("ping", nil)
		s.send("tools/list", map[string]any{})
		s.sendCall("search", map[string]any{"query": "x"})
		s.sendCall("read_output", map[string]any{"execution_id": fmt.Sprintf("e%d", max(i-5, 1))})
		s.sendLine(`{"broken`)
		if i%7 == 0 {
			s.cancel(ids[i/2])
		}
	}
	s.works("the load")
	s.endsBy(s.closeInput)
}
