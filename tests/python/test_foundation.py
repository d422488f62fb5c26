"""What user code breaks of Python, of IPython and of this package is put back where the server needs it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conversation import Conversation

BAD = "def bad(*a, **k): raise RuntimeError('bad')\n"
FUNCTIONS = (
    BAD + "import {0}\nfor n, v in list(vars({0}).items()):\n"
    "    if callable(v) and not isinstance(v, type): setattr({0}, n, bad)"
)

# Each is followed by cells that need what it broke, in a server of its own.
BREAKS = {
    "no modules": "import sys\nsys.modules.clear()",
    "modules that are None": "import sys\nfor n in list(sys.modules): sys.modules[n] = None",
    "modules that are others": "import sys, types\nfor n in list(sys.modules): sys.modules[n] = types.ModuleType(n)",
    "modules that raise": "import sys, types\n"
    "class E(types.ModuleType):\n    def __getattribute__(s, n): raise SystemExit\n"
    "for n in list(sys.modules):\n    if n not in ('sys', 'builtins', '__main__'): sys.modules[n] = E(n)",
    "some modules": "import sys\nfor n in list(sys.modules):\n    if n not in ('sys', 'builtins'): del sys.modules[n]",
    "no builtins": "import builtins\nvars(builtins).clear()",
    "builtins.len": "import builtins\nbuiltins.len = lambda *a: 1/0",
    "builtins.len that lies": "import builtins\nbuiltins.len = lambda *a: 0",
    "builtins.isinstance": "import builtins\nbuiltins.isinstance = builtins.issubclass = lambda *a: 1/0",
    "builtins.isinstance that lies": "import builtins\nbuiltins.isinstance = lambda *a: True",
    "builtins.__import__": "import builtins\nbuiltins.__import__ = lambda *a: 1/0",
    "functions of builtins": FUNCTIONS.format("builtins").replace("type)", "type) and n != 'print'"),
    "classes of builtins": "import builtins\nclass Bad:\n    def __new__(c, *a, **k): raise RuntimeError\n"
    "for n in ('str', 'int', 'list', 'dict', 'tuple', 'set', 'type', 'bool', 'bytes', 'object', 'map', 'super'):\n"
    "    setattr(builtins, n, Bad)",
    "functions of json": FUNCTIONS.format("json"),
    "functions of os": FUNCTIONS.format("os"),
    "functions of os.path": FUNCTIONS.format("os.path"),
    "functions of re": FUNCTIONS.format("re"),
    "functions of time": FUNCTIONS.format("time"),
    "functions of ast": FUNCTIONS.format("ast"),
    "functions of traceback": FUNCTIONS.format("traceback"),
    "functions of linecache": FUNCTIONS.format("linecache"),
    "functions of inspect": FUNCTIONS.format("inspect"),
    "functions of typing": FUNCTIONS.format("typing"),
    "functions of warnings": FUNCTIONS.format("warnings"),
    "functions of contextlib": FUNCTIONS.format("contextlib"),
    "functions of selectors": FUNCTIONS.format("selectors"),
    "functions of signal": FUNCTIONS.format("signal"),
    "functions of sys": FUNCTIONS.format("sys"),
    "names of sys": "import sys\nfor n in list(vars(sys)):\n    if not n.startswith('__'): delattr(sys, n)",
    "functions of IPython": BAD + "import sys, types\nfor name, m in list(sys.modules.items()):\n"
    "    if name.startswith(('IPython', 'traitlets')):\n        for n, v in list(vars(m).items()):\n"
    "            if isinstance(v, types.FunctionType): setattr(m, n, bad)",
    "asyncio's loop": BAD + "import asyncio.base_events as b\n"
    "b.BaseEventLoop.run_forever = b.BaseEventLoop.run_until_complete = b.BaseEventLoop._run_once = bad",
    "threads": BAD + "import threading\nthreading.Thread.start = bad",
    "methods of the shell": BAD
    + "for n in dir(get_ipython()):\n    if not n.startswith('__') and callable(getattr(get_ipython(), n, None)):\n"
    "        try: setattr(get_ipython(), n, bad)\n        except Exception: pass",
    "methods of the shell's class": BAD + "t = type(get_ipython())\nfor n in dir(t):\n"
    "    if not n.startswith('__') and callable(getattr(t, n, None)): setattr(t, n, bad)",
    "the shell's base class": "from IPython.core.interactiveshell import InteractiveShell as S\n"
    "S.run_cell = S._run_cell = S.run_ast_nodes = None",
    "special methods of the shell's class": "t = type(get_ipython())\n"
    "t.__getattr__ = t.__bool__ = t.__eq__ = t.__getattribute__ = lambda *a: 1/0",
    "the shell's attributes": "s = get_ipython()\ns.event_loop = s.plain_cells = s.lifetimes = s.foundation = None\n"
    "s.builtin_trap = s.display_trap = s.compile = s.displayhook = s.display_pub = s.own_history = None",
    "the shell's instance": "get_ipython().clear_instance()",
    "the shell's module": "get_ipython().user_ns = {}\nget_ipython().user_module = None",
    "a namespace that raises": "class D(dict):\n    def __getitem__(s, k): raise RuntimeError\n"
    "    __setitem__ = __getitem__\nget_ipython().user_ns = D()",
    "input transformers": BAD
    + "get_ipython().input_transformers_cleanup.append(bad); get_ipython().input_transformers_post.append(bad)",
    "AST transformers": BAD + "class T: visit = bad\nget_ipython().ast_transformers.append(T())",
    "events": "def bad(*a): raise SystemExit\n"
    "for e in ('pre_execute', 'pre_run_cell', 'post_run_cell', 'post_execute'): get_ipython().events.register(e, bad)",
    "a finder that raises": "import sys\nclass F:\n    def find_spec(self, *a): raise RuntimeError\n"
    "sys.meta_path.insert(0, F())",
    "an audit hook": BAD + "import sys\nsys.addaudithook(bad)",
    "audit hooks that forbid to run code": "import sys\ndef hook(event, a):\n"
    "    if event in ('compile', 'exec', 'import', 'open'): raise RuntimeError\n"
    "sys.addaudithook(hook)",
    "a low recursion limit": "import sys\nsys.setrecursionlimit(60)",
    "tracing": "import sys, threading\ndef spy(*a): 1/0\nsys.settrace(spy); sys.setprofile(spy)",
    "garbage collection": "import gc\ndef spy(*a): 1/0\ngc.callbacks.append(spy); gc.set_threshold(1)",
    "switching": "import sys\nsys.setswitchinterval(1e-9); sys.set_int_max_str_digits(640)",
    "a thread that keeps the GIL": "import sys, threading\nsys.setswitchinterval(1e9)\n"
    "threading.Thread(target=lambda: exec('while not done: pass', {'done': []}), daemon=True).start()",
    "the loop's selector": "import asyncio\nasyncio.get_event_loop()._selector.close()",
    "the loop's callbacks": "import asyncio\nasyncio.get_event_loop()._ready = None",
    "the stream's methods": "import sys\nsys.stdout.write = sys.stderr.flush = lambda *a: 1/0",
    "magics": "get_ipython().magics_manager.magics.clear()",
    "the locale": "import locale\nlocale.setlocale(locale.LC_ALL, 'C')",
    "the environment": "import os\nos.environ.clear()",
    "warnings": "import warnings\nwarnings.simplefilter('error')",
    "streams": "import sys\nclass W:\n    def __getattr__(self, n): raise RuntimeError\n"
    "    write = flush = __getattr__\n"
    "sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = W()",
    "contexts": "import contextlib as c\n"
    "c.suppress.__exit__ = c.nullcontext.__enter__ = c._GeneratorContextManager.__enter__ = lambda *a: 1/0",
    "what puts things back": "from ipymcp.foundation import Foundation as F\n"
    "F.mend = F.steady = F.attempt = F.hint = None",
    "this package": BAD
    + "import sys, types\nfor name, m in list(sys.modules.items()):\n    if name.startswith('ipymcp'):\n"
    "        for n, v in list(vars(m).items()):\n            if isinstance(v, types.FunctionType): setattr(m, n, bad)",
    "this package's modules": "import sys\nfor name, m in list(sys.modules.items()):\n"
    "    if name.startswith('ipymcp'): vars(m).clear()",
}


@pytest.mark.parametrize("code", BREAKS.values(), ids=BREAKS)
def test_the_next_cell_works(fresh: Conversation, code: str) -> None:
    fresh.execute("def f(x: int = 1): return x")
    fresh.send("execute", code=code)
    fresh.reply()
    assert fresh.result("print('alive')\n1 + 1") == 2
    assert fresh.execute("1/0")["error"]["error_type"] == "ZeroDivisionError"
    assert fresh.ask("describe", symbol="f")["error"] is None
    assert fresh.ask("call_function", name="f", arguments={"x": 3})["result"] == 3
    for op, args in (("list", {}), ("search", {"query": "f"}), ("inspect", {"name": "f"}), ("reset", {})):
        assert fresh.ask(op, **args)["error"] is None, op
    # The magics are imported when the first is used.
    assert fresh.execute("%time 1 + 1")["ok"]
    assert fresh.result("import asyncio\nawait asyncio.sleep(0.001, 'slept')") == "slept"


def test_what_was_put_back_is_said_in_one_line(fresh: Conversation) -> None:
    fresh.execute("import inspect\ninspect.signature = lambda *a, **k: 1/0\nget_ipython().run_cell_async = 5")
    fresh.execute("import IPython.core.interactiveshell as i\ni.ExecutionResult = 5")
    assert fresh.result("1 + 1") == 2
    said = [line for line in fresh.stderr().splitlines() if line.startswith("put back")]
    assert len(said) == 1
    assert "IPython.core.interactiveshell.ExecutionResult" in said[0]
    assert "inspect.signature" in said[0]


def test_what_harms_nobody_stays(fresh: Conversation) -> None:
    fresh.execute(
        "import builtins, json\nbuiltins.twice = lambda x: 2 * x\njson.dumps = lambda *a: 'mine'\n"
        "builtins.hex = lambda x: 7"
    )
    fresh.execute("1/0")
    fresh.ask("list")
    assert fresh.result("[twice(2), json.dumps(1), hex(1)]") == [4, "mine", 7]
    fresh.ask("reset")
    assert fresh.result("import json\n[json.dumps(1), hex(1)]") == ["1", "0x1"]


def test_a_reset_leaves_alone_what_a_library_has_replaced(fresh: Conversation, tmp_path: Path) -> None:
    (tmp_path / "patching.py").write_text(
        "import builtins, json, sys\ndef dumps(value): return 'patched'\njson.dumps = builtins.ascii = dumps\n"
        "sys.modules['json.tool'] = sys.modules[__name__]"
    )
    fresh.execute(
        f"import sys\nsys.path.append({str(tmp_path)!r})\nimport patching\nimport json\njson.loads = lambda text: 7"
    )
    fresh.ask("reset")
    answer = fresh.result(
        "import json, sys\n[json.dumps(1), ascii(1), json.loads('1'), sys.modules['json.tool'].__name__]"
    )
    assert answer == ["patched", "patched", 1, "patching"]


def test_nothing_ordinary_counts_as_broken(fresh: Conversation) -> None:
    for code in (
        "import asyncio, logging, multiprocessing, sys, threading, warnings\nfrom unittest import mock",
        "asyncio.run(asyncio.sleep(0))\nawait asyncio.to_thread(print, 1)\nasyncio.set_event_loop_policy(None)",
        "with multiprocessing.get_context('fork').Pool(1) as pool: pool.map(abs, [1])",
        "with warnings.catch_warnings(record=True), mock.patch('json.dumps'): warnings.warn('x')",
        "logging.basicConfig(force=True)\nthreading.Thread(target=print).start()\nsys.settrace(lambda *a: None)",
        "sys.path = ['/x', *sys.path, '/y']\nsys.argv = ['a']\nsys.ps1 = '> '\nsys.setrecursionlimit(5000)",
        "import xml.dom.minidom, urllib.request, unittest, doctest, sqlite3, email, concurrent.futures",
        "import importlib, json, colorsys\nimportlib.reload(json)\nimportlib.reload(json.encoder)",
        "class F:\n    def find_spec(self, *a): return None\nsys.meta_path.append(F())",
        "%load_ext autoreload\n%autoreload 2\n%precision 3\n%xmode Plain\n%alias ll ls\n%who\n!true",
        "get_ipython().events.register('pre_run_cell', lambda *a: None)\nget_ipython().run_cell('1')",
        "[_, __, In, Out]\n1/0",
        "def f(:",
        "raise SystemExit",
    ):
        fresh.execute(code)
    fresh.ask("reload", modules=["json", "calendar"], refresh=False)
    fresh.ask("reset")
    assert "put back" not in fresh.stderr()


def test_an_error_that_comes_of_it_says_the_way_out(fresh: Conversation) -> None:
    fresh.execute("import sys\nsys.meta_path.clear()")
    error: dict[str, Any] = fresh.execute("import colorsys")["error"]
    assert error["traceback"].endswith("code of this session has replaced or removed sys.meta_path; reset puts it back")
    fresh.execute("import builtins\nbuiltins.print = lambda *a: 1/0")
    assert "builtins.print" in fresh.execute("print(1)")["error"]["traceback"]
    fresh.ask("reset")
    assert fresh.execute("import colorsys\nprint(1)")["ok"]


def test_nothing_runs_twice(fresh: Conversation) -> None:
    fresh.execute(
        "runs = []\ndef f(): runs.append(1); g()\ndef g():\n    import ipymcp.calling as c; c.translate = None"
    )
    fresh.execute("class R:\n    def __repr__(self): return 'R'")
    fresh.ask("call_function", name="f", arguments={})
    fresh.send("execute", code="f()\nget_ipython().display_pub.end = None\nR()")
    fresh.reply()
    assert fresh.result("runs") == [1, 1]


def test_a_hook_forbids_things_to_user_code(fresh: Conversation) -> None:
    fresh.execute(
        "import sys\ndef hook(event, a):\n    if event == 'os.putenv': raise PermissionError('no')\n"
        "sys.addaudithook(hook)"
    )
    assert fresh.execute("import os\nos.putenv('A', 'b')")["error"]["error_type"] == "PermissionError"


def test_a_monitoring_callback_raises_in_user_code_and_then_no_more(fresh: Conversation) -> None:
    if fresh.result("import sys\nsys.version_info < (3, 12)"):
        pytest.skip("sys.monitoring is new in 3.12")
    watch = "m = sys.monitoring\ndef spy(*a): 1/0\nm.use_tool_id(3, 'spy')\n"
    watch += "for e in (m.events.PY_START, m.events.CALL, m.events.LINE): m.register_callback(3, e, spy)\n"
    answer = fresh.execute(watch + "m.set_events(3, m.events.PY_START | m.events.CALL | m.events.LINE)\nx = 1")
    assert answer["error"]["error_type"] == "ZeroDivisionError"
    assert fresh.result("print('alive')\n1 + 1") == 2
