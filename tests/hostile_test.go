package tests

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// hostileCells do what breaks a namespace. After each one the next cell works, and what the protocol sees stays whole.
var hostileCells = map[string][]string{"ends": {
	"import sys\nsys.exit(3)",
	"exit()",
	"quit()",
	"raise SystemExit",
	"raise KeyboardInterrupt",
	"raise GeneratorExit",
	"import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nimport time; time.sleep(1)",
	"import _thread, time\n_thread.interrupt_main()\ntime.sleep(1)",
	"import atexit, os\natexit.register(print, 'bye')\natexit._run_exitfuncs()",
	"get_ipython().ask_exit()",
	"get_ipython().run_cell('1/0')",
	"get_ipython().run_cell('exit()')",
	"get_ipython().ex('import sys; sys.exit()')",
	"get_ipython().system('exit 3')",
}, "descriptors and streams": {
	"import os\nfor fd in range(3): os.close(fd)",
	"import os\nfd = os.open(os.devnull, os.O_RDWR)\nfor n in range(3): os.dup2(fd, n)",
	"import os\nr, w = os.pipe()\nos.dup2(w, 1); os.dup2(w, 2); os.dup2(r, 0)",
	"import os\nos.closerange(0, 3)",
	"import os, fcntl\nfor fd in range(3): fcntl.fcntl(fd, fcntl.F_SETFL, os.O_NONBLOCK)",
	"import sys\nsys.stdout = None\nsys.stderr = None",
	"import sys\ndel sys.stdout, sys.stderr, sys.stdin",
	"import sys\nsys.stdout.close()",
	"import sys\nsys.stdout.buffer.close()",
	"import sys\nsys.stdout.detach()",
	"import sys, io\nsys.stdout = sys.__stdout__ = io.StringIO()",
	"import sys\nsys.stdout = open('/dev/full', 'w')\nprint('x' * 100_000)",
	"import sys\nsys.stdout.reconfigure(encoding='ascii', errors='strict')\nprint('é')",
	"import sys\nsys.stdin = sys.displayhook = sys.excepthook = sys.unraisablehook = None",
	"import contextlib, io\ncontextlib.redirect_stdout(io.StringIO()).__enter__()",
}, "directories and signals": {
	"import os\nd = os.path.join(os.environ['TMPDIR'], 'gone')\nos.mkdir(d); os.chdir(d); os.rmdir(d)",
	"import os\nos.environ.clear()",
	"import os\nos.umask(0o777)",
	"import signal\nfor n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP): signal.signal(n, signal.SIG_IGN)",
	"import signal\n" +
		"for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD): signal.signal(n, signal.SIG_DFL)",
	"import signal\nsignal.signal(signal.SIGINT, lambda *a: 1/0)",
	"import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())",
	"import signal\nsignal.set_wakeup_fd(-1); signal.setitimer(signal.ITIMER_REAL, 0.01)\n" +
		"signal.signal(signal.SIGALRM, lambda *a: None)",
	"import signal\nsignal.signal(signal.SIGALRM, lambda *a: 1/0); signal.setitimer(signal.ITIMER_REAL, 0.0001)",
	"import sys\ndef spy(frame, event, arg):\n    if 'Cell' not in frame.f_code.co_filename: 1/0\nsys.settrace(spy)",
}, "builtins, names, modules": {
	"import builtins\nfor name in list(vars(builtins)):\n" +
		"    if name not in ('list', 'vars'): delattr(builtins, name)",
	"del __builtins__",
	"__builtins__ = {}",
	"import builtins\nbuiltins.len = builtins.isinstance = builtins.repr = None",
	"get_ipython = exit = quit = open = In = Out = _ = __ = None",
	"del In, Out, get_ipython",
	"__name__ = 5",
	"%reset -f",
	"globals().clear()",
	"globals()[5] = 'no string'\nglobals()[None] = 1",
	"import sys\nsys.modules.pop('__main__')",
	"import sys\nsys.modules['json'] = sys.modules['re'] = None",
	"import sys\n" +
		"for name in [n for n in sys.modules if n.startswith(('IPython', 'traitlets', 'asyncio'))]: del sys.modules[name]",
	"import sys\nsys.path.clear(); sys.meta_path.clear()",
	"import sys\nsys.modules.clear()",
	"import builtins\nbuiltins.len = builtins.isinstance = builtins.__import__ = lambda *a, **k: 1/0",
	"import builtins\nvars(builtins).clear()",
	"import os, re\nfor m in (os, re):\n    for n, v in list(vars(m).items()):\n        if callable(v): setattr(m, n, lambda *a: 1/0)",
	"t = type(get_ipython())\nt.begin = t.run_cell = t.run_code = None",
	"get_ipython().input_transformers_cleanup.append(lambda *a: 1/0)",
	"import sys\nsys.addaudithook(lambda *a: 1/0)",
	"import sys\nsys.setrecursionlimit(60)",
	"import json\njson.dumps = json.loads = json.JSONEncoder = json.JSONDecoder = None",
	"import traceback, linecache\nlinecache.getline = traceback.format_exception = None\n1/0",
	"import os, io, socket, struct, time\n" +
		"os.write = os.read = io.open = socket.socket = struct.pack = time.sleep = None",
	"get_ipython().run_cell = get_ipython().run_cell_async = None",
	"get_ipython().user_ns = {}",
	"get_ipython().display_formatter = None",
	"get_ipython().ast_transformers.append(5)",
	"get_ipython().events.register('pre_run_cell', lambda *a: 1/0)",
	"get_ipython().history_manager = None",
	"get_ipython().set_custom_exc((Exception,), lambda *a: 1/0)\n1/0",
	"%autocall 2",
	"%xmode Minimal",
	"%colors Linux",
	"%logstart log.txt",
}, "the event loop": {
	"import asyncio\nasyncio.set_event_loop(None)",
	"import asyncio\nasyncio.get_event_loop().close()",
	"import asyncio\nasyncio.get_event_loop().stop()",
	"import asyncio\nloop = asyncio.get_running_loop()\nloop.stop()\nawait asyncio.sleep(0)",
	"import asyncio\nfor task in asyncio.all_tasks(): task.cancel()\nawait asyncio.sleep(0)",
	"import asyncio\nasyncio.get_event_loop().call_soon(lambda: 1/0)\nawait asyncio.sleep(0)",
	"import asyncio\nasyncio.set_event_loop_policy(None)",
}, "processes and threads": {
	"import os\nif os.fork() == 0: print('child')",
	"import os\nif os.fork() == 0: raise ValueError('child')",
	"import os\nif os.fork() == 0: import sys; sys.exit()",
	"import threading\nthreading.Thread(target=lambda: exec('while True: pass'), daemon=True).start()",
	"import threading\nthreading.excepthook = None\nthreading.Thread(target=lambda: 1/0).start()",
	"import sys\nsys.settrace(lambda *a: None); sys.setprofile(lambda *a: None); sys.setswitchinterval(1e-5)",
	"import sys\nsys.settrace(lambda *a: 1/0)",
	"import gc, decimal\ngc.disable(); decimal.getcontext().prec = 5",
	"import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))",
}, "values and exceptions": {
	"raise type('Strange', (BaseException,), {'__str__': lambda self: 1/0})()",
	"raise type('Strange', (Exception,), {'__str__': lambda self: 5})()",
	"class E(Exception):\n    def __getattribute__(self, name): raise SystemExit\nraise E",
	"class M(type):\n    def __instancecheck__(c, i): 1/0\n    def __repr__(c): 1/0\nclass H(metaclass=M):\n" +
		"    def __repr__(self): raise SystemExit\nH()",
	"class D:\n    def _repr_mimebundle_(self, **k): raise KeyboardInterrupt\nD()",
	"class B:\n    @property\n    def __class__(self): 1/0\n    @property\n    def __dict__(self): 1/0\nB()",
	"a = []\na.append(a)\na",
	"e = ValueError()\ne.__cause__ = e.__context__ = e\nraise e",
	"raise ExceptionGroup('g', [ValueError(1), ExceptionGroup('h', [KeyError(2)])])",
	"class F:\n    def __del__(self): 1/0\nf = F(); del f",
	"x = 1\n" + "x += 1\n" + strings.Repeat("x = (x)\n", 1000),
	strings.Repeat("(", 300) + strings.Repeat(")", 300),
	strings.Repeat("-", 100_000) + "1",
	"'\\N{NULL}' * 3",
	"x = '\x00'",
	"\ufeff1",
	"é = 1; ﬁ = 2; fi",
	"# nothing but a comment",
	"pass",
	"%%nosuchmagic\nx",
	"%nosuchmagic",
	"?",
	"print?",
	"!exit 5",
	"%run nothing.py",
	"%%writefile /nowhere/x\ntext",
	"import pdb; pdb.post_mortem()",
	"help()",
	"license()",
}}

func TestHostileCells(t *testing.T) {
	for group, cells := range hostileCells {
		t.Run(group, func(t *testing.T) {
			t.Parallel()
			s := connect(t, options{untidy: true})
			count := 0
			for _, code := range cells {
				if s.survives(code, count) {
					count += 2
					continue
				}
				s, count = connect(t, options{untidy: true}), 0
			}
			if a := s.call("reset", map[string]any{}); !strings.Contains(string(a.Structured), `"ok":true`) {
				t.Errorf("reset says %s", a.Structured)
			}
			s.works("reset")
		})
	}
}

// survives runs a hostile cell, then every other tool and an ordinary cell. count is how many cells ran before.
func (s *server) survives(code string, count int) bool {
	s.t.Helper()
	r, arrived := s.answerWithin(s.sendCell(code), endPatience)
	if !arrived || r.Error != nil {
		s.t.Errorf("%.300s is not answered, or refused: %+v", code, r.Error)
		return false
	}
	e := decodeInto[execution](s.t, decodeInto[answer](s.t, r.Result).Structured)
	if blank := e.Error != nil &&
		e.Error.Code == "invalid_code"; !blank &&
		(e.ExecutionCount == nil || *e.ExecutionCount != count+1) {
		s.t.Errorf("%.300s: the count is not %d: %s", code, count+1, r.Result)
		return false
	}
	for tool, arguments := range map[string]map[string]any{
		"list": {}, "search": {"query": "alive"}, "inspect": {"name": "get_ipython"}, "remove": {"names": []string{"nothing"}},
	} {
		r, arrived := s.answerWithin(s.sendCall(tool, arguments), endPatience)
		if !arrived || r.Error != nil || decodeInto[answer](s.t, r.Result).IsError {
			s.t.Errorf("after %.300s: %s gives %s", code, tool, r.Result)
			return false
		}
	}
	if trouble := s.trouble(); trouble != "" {
		s.t.Errorf("after %.300s the next cell gives %s", code, trouble)
		return false
	}
	return true
}

// Recursion is a RecursionError, promptly, whatever its limit; and a traceback of a million frames is, too.
func TestHostile_Recursion(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.succeed("import sys\ndef down(n):\n    return 1/0 if n == 0 else down(n - 1)\ndef deep(n): return deep(n + 1)")
	for _, test := range []struct{ code, errorType string }{
		{"deep(0)", "RecursionError"},
		{"sys.setrecursionlimit(10**6)\ndeep(0)", "RecursionError"},
		{"down(900_000)", "ZeroDivisionError"},
		{"class R:\n    def __repr__(self): return repr(self)\nR()", ""},
		{"class A:\n    def __getattr__(self, name): return getattr(self, name + 'x')\nA().y", "RecursionError"},
		{"f = lambda: f()\nlist(map(lambda x: f(), [1]))", "RecursionError"},
		{"x, y = [], []\nfor _ in range(10**5): x, y = [x], [y]\nx == y", "RecursionError"},
		{"x = []\nfor _ in range(10**5): x = [x]\nx", ""},
		{"async def a(): await a()\nawait a()", "RecursionError"},
	} {
		started := time.Now()
		e := s.cell(test.code)
		if took := time.Since(started); took > 20*time.Second {
			t.Errorf("%s took %v", test.code, took)
		}
		if test.errorType != "" && (e.Error == nil || e.Error.ErrorType != test.errorType) {
			t.Errorf("%s gives %+v, error %v", test.code, e, e.Error)
		}
		if e.Error != nil && len([]rune(e.Error.Traceback)) > 4096+200 {
			t.Errorf("%s: the traceback has %d characters", test.code, len([]rune(e.Error.Traceback)))
		}
		s.works(test.code)
	}
}

// Background threads that print for ever disturb nothing and cost no memory.
func TestHostile_ThreadsThatPrintForEver(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.succeed("import threading\ndef flood():\n    while True: print('background ' * 10)\n" +
		"for _ in range(3): threading.Thread(target=flood, daemon=True).start()")
	before := 0
	for i := range 30 {
		if e := s.cell("6 * 7"); string(e.Result) != "42" || len([]rune(e.Stdout)) > 8192+300 {
			t.Fatalf("the cell gives %s with %d bytes of output", e.Result, len(e.Stdout))
		}
		if i == 10 {
			before = resident(t, s.command.Process.Pid)
		}
	}
	if grown := resident(t, s.command.Process.Pid) - before; grown > 32<<20 {
		t.Errorf("memory grew by %d bytes", grown)
	}
}

// What limits the time of code throws an exception at its thread, which may come too late, when nothing runs.
func TestHostile_ExceptionFromAnotherThread(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.succeed("import ctypes, os, threading\nmain = threading.main_thread().ident\nflag = os.path.join(os.environ['TMPDIR'], 'thrown')\n" +
		"def throw():\n    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(main), ctypes.py_object(TimeoutError)); open(flag, 'w').close()")
	for range 20 {
		s.succeed("threading.Timer(0.02, throw).start()")
		eventually(t, "the exception", func() bool { return os.Remove(filepath.Join(s.tmp, "thrown")) == nil })
		s.works("the exception")
	}
}

// The builtin module that the server's own code uses does nothing for anybody else.
func TestHostile_BuiltinModule(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]string{
		"lend without arguments": "_ipymcp.lend()",
		"lend within a call":     "_ipymcp.lend(print, print, -1)",
		"lend on a thread":       "import threading\nt = threading.Thread(target=_ipymcp.lend, args=(print, print, -1)); t.start(); t.join()",
		"emit on a thread":       "import threading\nt = threading.Thread(target=_ipymcp.emit, args=(b'{}',)); t.start(); t.join()",
		"emit in a task":         "import asyncio\nasync def emits(): _ipymcp.emit(b'{}')\ntask = asyncio.ensure_future(emits())",
		"collect":                "_ipymcp.collect()",
		"are_unchanged":          "_ipymcp.are_unchanged()",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := connect(t, options{})
			s.works("the beginning")
			s.succeed("import _ipymcp\n" + code)
			s.works(name)
			s.works(name)
		})
	}
}
