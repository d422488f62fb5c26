package tests

import (
	"fmt"
	"strings"
	"testing"
)

// startMethods are multiprocessing's; what a pool runs may be defined in a cell, under each of them.
var startMethods = []string{"fork", "spawn", "forkserver"}

const poolCells = `
import multiprocessing, concurrent.futures, os, functools
from dataclasses import dataclass
@dataclass
class Item:
    n: int
    def double(self): return Item(self.n * 2)
offset = 10
def shift(n): return n + offset
def twice(item): return item.double()
def fails(n): raise ValueError(f'bad {n}')
def start_with(n): global started; started = n
def started_with(_): return started
def put(queue, n): queue.put(n + offset)
context = multiprocessing.get_context(%q)
`

// Pools and processes work under every start method, with functions and classes that were defined in a cell.
func TestProcesses_StartMethods(t *testing.T) {
	for _, method := range startMethods {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			s := connect(t, options{})
			s.succeed(fmt.Sprintf(poolCells, method))
			for _, test := range []struct{ code, want string }{
				{"with context.Pool(2) as pool: r = pool.map(abs, range(-3, 1))\nr", "[3,2,1,0]"},
				{"with context.Pool(2) as pool: r = pool.map(shift, range(3))\nr", "[10,11,12]"},
				{"with context.Pool(2) as pool: r = pool.map(lambda n: n * n, range(3))\nr", "[0,1,4]"},
				{"with context.Pool(2) as pool: r = pool.map(twice, [Item(1), Item(2)])\n" +
					"r, isinstance(r[0], Item)", `[[{"n":2},{"n":4}],true]`},
				{"with context.Pool(1, start_with, (5,)) as pool: r = pool.map(started_with, [0])\nr", "[5]"},
				{"with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool: r = list(pool.map(shift, range(3)))\nr", "[10,11,12]"},
				{"with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool: r = pool.submit(functools.partial(pow, 2), 5).result()\nr", "32"},
				{"q = context.Queue()\n" +
					"p = context.Process(target=put, args=(q, 1)); p.start(); r = q.get(timeout=50); p.join()\n" +
					"[r, p.exitcode]", "[11,0]"},
			} {
				s.equals(test.code, test.want)
			}
			e := s.cell("with context.Pool(1) as pool: pool.map(fails, [1])")
			if e.OK || e.Error.ErrorType != "ValueError" || !strings.Contains(e.Error.Message, "bad 1") {
				t.Errorf("a failing worker gives %+v, error %v", e, e.Error)
			}
			e = s.succeed("p = context.Process(target=print, args=('from a process',)); p.start(); p.join()")
			if !strings.Contains(e.Stdout, "from a process\n") {
				t.Errorf("a process printed %q", e.Stdout)
			}
			s.works("pools")
		})
	}
}

// The default start method, a manager and shared memory.
func TestProcesses_Defaults(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.succeed("import multiprocessing, multiprocessing.shared_memory\ndef square(n): return n * n")
	s.equals("with multiprocessing.Pool(2) as pool: r = sum(pool.map(square, range(100)))\nr", "328350")
	s.equals("with multiprocessing.Manager() as m:\n    d = m.dict(a=1); d['b'] = 2; r = dict(d)\nr", `{"a":1,"b":2}`)
	s.equals("m = multiprocessing.shared_memory.SharedMemory(create=True, size=10)\n"+
		"m.buf[0] = 7; r = m.buf[0]; m.close(); m.unlink()\nr", "7")
}

// sys.executable is a real Python of the same version, for subprocesses too.
func TestProcesses_Executable(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.succeed("import sys, subprocess, os")
	s.equals(
		"subprocess.check_output([sys.executable, '-c', 'import sys; print(sys.version)'], text=True).strip() == sys.version.replace(chr(10), '')",
		"true",
	)
	s.equals(
		"subprocess.check_output([sys.executable, '-c', 'import ssl, sqlite3, lzma, ctypes; print(1)'], text=True).strip()",
		`"1"`,
	)
	s.equals("subprocess.run([sys.executable, '-m', 'timeit', '-n1', '-r1'], capture_output=True).returncode", "0")
	s.equals("out = !python3 -c 'print(6 * 7)' || true\nlen(out) > 0", "true")
	s.equals(
		"os.path.samefile(sys.executable, os.path.realpath(sys.executable)) and sys.executable == sys._base_executable",
		"true",
	)
	s.equals("sys.prefix == sys.base_prefix == sys.exec_prefix", "true")
}

// Threads of every kind are no trouble.
func TestProcesses_Threads(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.succeed("import threading, time, sys, signal, ctypes, faulthandler")
	s.equals("threading.current_thread() is threading.main_thread()", "true")
	s.equals("threading.get_native_id() == __import__('os').getpid()", "true")
	for _, size := range []string{"1 << 16", "1 << 20", "64 << 20", "0"} {
		s.equals("threading.stack_size("+size+")\n"+
			"ts = [threading.Thread(target=lambda: time.sleep(0.01)) for _ in range(50)]\n"+
			"[t.start() for t in ts]; [t.join() for t in ts]\nlen(ts)", "50")
	}
	s.equals("ts = [threading.Thread(target=lambda: time.sleep(0.05)) for _ in range(500)]\n"+
		"[t.start() for t in ts]; [t.join() for t in ts]\nlen(ts)", "500")
	s.succeed("sys.setswitchinterval(1e-6)")
	s.equals("local = threading.local()\nlocal.x = 1\nseen = []\n"+
		"t = threading.Thread(target=lambda: seen.append(hasattr(local, 'x'))); t.start(); t.join()\n"+
		"[local.x, seen]", "[1,[false]]")
	s.works("threads")
}

// User code's own signal handlers run; handlers that C code installs without an alternate stack do not kill Go.
func TestProcesses_Signals(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.succeed("import signal, time, os, ctypes, threading\nseen = []\nlibc = ctypes.CDLL(None)\n" +
		"harmless = ctypes.cast(libc.abs, ctypes.c_void_p)")
	s.equals("old = signal.signal(signal.SIGALRM, lambda *a: seen.append('alarm'))\n"+
		"signal.alarm(1); time.sleep(1.5)\nseen", `["alarm"]`)
	s.equals("old = signal.signal(signal.SIGUSR1, lambda *a: seen.append('usr1'))\n"+
		"os.kill(os.getpid(), signal.SIGUSR1)\ntime.sleep(0.05)\nseen[-1]", `"usr1"`)
	s.equals("old = signal.signal(signal.SIGCHLD, lambda *a: seen.append('child'))\nos.system('true')\n"+
		"time.sleep(0.05)\n'child' in seen", "true")
	s.equals("old = signal.signal(signal.SIGTERM, lambda *a: seen.append('term'))\n"+
		"os.kill(os.getpid(), signal.SIGTERM)\ntime.sleep(0.05)\nseen[-1]", `"term"`)
	s.equals("try:\n    signal.raise_signal(signal.SIGINT)\nexcept KeyboardInterrupt: r = 'interrupted'\n"+
		"r", `"interrupted"`)
	for _, number := range []string{"SIGCHLD", "SIGSEGV", "SIGUSR2", "SIGPIPE", "SIGURG", "SIGPROF", "SIGALRM", "SIGWINCH"} {
		code := "libc.signal.argtypes = [ctypes.c_int, ctypes.c_void_p]\n" +
			"libc.signal(signal." + number + ", harmless)\n" +
			"os.system('true')\n" +
			"for _ in range(20): os.kill(os.getpid(), signal." + number + ") if '" + number + "' != 'SIGSEGV' else None\n"
		s.cell(code + "time.sleep(0.02)")
		s.works("a C handler of " + number)
	}
	for range 50 {
		s.promptly("ping", nil)
	}
	s.works("C handlers")
}

// What a wheel needs of libpython is there: extension modules of the standard library import and work. Only Tk is not
// in the bundle.
func TestProcesses_ExtensionModules(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.equals(
		"import _ctypes, sqlite3, ssl, lzma, decimal, bz2, zlib, hashlib, uuid, readline, curses, _posixshmem, _multiprocessing, pyexpat, unicodedata\n"+
			"[sqlite3.connect(':memory:').execute('select 6 * 7').fetchone()[0], str(decimal.Decimal('0.1') * 3), "+
			"lzma.decompress(lzma.compress(b'x')).decode(), bool(ssl.create_default_context())]",
		`[42,"0.3","x",true]`,
	)
	s.equals(`import sys, importlib, warnings
warnings.simplefilter('ignore')
failed = []
for name in sorted(sys.stdlib_module_names - {'antigravity', 'this', '_ios_support'}):
    if importlib.util.find_spec(name) is None: continue
    try: importlib.import_module(name)
    except ImportError as e: failed.append(f'{name}: {e}')
[f for f in failed if 'libtcl' not in f]`, "[]")
}
