"""`execute` with `persist: false`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from conversation import Conversation, Settings

_SNAPSHOT = """
def snapshot():
    shell = get_ipython()
    history, hook = shell.history_manager, shell.displayhook
    return {
        "names": {name: id(value) for name, value in globals().items()},
        "Out": repr(history.output_hist),
        "In": [history.input_hist_parsed, history.input_hist_raw],
        "lasts": [repr((hook._, hook.__, hook.___)), history._i, history._ii, history._iii],
    }
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Conversation]:
    with Conversation(Settings(limits={"results": 10_000})) as conversation:
        assert conversation.start() == {}
        yield conversation


def state(talk: Conversation) -> Any:
    """Everything that a run may bind."""
    answer = talk.ask("call_function", name="snapshot", arguments={})
    assert answer["ok"], answer["error"]
    return answer["result"]


@pytest.fixture
def talk(server: Conversation) -> Conversation:
    assert server.ask("reset")["ok"]
    server.result("import sys\nkept, other = [1], 2\ndef f(): return other\nclass C: pass" + _SNAPSHOT)
    server.result("'the last value'")
    return server


@pytest.mark.parametrize(
    ("code", "result"),
    [
        ("x = 5\nx", 5),
        ("other = 3\nf()", 3),
        ("del other\n'other' in globals()", False),
        ("import json as j, os.path\nj.dumps(1)", "1"),
        ("for n in range(3): pass\nn", 2),
        ("def g(): return f() + 1\ng()", 3),
        ("def set_it():\n    global other\n    other = 7\nset_it()\nf()", 7),
        ("class D(C): pass\nD.__module__", "__main__"),
        ("from dataclasses import dataclass\n@dataclass\nclass P:\n    n: 'int' = 1\nP().n", 1),
        ("import __main__\n__main__.added = 1\nadded", 1),
        ("globals()['added'] = 1\nadded", 1),
        ("get_ipython().user_ns['added'] = 1\nadded", 1),
        ("exec('added = 1')\nadded", 1),
        ("In = Out = open = exit = 5\nOut", 5),
        ("_", "the last value"),
        ("Out", {"json_compatible": False}),
        ("import asyncio\nx = await asyncio.sleep(0, 4)\nx", 4),
        ("%time y = 1", None),
        ("%%timeit -n1 -r1\nz = 1", None),
        ("!true", None),
        ("lines = !echo one\nlines", ["one"]),
        ("%cd -q .", None),
        ("%reset -f\n'other' in globals()", False),
        ("%reset -f in out\nlen(In)", None),
        ("globals().clear()", None),
        ("1;", None),
        ("None", None),
        ("sys.displayhook(5)", None),
        ("import pickle\nclass E: pass\ntype(pickle.loads(pickle.dumps(E()))) is E", True),
        ("__builtins__.str(1)", "1"),
        ("from unittest import mock\nwith mock.patch('builtins.input', lambda: 'asked'): x = input()\nx", "asked"),
        ("import math\ndef g(): from math import pi; return iter([pi]).__reduce__()[0] is iter\ng()", True),
        ("id = 1\nid", 1),
    ],
)
def test_it_works_like_any_run_and_leaves_no_name(talk: Conversation, code: str, result: Any) -> None:
    before = state(talk)
    answer = talk.scratch_run(code)
    assert answer["ok"], answer["error"]
    if isinstance(result, dict):
        assert answer["result"]["json_compatible"] is result["json_compatible"]
    elif result is not None:
        assert answer["result"] == result
    assert state(talk) == before
    assert talk.result("[kept, other, f(), _]") == [[1], 2, 2, "the last value"]
    assert talk.result("__builtins__ is __import__('builtins')") is True


@pytest.mark.parametrize("code", ["x = 1\n1/0", "x = 1\nother = 5\ndel f\nraise SystemExit", "x = (", "x = 1\nnone"])
def test_a_failure_leaves_none_either(talk: Conversation, code: str) -> None:
    before = state(talk)
    answer = talk.scratch_run(code)
    assert not answer["ok"]
    assert answer["error"]["location"]["filename"] == f"Cell [{answer['execution_count']}]"
    assert state(talk) == before


@pytest.mark.parametrize("wait", ["while True: pass", "import asyncio\nawait asyncio.sleep(60)"])
def test_neither_does_an_interrupted_run(talk: Conversation, wait: str) -> None:
    before = state(talk)
    printed = len(talk.stdout())
    talk.send("execute", code=f"x = 1\nother = 5\nprint('running', flush=True)\n{wait}", persist=False)
    while "running" not in talk.stdout()[printed:]:
        time.sleep(0.01)
    talk.interrupt()
    assert talk.answer()["error"]["error_type"] == "KeyboardInterrupt"
    assert state(talk) == before


def test_what_it_changes_in_objects_stays(talk: Conversation) -> None:
    talk.scratch_run("kept.append(2)\nC.mark = 1")
    assert talk.result("[kept, C.mark]") == [[1, 2], 1]


def test_the_count_goes_on(fresh: Conversation) -> None:
    assert [fresh.scratch_run("1")["execution_count"], fresh.execute("2")["execution_count"]] == [1, 2]
    assert fresh.result("[In[1], In[2], Out[2], 1 in Out]") == ["", "2", 2, False]


def test_what_is_asked_of_the_value_finds_the_names_of_the_run(talk: Conversation) -> None:
    code = "def name(): return 'shown'\nclass Odd:\n    def __repr__(self): return name()\nOdd()"
    assert talk.scratch_run(code)["result"]["representation"] == "shown"
    code = "def name(): return 'said'\nclass OddError(Exception):\n    def __str__(self): return name()\nraise OddError"
    assert talk.scratch_run(code)["error"]["message"] == "said"


@pytest.mark.parametrize(
    "start",
    [
        "def start(work): threading.Thread(target=work).start()\nstart(work)",
        "import asyncio\nasync def task():\n    while not go.is_set(): await asyncio.sleep(0.001)\n    work()\n"
        "t = asyncio.create_task(task())\nawait asyncio.sleep(0)",
    ],
)
def test_functions_that_live_on_find_what_they_used(talk: Conversation, start: str) -> None:
    talk.result("import threading\ngo, done, got = threading.Event(), threading.Event(), []")
    run = talk.scratch_run(
        "import math\nid = 'of the run'\nclass Made: value = 5\ndef helper(): return math.floor(2.5) + Made.value\n"
        f"def work():\n    go.wait(30)\n    got.extend([helper(), id, len(kept)])\n    done.set()\n{start}"
    )
    assert run["ok"], run["error"]
    talk.result("go.set()")
    while not talk.result("done.is_set()"):
        pass
    assert talk.result("got") == [7, "of the run", 1]
    assert talk.result("sorted({'helper', 'Made', 'math', 'work', 't'} & set(globals())) + [id(1) == id(1)]") == [True]


def test_worker_processes_get_the_functions_of_the_run(talk: Conversation) -> None:
    answer = talk.scratch_run(
        "from concurrent.futures import ProcessPoolExecutor\n"
        "def helper(n): return n * 2\ndef work(n): return helper(n)\n"
        "with ProcessPoolExecutor(1) as pool: found = list(pool.map(work, range(3)))\nfound"
    )
    assert answer["result"] == [0, 2, 4], answer["error"]


def test_registered_tools_stay_as_they_were(talk: Conversation) -> None:
    talk.result("def tool(n: int) -> int: return n")
    described = talk.ask("describe", symbol="tool")
    talk.scratch_run("def tool(n: str, more: int) -> int: return n\ndel f")
    assert talk.ask("describe", symbol="tool") == described


def test_nothing_of_it_is_kept_in_memory(talk: Conversation) -> None:
    talk.execute("import gc, weakref\nclass Big: pass\nseen = []")
    for _ in range(3):
        talk.ask("execute", code="big = Big(); seen.append(weakref.ref(big)); big", persist=False)
    talk.execute("gc.collect()")  # IPython remembers the last result
    assert talk.result("[ref() is None for ref in seen]") == [True, True, True]


def test_futures_end_with_the_run_and_with_a_reset(fresh: Conversation) -> None:
    looks, future = "def f(x: int): pass\ntype(f.__annotations__['x']).__name__", "from __future__ import annotations\n"
    assert fresh.scratch_run(future + looks)["result"] == "str"
    assert fresh.result(looks) == "type"
    assert fresh.result(future + looks) == "str"
    assert fresh.scratch_run(looks)["result"] == "str"
    assert fresh.result(looks) == "str"
    assert fresh.ask("reset")["ok"]
    assert fresh.result(looks) == "type"
