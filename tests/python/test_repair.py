from __future__ import annotations

import time

import pytest

from conversation import Conversation, Settings


@pytest.mark.parametrize(
    "breaks",
    [
        "import sys; sys.stdout.close()",
        "import sys; sys.stdout = None",
        "import sys; sys.stdout = sys.stderr = open('/dev/null', 'w')",
        "import sys; sys.stdout.detach()",
        "import sys; sys.stdout.buffer.close()",
        "import sys; sys.__stdout__.close(); sys.stderr.close(); sys.stdin.close()",
        "import sys; sys.stdout.reconfigure(encoding='ascii')",
        "import sys; del sys.stdout, sys.stderr, sys.displayhook",
        "import sys; sys.displayhook = 5",
        "import sys; sys.displayhook = lambda value: print('hooked')",
        "import sys; sys.modules['__main__'] = sys; del sys",
        "import sys; del sys.modules['__main__']",
        "import builtins; del builtins.len, builtins.print, builtins.__build_class__",
        "import builtins; builtins.len = 5; builtins.str = 'x'; builtins.list = lambda *_: []; builtins.callable = 0",
        "import builtins; builtins.type = builtins.isinstance = builtins.BaseException = ()",
        "import asyncio, select, signal; asyncio.set_event_loop = select.poll = select.POLLIN = None",
        "import signal; signal.pthread_sigmask = None",
        "import builtins; builtins.len = builtins.isinstance = builtins.repr = builtins.print = None",
        "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])",
        "import os; os.getpid = lambda: 1",
        "get_ipython().run_cell = get_ipython().run_cell_async = get_ipython().run_code = None",
        "get_ipython().history_manager = None",
        "import socket; socket.socket.sendall = socket.socket.recv = socket.socket.fileno = None",
        "__builtins__ = {}",
        "del __builtins__",
        "import signal; signal.signal(signal.SIGINT, signal.SIG_DFL)",
        "get_ipython().user_ns['_oh'] = None",
        "import threading; threading.Thread(target=lambda: print('t')).start()",
        "import sys; sys.settrace(lambda *a: None)",
        "globals().clear()",
    ],
)
def test_the_next_cell_works_whatever_a_cell_broke(shared: Conversation, breaks: str) -> None:
    shared.execute(breaks)
    assert_usable(shared)


@pytest.mark.parametrize(
    "breaks",
    [
        "import os; os.chdir('/'); del os",
        "import sys; sys.path[:] = []; sys.argv = None",
        "import warnings; warnings.simplefilter('error')",
        "import sys; sys.setrecursionlimit(90)",
        "import gc; gc.disable(); gc.freeze()",
        "import sys; sys.set_int_max_str_digits(640)",
    ],
)
def test_what_is_the_users_to_change_does_not_end_the_server(fresh: Conversation, breaks: str) -> None:
    fresh.execute(breaks)
    assert_usable(fresh)


def assert_usable(talk: Conversation) -> None:
    before = talk.stdout()
    code = "print('✓', len('ab'))\nclass C: pass\nimport sys\nsys.modules['__main__'].__dict__ is globals()"
    answer = talk.execute(code)
    assert (answer["error"], answer["result"]) == (None, True)
    assert talk.stdout()[len(before) :].endswith("✓ 2\n")
    assert talk.execute("sys.stderr.write('e')\nsys.stdin.read()")["result"] == ""
    assert talk.stderr().endswith("e")


def test_a_closed_descriptor_is_no_end(fresh: Conversation) -> None:
    assert fresh.execute("import os, sys\nsaved = os.dup(1)\nos.close(1)")["ok"]
    assert fresh.failure("print('lost')")["error_type"] == "OSError"
    fresh.execute("os.dup2(saved, 1)")
    fresh.execute("print('back')")
    assert fresh.stdout() == "back\n"


@pytest.mark.parametrize("name", ["input", "getpass"])
def test_a_replacement_of_the_users_stays(fresh: Conversation, name: str) -> None:
    target = "builtins.input" if name == "input" else "getpass.getpass"
    fresh.execute(f"import builtins, getpass\n{target} = lambda *_: 'mine'")
    assert fresh.result(f"{target}('?')") == "mine"


def test_breakpoints_can_be_turned_off(fresh: Conversation) -> None:
    assert fresh.execute("import os\nos.environ['PYTHONBREAKPOINT'] = '0'\nbreakpoint()")["ok"]


def test_an_object_that_stays_in_the_way_of_flushing(fresh: Conversation) -> None:
    code = (
        "import sys\nclass Bad:\n    def flush(self): raise SystemExit\n"
        "    def write(self, text): return len(text)\nsys.stdout = Bad()"
    )
    assert fresh.execute(code)["ok"]
    assert fresh.result("1") == 1


@pytest.mark.parametrize("op", ["nonsense", "start"])
def test_an_operation_that_is_unknown_is_a_fault(fresh: Conversation, op: str) -> None:
    fresh.send(op)
    assert "fault" in fresh.reply()
    assert fresh.result("1") == 1


def test_a_frame_that_is_no_request_is_a_fault(fresh: Conversation) -> None:
    fresh.send_frame(b'{"id": 99, "op":')
    reply = fresh._receive()
    assert (reply["id"], set(reply["fault"])) == (99, {"type", "message"})
    assert fresh.result("1") == 1


def test_a_forked_child_that_comes_back_never_answers(fresh: Conversation) -> None:
    code = (
        "import os, sys\npid = os.fork()\nif pid == 0:\n    print('child', flush=False)\n"
        "    {end}\nos.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])"
    )
    for end, status in (("pass", 0), ("sys.exit(3)", 3), ("sys.exit()", 0), ("sys.exit('x')", 1), ("1/0", 1)):
        child = code.format(end=end)
        if end == "pass":
            child = (
                "import os\npid = os.fork()\n"
                "if pid: status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])\n"
                "pid and status"
            )
        assert fresh.result(child) == status
    assert fresh.stdout().count("child\n") == 4
    assert "ZeroDivisionError" in fresh.stderr()
    assert fresh.result("1") == 1


def test_a_child_of_a_background_task_leaves_the_loop(fresh: Conversation) -> None:
    fresh.execute(
        "import asyncio, os\npids = []\nasync def forking():\n    await asyncio.sleep(0)\n    pids.append(os.fork())\n"
        "task = asyncio.create_task(forking())"
    )
    deadline = time.monotonic() + 10
    while not fresh.result("pids"):
        assert time.monotonic() < deadline
    assert fresh.result("os.waitstatus_to_exitcode(os.waitpid(pids[0], 0)[1])") == 0
    assert fresh.result("1") == 1


def test_what_hooks_and_exceptions_do_is_their_own(fresh: Conversation) -> None:
    fresh.execute("get_ipython().events.register('pre_run_cell', lambda *a: 1/0)")
    answer = fresh.execute("1 + 1")
    assert (answer["ok"], answer["result"]) == (True, 2)
    answer = fresh.execute("class E(Exception):\n    def __getattribute__(self, name): raise SystemExit\nraise E")
    assert (answer["error"]["code"], answer["execution_count"]) == ("execution_error", 3)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("print((1, 2)", "'(' was never closed"),
        ("if True:\n        a = 1\n    b = 2", "unindent does not match any outer indentation level"),
    ],
)
def test_code_that_does_not_compile_says_why(shared: Conversation, code: str, message: str) -> None:
    error = shared.execute(code)["error"]
    assert (error["code"], error["message"]) == ("syntax_error", message)
    assert error["location"]["filename"].startswith("Cell [")
    assert "tokenize" not in error["traceback"]


def test_no_terminal_sequences_in_errors(shared: Conversation) -> None:
    error = shared.execute(
        "e = ValueError('\\x1b[31mred\\x1b[0m \\x1b]0;title\\x07')\ne.add_note('\\x1b[1mnote')\nraise e"
    )["error"]
    assert error["message"] == "red "
    assert error["traceback"].endswith("ValueError: red \nnote")


def test_a_child_has_pythons_own_signal_handlers(fresh: Conversation) -> None:
    code = (
        "import os, signal\nr, w = os.pipe()\nif os.fork() == 0:\n"
        "    ok = signal.getsignal(signal.SIGINT) is signal.default_int_handler\n"
        "    ok = ok and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL\n"
        "    os.write(w, str(ok).encode())\n    os._exit(0)\nos.wait()\nos.read(r, 9).decode()"
    )
    assert fresh.result(code) == "True"


def test_the_end_of_the_stream_runs_atexit_handlers(fresh: Conversation) -> None:
    fresh.execute("import atexit\nkept = 5\natexit.register(lambda: print('kept', kept))")
    assert fresh.end_stream() == 0
    assert (fresh.stdout(), fresh.stderr()) == ("kept 5\n", "")


def test_a_native_crash_leaves_a_python_traceback() -> None:
    with Conversation(Settings()) as talk:
        talk.start()
        talk.send("execute", code="import ctypes\nctypes.string_at(0)")
        talk.process.wait(timeout=20)
        assert "Segmentation fault" in talk.stderr()
        assert 'File "Cell [1]", line 2' in talk.stderr()
