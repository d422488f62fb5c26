package tests

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	// soakVariable sets the duration of TestSoak, as time.ParseDuration reads it.
	soakVariable = "IPYTHON_MCP_TEST_SOAK"
	soakDuration = 2 * time.Minute
	// soakGrowth is how much resident memory may grow from the first quarter to the end, in bytes.
	soakGrowth = 8 << 20
)

// chores are what a session is made of. Each leaves the session as it found it.
var chores = map[string]func(*server){
	"value":  func(s *server) { s.equals("sum(range(1000))", "499500") },
	"names":  func(s *server) { s.succeed("a = [1] * 1000\nb = {'k': a}\ndef g(x: int = 1): return x\ndel a, b, g") },
	"output": func(s *server) { s.succeed("for i in range(20_000): print('line', i)") },
	"wide":   func(s *server) { s.succeed("print('é' * 300_000)") },
	"redraw": func(s *server) { s.succeed("for i in range(5000): print(f'\\r{i}/5000', end='')") },
	"child":  func(s *server) { s.succeed("import subprocess\nsubprocess.run(['echo', 'x']);") },
	"thread": func(s *server) {
		s.succeed("import threading\nt = threading.Thread(target=print, args=('x',)); t.start(); t.join()")
	},
	"task":    func(s *server) { s.succeed("import asyncio\nt = asyncio.create_task(asyncio.sleep(0)); await t") },
	"display": func(s *server) { s.succeed("for i in range(30): display({'text/plain': 'x' * 1000}, raw=True)") },
	"picture": soakPicture,
	"error": func(s *server) {
		soakFailure(s, "def f(n): return f(n - 1) if n else 1 / 0\nf(50)", "ZeroDivisionError")
	},
	"recursion": func(s *server) { soakFailure(s, "def f(): f()\nf()", "RecursionError") },
	"syntax":    func(s *server) { soakFailure(s, "1 +", "SyntaxError") },
	"scratch": func(s *server) {
		s.call("execute", map[string]any{"code": "tmp = 'x' * 100_000\ntmp", "persist": false})
	},
	"list":    func(s *server) { s.call("list", nil) },
	"search":  func(s *server) { s.call("search", map[string]any{"query": "s"}) },
	"inspect": func(s *server) { s.call("inspect", map[string]any{"name": "steady"}) },
	"function": func(s *server) {
		s.call("call_function", map[string]any{"name": "steady", "arguments": map[string]any{"n": 2}})
	},
	"tool":      soakTool,
	"reload":    soakReload,
	"detached":  soakDetached,
	"cancelled": soakCancelled,
	"reset":     soakReset,
}

const steady = "def steady(n: int = 1) -> int:\n    'Twice as much.'\n    return 2 * n"

func soakFailure(s *server, code, want string) {
	s.t.Helper()
	if e := s.cell(code); e.OK || e.Error.ErrorType != want {
		s.t.Fatalf("%.40q gave %+v", code, e)
	}
}

func soakPicture(s *server) {
	code := fmt.Sprintf("import base64\ndisplay({'image/png': base64.b64decode(%q)}, raw=True)", pixel)
	if a := s.call("execute", map[string]any{"code": code}); len(a.Content) < 2 {
		s.t.Fatalf("a picture gave %s", a.text())
	}
}

func soakTool(s *server) {
	s.call("register_tool", map[string]any{"name": "steady", "tool_name": "doubled"})
	a := s.call("doubled", map[string]any{"n": 4})
	if !strings.Contains(string(a.Structured), `"result":8`) {
		s.t.Fatalf("the tool answered %s", a.Structured)
	}
	s.call("unregister_tool", map[string]any{"names": []string{"doubled"}})
}

func soakReload(s *server) {
	s.write("soaked.py", fmt.Sprintf("version = %d\ndef f(): return version\n", rand.IntN(1000)))
	s.call("reload", map[string]any{"modules": []string{"soaked"}, "refresh": true})
}

func soakDetached(s *server) {
	id := s.detached("import time\nprint('begun')\nwhile True: time.sleep(0.01)")
	s.interrupt(id)
	if e := s.final(id); e.Status != "interrupted" {
		s.t.Fatalf("an interrupted execution ended as %+v", e)
	}
}

func soakCancelled(s *server) {
	s.cancel(s.sendCell("while True: pass"))
	s.equals("1 + 1", "2")
}

func soakReset(s *server) {
	s.call("reset", nil)
	s.succeed(steady)
}

// A long session of mixed calls takes no more memory at its end than early on.
func TestSoak(t *testing.T) {
	t.Parallel()
	duration := soakDuration
	if text := os.Getenv(soakVariable); text != "" {
		var err error
		if duration, err = time.ParseDuration(text); err != nil {
			t.Fatalf("%s: %v", soakVariable, err)
		}
	}
	s := connect(t, options{library: map[string]string{"soaked.py": ""}})
	s.succeed(steady)
	names := slices.Sorted(maps.Keys(chores))
	var memory []int
	for end := time.Now().Add(duration); time.Now().Before(end); {
		rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		for _, name := range names {
			chores[name](s)
		}
		s.forgetAll()
		memory = append(memory, resident(t, s.command.Process.Pid))
	}
	if len(memory) < 20 {
		t.Fatalf("only %d rounds in %v", len(memory), duration)
	}
	quarter := len(memory) / 4
	early, late := middle(memory[quarter/2:quarter+1]), middle(memory[len(memory)-quarter/2:])
	t.Logf("%d rounds of %d calls, resident %.1f MB early and %.1f MB late", len(memory), len(names), mega(early), mega(late))
	if late-early > soakGrowth {
		t.Errorf("resident memory grew from %.1f to %.1f MB in %d rounds", mega(early), mega(late), len(memory))
	}
}

// forgetAll drops the answers so far.
func (s *server) forgetAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.responses)
}

func middle(values []int) int {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

func mega(size int) float64 { return float64(size) / (1 << 20) }
