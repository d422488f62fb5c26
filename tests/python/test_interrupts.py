from __future__ import annotations

import random
import time

import pytest

from conversation import Conversation


def interrupt_when(talk: Conversation, code: str) -> float:
    """Sends the code, which prints `ready` before it blocks, and interrupts it then; the moment of the interruption."""
    before = talk.stdout().count("ready")
    talk.send("execute", code=code)
    deadline = time.monotonic() + 20
    while talk.stdout().count("ready") == before:
        assert time.monotonic() < deadline
        time.sleep(0.002)
    time.sleep(0.02)  # from the print into what blocks
    talk.interrupt()
    return time.monotonic()


@pytest.mark.parametrize(
    "blocks",
    [
        "while True: x = 1",
        "time.sleep(60)",
        "threading.Event().wait()",
        "subprocess.run(['sleep', '60'])",
        "await asyncio.sleep(60)",
        "await asyncio.gather(asyncio.sleep(60), asyncio.sleep(60))",
        "asyncio.run(asyncio.sleep(60))",
        "t = asyncio.create_task(asyncio.sleep(60)); await t",
        "async def spin():\n    while True: x = 1\nawait spin()",
        "!sleep 60",
        "out = !sleep 60",
        "sum(1 for _ in iter(int, 1))",
    ],
)
def test_code_that_blocks_is_interrupted(shared: Conversation, blocks: str) -> None:
    begun = interrupt_when(shared, f"import asyncio, subprocess, threading, time\nprint('ready')\n{blocks}")
    answer = shared.answer()
    assert time.monotonic() - begun < 5
    assert (answer["ok"], answer["error"]["code"]) == (False, "execution_error")
    assert answer["error"]["error_type"] == "KeyboardInterrupt"
    assert shared.result("1 + 1") == 2


def test_code_may_handle_its_interruption(shared: Conversation) -> None:
    code = (
        "import time\ntry:\n    print('ready')\n    time.sleep(60)\n"
        "except KeyboardInterrupt:\n    handled = True\nhandled"
    )
    interrupt_when(shared, code)
    assert shared.answer()["result"] is True
    code = (
        "async def f():\n    try:\n        print('ready')\n"
        "        await asyncio.sleep(60)\n    finally:\n        cleaned.append(1)\n"
    )
    shared.execute("import asyncio\ncleaned = []")
    interrupt_when(shared, code + "await f()")
    assert shared.answer()["error"]["error_type"] == "KeyboardInterrupt"
    assert shared.result("cleaned") == [1]


@pytest.mark.parametrize("event", ["pre_execute", "pre_run_cell", "post_execute", "post_run_cell"])
def test_callbacks_of_ipython_are_interrupted(fresh: Conversation, event: str) -> None:
    fresh.execute(
        "import time\narmed, ran = [], []\ndef nap(*_):\n    if armed: armed.clear(); print('ready'); time.sleep(60)\n"
        f"get_ipython().events.register({event!r}, nap)"
    )
    before = event.startswith("pre_")
    if before:
        fresh.execute("armed.append(1)")
    begun = interrupt_when(fresh, "ran.append(1)" if before else "armed.append(1)")
    answer = fresh.answer()
    assert time.monotonic() - begun < 5
    # A cell that has not begun does not; one that is over stays what it was.
    assert answer["ok"] is not before
    assert fresh.result("ran") == []


def test_looking_at_a_value_is_interrupted(shared: Conversation) -> None:
    code = (
        "class Slow:\n    def __repr__(self):\n        print('ready')\n        while True: x = 1\nslow = Slow()\nslow"
    )
    interrupt_when(shared, code)
    answer = shared.answer()
    assert answer["ok"]
    assert answer["result"]["representation"] == "<Slow repr failed: KeyboardInterrupt>"


def test_a_called_function_is_interrupted(shared: Conversation) -> None:
    shared.execute("import time\ndef nap():\n    print('ready')\n    time.sleep(60)")
    before = shared.stdout().count("ready")
    shared.send("call_function", name="nap", arguments={})
    while shared.stdout().count("ready") == before:
        time.sleep(0.002)
    shared.interrupt()
    assert shared.answer()["error"]["error_type"] == "KeyboardInterrupt"


def test_an_interruption_while_idle_leaves_no_trace(fresh: Conversation) -> None:
    fresh.execute(
        "import asyncio, signal\nticks = []\nasync def tick():\n    while True:\n"
        "        ticks.append(1)\n        await asyncio.sleep(0.001)"
    )
    fresh.execute("task = asyncio.create_task(tick())")
    for _ in range(200):
        fresh.interrupt()
    assert fresh.result("task.done()") is False
    assert fresh.result("1") == 1
    assert (fresh.stdout(), fresh.stderr()) == ("", "")


def test_interruptions_at_any_moment_hit_the_running_cell_alone(fresh: Conversation) -> None:
    chance = random.Random(7)
    fresh.execute("import asyncio")
    for number in range(150):
        code = "for i in range(5000): pass" if number % 3 else "await asyncio.sleep(0.001)"
        fresh.send("execute", code=code)
        time.sleep(chance.random() * 0.003)
        fresh.interrupt()
        fresh.interrupt()
        answer = fresh.answer()
        assert answer["ok"] or answer["error"]["error_type"] == "KeyboardInterrupt"
        assert fresh.result("1") == 1
    # What CPython itself says of an exception in the finalizer of a garbage-collected object is no trace of ours.
    for trace in ("never awaited", "Task was destroyed", "Task exception"):
        assert trace not in fresh.stderr()


@pytest.mark.parametrize("handler", ["SIG_IGN", "SIG_DFL", "lambda *_: print('mine')"])
def test_a_handler_of_the_users_lasts_for_its_cell(shared: Conversation, handler: str) -> None:
    value = handler if handler.startswith("lambda") else f"signal.{handler}"
    assert shared.execute(f"import signal, time\nsignal.signal(signal.SIGINT, {value})")["ok"]
    interrupt_when(shared, "print('ready')\ntime.sleep(60)")
    assert shared.answer()["error"]["error_type"] == "KeyboardInterrupt"


def test_a_background_task_that_keeps_the_loop_busy_is_interrupted(fresh: Conversation) -> None:
    fresh.execute(
        "import asyncio\nasync def hog():\n    await asyncio.sleep(0)\n    print('ready')\n    while True: x = 1"
    )
    fresh.execute("task = asyncio.create_task(hog())")
    while "ready" not in fresh.stdout():
        time.sleep(0.002)
    fresh.send("execute", code="task.done()")
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        fresh.interrupt()
        fresh._socket.settimeout(0.2)
        try:
            # It was meant for the request that waited, which does not begin any more.
            assert fresh.answer()["error"]["error_type"] == "KeyboardInterrupt"
            break
        except TimeoutError:
            continue
    fresh._socket.settimeout(30)
    assert fresh.result("task.done()") is True


def test_other_signals_are_the_users(shared: Conversation) -> None:
    code = (
        "import signal, time\nrung = []\n"
        "signal.signal(signal.SIGALRM, lambda *_: rung.append(1))\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.05)\ntime.sleep(0.2)\nrung"
    )
    assert shared.result(code) == [1]


@pytest.mark.parametrize(
    ("code", "swallowed"),
    [
        ("try:\n    BLOCK\nexcept KeyboardInterrupt: pass", False),
        ("import contextlib\nwith contextlib.suppress(KeyboardInterrupt):\n    BLOCK", False),
        ('get_ipython().run_cell("BLOCK")', True),
        ("%%script --no-raise-error sh\necho ready\nexec sleep 60", True),
    ],
)
def test_only_user_code_may_swallow_an_interruption(shared: Conversation, code: str, swallowed: bool) -> None:
    shared.execute("import time")
    interrupt_when(shared, code.replace("BLOCK", "print('ready'); time.sleep(60)"))
    reply = shared.reply()
    assert reply["interrupted"] is swallowed
    assert reply["value"]["ok"] is not swallowed
    if swallowed:
        assert reply["value"]["error"]["error_type"] == "KeyboardInterrupt"


def test_an_interruption_that_came_too_late_is_told_from_one_that_hit(shared: Conversation) -> None:
    shared.send("execute", code="1/0")
    assert shared.reply()["interrupted"] is False
    shared.interrupt()
    shared.send("execute", code="1/0")
    assert shared.reply()["interrupted"] is False


def test_one_interruption_ends_all_representations(shared: Conversation) -> None:
    shared.execute(
        "import time\nclass Slow:\n    def __repr__(self):\n        print('ready')\n        time.sleep(60)\n"
        "slow = [Slow() for _ in range(5)]\nslow1, slow2 = slow[:2]"
    )
    for op, args in (("execute", {"code": "slow"}), ("search", {"query": "slow"}), ("inspect", {"name": "slow"})):
        before = shared.stdout().count("ready")
        shared.send(op, **args)
        while shared.stdout().count("ready") == before:
            time.sleep(0.002)
        shared.interrupt()
        answer = shared.answer()
        assert shared.stdout().count("ready") == before + 1
        assert op == "execute" or answer["error"]["error_type"] == "KeyboardInterrupt"


def test_a_value_is_the_same_when_an_interruption_comes_while_it_is_translated(fresh: Conversation) -> None:
    chance = random.Random(5)
    for _ in range(60):
        fresh.send("execute", code="[[0] * 100] * 100")
        time.sleep(chance.random() * 0.01)
        fresh.interrupt()
        answer = fresh.answer()
        assert not answer["ok"] or len(answer["result"]) == 100
