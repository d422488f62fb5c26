from __future__ import annotations

import sys
import time
from typing import Any

import pytest

from conversation import Conversation, Settings

_FLAGS = {"result", "display_data", "traceback", "items"}


def test_all_fields_are_always_there(shared: Conversation) -> None:
    for code in ("1", "1/0", "x =", " \n", "pass"):
        answer = shared.execute(code)
        fields = {"ok", "execution_count", "result", "display_data", "error", "truncated"}
        assert set(answer) == fields
        assert set(answer["truncated"]) == _FLAGS


@pytest.mark.parametrize(
    ("code", "result"),
    [
        ("1 + 1", 2),
        ("'✓ 日本語'", "✓ 日本語"),
        ("a = 5", None),
        ("a = 5; a", 5),
        ("a;", None),
        ("a; # why", None),
        ("a # ; why", 5),
        ("None", None),
        ("def f(x):\n    return x\n\nf(3)", 3),
        ("for i in range(3):\n    i", None),
        ("%time 1 + 2", 3),
        ("\n\n%%time\n1 + 2", 3),
        ("x = !echo hi\nlist(x)", ["hi"]),
        ("'\\ud83d'", "\\ud83d"),
        ("'\\ud83d'\n'\\ud83d'\n5", 5),
        ("x = 5\n'\\ud83d'", "\\ud83d"),
        ("2**80", 2**80),
        ("-(10**4000)", -(10**4000)),
        ("# only a comment", None),
        ("import asyncio\nawait asyncio.sleep(0, 7)", 7),
        ("float('nan')", {"json_compatible": False, "type": "builtins.float", "representation": "nan"}),
    ],
)
def test_the_value_of_the_last_expression(shared: Conversation, code: str, result: Any) -> None:
    before = shared.stdout()
    answer = shared.execute(code)
    assert (answer["ok"], answer["error"], answer["result"]) == (True, None, result)
    assert answer["truncated"]["result"] is isinstance(result, dict)
    printed = shared.stdout()[len(before) :]
    assert printed == "" or "%time" in code


@pytest.mark.parametrize(
    ("code", "kind", "said", "where"),
    [
        ("1/0", "ZeroDivisionError", "division by zero", (1, 1)),
        ("\n\nx = undefined_name", "NameError", "undefined_name", (3, 5)),
        ("import sys; sys.exit('bye')", "SystemExit", "exit with bye", (1, 13)),
        ("raise SystemExit(3)", "SystemExit", "exit with 3", (1, 1)),
        ("exit", "SystemExit", "asked to exit", None),
        ("quit()", "SystemExit", "asked to exit", (1, 1)),
        ("raise KeyboardInterrupt", "KeyboardInterrupt", "interrupted", (1, 1)),
        ("raise GeneratorExit", "GeneratorExit", "GeneratorExit", (1, 1)),
        ("input('? ')", "EOFError", "input() cannot ask: the client", (1, 1)),
        ("import getpass; getpass.getpass()", "EOFError", "getpass() cannot ask: the client", (1, 17)),
        ("breakpoint()", "EOFError", "no terminal", (1, 1)),
        ("%debug", "EOFError", "no terminal", None),
        ("import pdb; pdb.set_trace()\nx = 1", "RuntimeError", "no terminal", (1, 13)),
        ("%nosuchmagic", "UsageError", "nosuchmagic", None),
        ("def f(): return f()\nf()", "RecursionError", "recursion", (1, 17)),
        ("int('\udcaf')".encode("unicode_escape").decode(), "ValueError", "\\udcaf", (1, 1)),
        ("raise type('Own', (Exception,), {})", "Own", "Own", (1, 1)),
    ],
)
def test_what_raises_is_an_execution_error(
    shared: Conversation, code: str, kind: str, said: str, where: tuple[int, int] | None
) -> None:
    answer = shared.execute(code)
    error = answer["error"]
    assert (answer["ok"], error["code"], error["error_type"]) == (False, "execution_error", kind)
    assert said in error["message"]
    assert "\x1b" not in error["traceback"]
    assert "ipymcp" not in error["traceback"]
    assert "site-packages/IPython" not in error["traceback"]
    if where is not None:
        name = f"Cell [{answer['execution_count']}]"
        assert error["location"] == {"line": where[0], "column": where[1], "filename": name}


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("x = (", 1),
        ("early = 1\nreturn early", 2),
        ("early = 1\nif early:\n    break", 3),
        ("early = 1\n  indented = 2", 2),
        ("early = '\0'", None),
        ("early = '\ud83d'; '\ud83d", None),
        ("early = 1\n" + "(" * 1000, None),
    ],
)
def test_what_does_not_compile_is_a_syntax_error_and_runs_nothing(
    shared: Conversation, code: str, line: int | None
) -> None:
    answer = shared.execute(code)
    assert (answer["ok"], answer["error"]["code"]) == (False, "syntax_error")
    if line is not None:
        assert answer["error"]["location"]["line"] == line
        assert answer["error"]["location"]["filename"] == f"Cell [{answer['execution_count']}]"
    assert shared.result("'early' in globals()") is False


def test_an_integer_beyond_the_conversion_limit_is_a_result(shared: Conversation) -> None:
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        assert shared.result("10**8000") == 10**8000
    finally:
        sys.set_int_max_str_digits(before)


def test_counting(fresh: Conversation) -> None:
    assert [fresh.execute("1")["execution_count"] for _ in range(2)] == [1, 2]
    blank = fresh.execute(" \n\t")
    assert (blank["ok"], blank["error"]["code"], blank["execution_count"]) == (False, "invalid_code", None)
    assert fresh.execute("x =")["execution_count"] == 3
    assert fresh.execute("%reset -f")["execution_count"] == 4
    assert fresh.ask("reset")["execution_count"] == 4
    assert fresh.execute("get_ipython().execution_count = 1")["execution_count"] == 5
    assert fresh.execute("exit")["execution_count"] == 6
    assert fresh.execute("'seven'")["execution_count"] == 7
    assert fresh.result("[_, In[7], Out[7], In[3]]") == ["seven", "'seven'", "seven", "x ="]
    assert fresh.result("__") == "seven"


def test_inputs_and_outputs_of_the_last_hundred_stay(fresh: Conversation) -> None:
    for number in range(1, 131):
        fresh.execute(f"{number}")
    assert fresh.result("[Out[n] == n and In[n] == str(n) for n in range(32, 131)].count(True)") == 99
    assert fresh.result("2 in Out or In[2]") == ""
    assert fresh.stderr() == ""


def test_in_and_out_survive_their_deletion(fresh: Conversation) -> None:
    fresh.execute("del Out, _oh, In, _")
    assert fresh.result("5") == 5
    assert fresh.result("1 + 1") == 2


def test_each_stream_gets_what_was_written_to_it_in_order(fresh: Conversation) -> None:
    fresh.execute(
        "import os, subprocess, sys\nprint('a')\nos.system('echo b; echo B >&2')\n!echo c\n"
        "subprocess.run([sys.executable, '-c', 'print(\"d\")'])\nprint('e', end='')\nprint('E', file=sys.stderr)\n"
        "sys.__stdout__.write('f')\nos.write(1, b'')"
    )
    assert fresh.stdout() == "a\nb\nc\nd\nef"
    assert fresh.stderr() == "B\nE\n"


def test_what_was_printed_before_a_failure_is_there(fresh: Conversation) -> None:
    assert fresh.failure("print('before', end='')\n1/0")["error_type"] == "ZeroDivisionError"
    assert (fresh.stdout(), fresh.stderr()) == ("before", "")


@pytest.mark.parametrize("mode", ["Verbose", "Minimal", "Plain", "Context"])
def test_the_exception_mode_changes_nothing(shared: Conversation, mode: str) -> None:
    shared.execute(f"%xmode {mode}\nbig = list(range(100000))")
    error = shared.failure("1/0")
    assert error["traceback"].count("\n") == 3


def test_the_source_of_cells_can_be_read(shared: Conversation) -> None:
    shared.execute("def source_of_mine():\n    return 'here'")
    assert "return 'here'" in shared.result("import inspect\ninspect.getsource(source_of_mine)")
    assert "return 'here'" in shared.result(
        "import linecache\n''.join(linecache.getlines(source_of_mine.__code__.co_filename))"
    )


def test_a_script_that_fails_fails_its_cell(shared: Conversation) -> None:
    path = shared.scratch / "script.py"
    path.write_text("def f():\n    1/0\nf()\n")
    error = shared.failure(f"%run {path}")
    assert (error["error_type"], error["location"]) == (
        "ZeroDivisionError",
        {"line": 2, "column": 5, "filename": str(path)},
    )


def test_the_last_traceback_can_be_printed(fresh: Conversation) -> None:
    fresh.failure("1/0")
    assert fresh.execute("%tb")["ok"]
    assert "ZeroDivisionError: division by zero" in fresh.stdout()


def test_display(shared: Conversation) -> None:
    shared.execute("from IPython.display import display, HTML, clear_output")
    shown = shared.execute("display(HTML('<b>x</b>'), metadata={'k': 1})")["display_data"]
    assert shown[0]["data"]["text/html"] == "<b>x</b>"
    assert set(shown[0]) == {"data", "metadata"}
    updated = shared.execute("h = display('a', display_id=True)\ndisplay('b')\nh.update('c')")["display_data"]
    assert [bundle["data"]["text/plain"] for bundle in updated] == ["'c'", "'b'"]
    cleared = shared.execute("display(1)\nclear_output(wait=True)\ndisplay(2)")["display_data"]
    assert [bundle["data"]["text/plain"] for bundle in cleared] == ["2"]
    assert shared.execute("display(1)\nclear_output()")["display_data"] == []
    assert shared.execute("1")["display_data"] == []


def test_display_is_bounded(shared: Conversation) -> None:
    many = shared.execute("for i in range(30): display(i)")
    assert len(many["display_data"]) == 20
    assert (many["truncated"]["display_data"], many["truncated"]["items"]) == (True, True)
    long = shared.execute("display({'text/plain': 'x' * 10000}, raw=True)")
    assert len(long["display_data"][0]["data"]["text/plain"]) == 8192
    assert (long["truncated"]["display_data"], long["truncated"]["items"]) == (True, False)
    image = shared.execute("display({'image/png': b'0' * 12345}, raw=True)")
    assert image["display_data"][0]["data"] == {"image/png": None}


def test_a_representation_that_fails_does_not_fail_the_cell(fresh: Conversation) -> None:
    code = "class Odd:\n    def _repr_html_(self): raise ValueError('odd')\ndisplay(Odd())\n1"
    assert fresh.result(code) == 1
    assert "ValueError: odd" in fresh.stderr()


@pytest.mark.parametrize(
    "raised", ["SystemExit", "KeyboardInterrupt", "RecursionError", "MemoryError", "GeneratorExit"]
)
def test_values_that_raise_when_they_are_looked_at(shared: Conversation, raised: str) -> None:
    code = (
        f"class Hostile:\n    def __repr__(self): raise {raised}\n    def model_dump(self): raise {raised}\nHostile()"
    )
    answer = shared.execute(code)
    assert answer["ok"]
    assert answer["result"]["representation"] == f"<Hostile repr failed: {raised}>"
    error = f"class Mean(Exception):\n    def __str__(self): raise {raised}\nraise Mean"
    assert raised in shared.failure(error)["message"]


def test_warnings_are_said_once(fresh: Conversation) -> None:
    fresh.execute("x = 1\nx is 5")
    assert fresh.stderr().count("SyntaxWarning") == 1


def test_a_deep_recursion_ends_promptly(shared: Conversation) -> None:
    begun = time.perf_counter()
    code = (
        "import sys\nsys.setrecursionlimit(200000)\ndef a(n): return b(n)\n"
        "def b(n): return a(n + 1)\ntry: a(0)\nfinally: sys.setrecursionlimit(1000)"
    )
    assert shared.failure(code)["error_type"] == "RecursionError"
    assert time.perf_counter() - begun < 10


def test_a_pager_prints_and_an_editor_refuses(fresh: Conversation) -> None:
    assert fresh.execute("len?")["ok"]
    assert "Return the number of items in a container" in fresh.stdout()
    assert fresh.failure("%edit new_file.py")["error_type"] == "EOFError"


def test_a_call_costs_little(shared: Conversation) -> None:
    shared.execute("pass")
    begun = time.perf_counter()
    for _ in range(100):
        shared.execute("1")
    assert (time.perf_counter() - begun) / 100 < 0.02


def test_nothing_of_the_user_is_read_or_written(converse: Any) -> None:
    talk = converse(Settings())
    profile = talk.scratch / ".ipython" / "profile_default"
    (profile / "startup").mkdir(parents=True)
    (profile / "startup" / "00.py").write_text("started = 1")
    (profile / "ipython_config.py").write_text("c.InteractiveShell.autocall = 2")
    before = sorted(talk.scratch.rglob("*"))
    assert talk.start() == {}
    assert talk.result("'started' in globals(), get_ipython().autocall") == [False, 0]
    after = {path for path in talk.scratch.rglob("*") if (talk.scratch / "scratch") not in (path, *path.parents)}
    assert after == set(before)


def test_a_shell_line_says_its_status(shared: Conversation) -> None:
    assert shared.result("!exit 3\n_exit_code") == 3
    assert shared.result("!kill -9 $$\n_exit_code") == -9
    assert shared.result("name = 'x y'\nout = !echo \"{name}\"\nout[0]") == "x y"


@pytest.mark.parametrize("locale", ["C", "POSIX", ""])
def test_output_is_utf8_whatever_the_locale(converse: Any, locale: str) -> None:
    talk = converse(Settings(environment={"LANG": locale, "LC_ALL": locale, "PYTHONUTF8": "0"}))
    assert talk.start() == {}
    talk.execute("print('\\u2713', '日本語', '\\udcaf')\nimport os\nos.write(2, b'e')")
    assert talk.stdout() == "✓ 日本語 \\udcaf\n"


@pytest.mark.parametrize("inner", ["1/0", "1 +", "def f(: pass", "%nosuchmagic"])
def test_a_cell_that_a_cell_runs_fails_alone(shared: Conversation, inner: str) -> None:
    assert shared.result(f"get_ipython().run_cell({inner!r}); 5") == 5
    assert "Traceback" in shared.stderr() or "Error" in shared.stderr()
    assert shared.failure(f"get_ipython().run_cell({inner!r})\nraise KeyError('outer')")["error_type"] == "KeyError"


def test_a_magic_fails_with_the_cell_that_it_runs(shared: Conversation) -> None:
    assert shared.failure("%%capture\n1/0")["error_type"] == "ZeroDivisionError"
    assert shared.failure("%%capture\n%nosuchmagic")["error_type"] == "UsageError"
