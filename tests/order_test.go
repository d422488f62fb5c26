package tests

import (
	"strings"
	"testing"
)

// What a cell, native code and other processes write to descriptor 1 comes out in the order in which it was written,
// although small writes are collected. Each cell writes a, b, c and so on; what Python has of an unfinished line comes before a new process.
var orders = map[string]string{
	"print and os.write":        "for x in 'ac': print(x) or os.write(1, bytes([ord(x) + 1]))",
	"unfinished lines":          "for x in 'ac': print(x, end=''); os.write(1, bytes([ord(x) + 1]))",
	"a text layer of one's own": "print('a'); io.TextIOWrapper(sys.stdout.buffer, write_through=True).write('b')",
	"a duplicate":               "fd = os.dup(1)\nprint('a'); os.write(fd, b'b'); print('c'); os.write(fd, b'd')",
	"writev":                    "print('a'); os.writev(1, [b'b', b'c']); print('d')",
	"sendfile": "open('s.txt', 'w').write('b')\nprint('a')\n" +
		"os.sendfile(1, os.open('s.txt', os.O_RDONLY), 0, 1)\nprint('c')",
	"os.system":         "print('a', end=''); os.system('printf b'); print('c', end=''); os.system('printf d')",
	"subprocess":        "for x in 'ac': print(x, end=''); subprocess.run(['printf', chr(ord(x) + 1)])",
	"posix_spawn":       "print('a', end=''); os.waitpid(os.posix_spawn('/bin/echo', ['echo', '-n', 'b'], {}), 0); print('c', end='')",
	"a shell line":      "print('a', end='')\n!printf b\nprint('c', end='')",
	"fork":              "print('a', end='')\npid = os.fork()\nif not pid: print('b', end='', flush=True); os._exit(0)\nos.waitpid(pid, 0)\nprint('c', end='')",
	"a pool":            "print('a', end='')\nwith multiprocessing.get_context('fork').Pool(1) as p: p.map(print, 'b')\nprint('c', end='')",
	"spawn":             "print('a', end='')\np = multiprocessing.get_context('spawn').Process(target=os.write, args=(1, b'b'))\np.start(); p.join()\nprint('c', end='')",
	"a child on demand": childOnDemand + "print('a'); p.stdin.write(b'x'); p.stdin.flush(); os.read(r, 1); print('c')",
	"a child by socket": childOnDemand + "print('a'); near.send(b'x'); os.read(r, 1); print('c')",
	"a child by signal": childOnDemand + "print('a'); os.kill(p.pid, signal.SIGUSR1); os.read(r, 1); print('c')",
	"C's lines":         "C = ctypes.CDLL(None)\nprint('a'); C.puts(b'b'); print('c'); C.puts(b'd')",
	"C's puts":          "C = ctypes.CDLL(None)\nprint('a'); C.putchar(98); C.fflush(None); print('c'); C.putchar(100)",
	"the C library's own write": "C = ctypes.CDLL('libc.so.6')\nprint('a'); C.write(1, b'b', 1); print('c')\n" +
		"C.write(1, b'd', 1)",
	"descriptor 1 taken away and given back": "saved = os.dup(1)\nprint('a'); os.dup2(os.open('f.txt', os.O_CREAT | os.O_WRONLY), 1)\n" +
		"print('x'); os.dup2(saved, 1); print('b')\nprint('c' if open('f.txt').read() == 'x\\n' else 'no', end='')",
	"a child by semaphore": "e = multiprocessing.get_context('fork').Event()\npid = os.fork()\nif not pid: e.wait(); os.write(1, b'b'); os._exit(0)\n" +
		"print('a'); e.set(); os.waitpid(pid, 0); print('c')",
	"descriptor 1 closed among others": "saved = os.dup(1)\nprint('a'); os.closerange(1, 2); os.open('g.txt', os.O_CREAT | os.O_WRONLY)\n" +
		"print('x'); os.dup2(saved, 1); print('b')\nprint('c' if open('g.txt').read() == 'x\\n' else 'no', end='')",
	"threads":         "def f(x): print(x, end='')\nfor x in 'abcd': t = threading.Thread(target=f, args=(x,)); t.start(); t.join()",
	"large and small": "for x in 'abcdefgh': print(x) if ord(x) % 2 else print(x * 20_000, end='')",
}

// childOnDemand is a child that writes b once it is told to, through its stdin, a socket or a signal, and then says so through a pipe.
const childOnDemand = "r, w = os.pipe()\nnear, far = socket.socketpair()\n" +
	"p = subprocess.Popen([sys.executable, '-c', f'''\n" +
	"import os, select, signal\nsignal.signal(signal.SIGUSR1, lambda *a: None)\nos.write({w}, b'!')\n" +
	"try: signal.set_wakeup_fd(-1); a, b = os.pipe(); os.set_blocking(b, False); signal.set_wakeup_fd(b)\nexcept ValueError: pass\n" +
	"os.write({w}, b'!')\nselect.select([0, {far.fileno()}, a], [], [])\nos.write(1, b'b'); os.write({w}, b'!')\n" +
	"'''], stdin=subprocess.PIPE, pass_fds=[w, far.fileno()])\nos.read(r, 1); os.read(r, 1)\n"

// A stream that user code has changed does what any other would.
func TestOutput_ChangedStream(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.succeed("import sys")
	for _, test := range []struct{ code, want string }{
		{"print('a\\udc80', end=''); print('b', sys.stdout.write('é'))", `a\udc80éb 1` + "\n"},
		{"print('é', end=''); sys.stdout.reconfigure(encoding='latin-1'); print('é')", `é\xe9` + "\n"},
		{"print('a'); sys.stdout.buffer.write(b'b\\n'); sys.stdout.writelines('c\\n')", "a\nb\nc\n"},
		{"sys.stdout.reconfigure(line_buffering=False); print('a'); sys.stdout.flush()", "a\n"},
		{"raw = sys.stdout.detach(); raw.write(b'a'); sys.stdout = None", "a"},
		{"sys.stdout.reconfigure(errors='replace'); print('a\\udc80b')", "a?b\n"},
	} {
		if e := s.cell(test.code); e.Stdout != test.want {
			t.Errorf("%s: stdout is %q, want %q; %s", test.code, e.Stdout, test.want, e.Stderr)
		}
		s.works(test.code)
	}
	for code, want := range map[string]string{
		"sys.stdout.close(); sys.stdout.write('a')":  "I/O operation on closed file.",
		"sys.stdout.detach(); sys.stdout.write('a')": "underlying buffer has been detached",
		"sys.stdout.write(1)":                        "write() argument must be str, not int",
		"sys.stdout.write()":                         "takes exactly one argument (0 given)",
	} {
		e := s.cell(code)
		if e.Error == nil || !strings.Contains(e.Error.Message, want) {
			t.Errorf("%s gave %+v, want %q", code, e.Error, want)
		}
		s.works(code)
	}
}

func TestOutput_Order(t *testing.T) {
	for name, code := range orders {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := connect(t, options{dir: t.TempDir(), env: []string{"IPYTHON_MCP_MAX_TEXT_CHARS=1000000"}})
			s.succeed("import ctypes, io, multiprocessing, os, signal, socket, subprocess, sys, threading")
			for range 3 { // again, with what the first time may have changed
				written := strings.Join(strings.Fields(withoutRuns(s.succeed(code).Stdout)), "")
				if want := "abcdefgh"[:len(written)]; written != want || len(written) < 2 {
					t.Fatalf("wrote %q", written)
				}
			}
		})
	}
}

// A child of an earlier cell writes in the middle of a later one when memory that they share says so.
func TestOutput_OrderWithAnEarlierChild(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.succeed("import mmap, os\ntold = mmap.mmap(-1, 1)\nchild = os.fork()\nif not child:\n    while told[0] == 0: pass\n" +
		"    os.write(1, b'b'); os._exit(0)")
	if got := s.succeed("print('a'); told[0] = 1; os.waitpid(child, 0); print('c')").Stdout; got != "a\nbc\n" {
		t.Errorf("wrote %q", got)
	}
}

// withoutRuns leaves one of equal characters that follow each other.
func withoutRuns(text string) string {
	var b strings.Builder
	var last rune
	for _, r := range text {
		if r != last {
			b.WriteRune(r)
		}
		last = r
	}
	return b.String()
}
