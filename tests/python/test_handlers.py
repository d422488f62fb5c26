from __future__ import annotations

import pytest

from conversation import Conversation

RAISING_TIMER = """
import signal
def expire(*_):
    raise TimeoutError('too late')
_ = signal.signal(signal.SIGALRM, expire)
"""


def test_a_handler_that_raises_all_the_time_breaks_nothing_of_ours(fresh: Conversation) -> None:
    fresh.execute(RAISING_TIMER + "class Slow:\n    def __repr__(self): return str(sum(range(2000)))")
    fresh.execute("def f(a: int = 1): return a")
    outcomes = set()
    for number in range(300):
        # From a little before the end of the cell to well after its reply, at a step that is no fraction of anything.
        fresh.execute(f"signal.setitimer(signal.ITIMER_REAL, {1e-5 + number * 1.7e-5}, 0.00037)")
        for op, args in (
            ("execute", {"code": "(Slow(), [1, 2])"}),
            ("call_function", {"name": "f", "arguments": {}}),
            ("inspect", {"name": "f"}),
            ("list", {}),
        ):
            error = fresh.ask(op, **args)["error"]
            outcomes.add(None if error is None else error["error_type"])
        while not fresh.execute("signal.setitimer(signal.ITIMER_REAL, 0)")["ok"]:
            pass
    assert fresh.result("1 + 1") == 2
    assert "TimeoutError" in outcomes


def test_an_alarm_ends_the_cell_that_set_it(shared: Conversation) -> None:
    shared.execute(RAISING_TIMER)
    for work in ("time.sleep(30)", "while True: pass", "await asyncio.sleep(30)", "asyncio.run(asyncio.sleep(30))"):
        error = shared.failure(f"import asyncio, time\nsignal.setitimer(signal.ITIMER_REAL, 0.05)\n{work}")
        assert (error["error_type"], error["message"]) == ("TimeoutError", "too late"), work
        assert shared.result("1 + 1") == 2


def test_an_alarm_between_requests_is_reported_and_leaves_tasks_alone(fresh: Conversation) -> None:
    fresh.execute(RAISING_TIMER + "import asyncio\nasync def nap(): await asyncio.sleep(0.2); return 'rested'")
    fresh.execute("task = asyncio.create_task(nap())\n_ = signal.setitimer(signal.ITIMER_REAL, 0.05)")
    while "TimeoutError: too late" not in fresh.stderr():
        pass
    assert "exception ignored in a signal handler" in fresh.stderr()
    assert fresh.result("await task") == "rested"


def test_a_handler_that_returns_runs_between_requests(fresh: Conversation) -> None:
    code = "import signal\n_ = signal.signal(signal.SIGUSR1, lambda *_: print('handled', flush=True))"
    assert fresh.execute(code)["ok"]
    fresh.process.send_signal(10)
    while "handled" not in fresh.stdout():
        pass
    assert fresh.stderr() == ""


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("signal.getsignal(signal.SIGINT) is signal.default_int_handler", True),
        ("signal.signal(signal.SIGUSR1, print) == signal.SIG_DFL and signal.getsignal(signal.SIGUSR1) is print", True),
        ("signal.signal(signal.SIGUSR1, signal.SIG_DFL) is print", True),
        ("signal.signal.__name__ + signal.signal.__module__", "signalsignal"),
        ("[n for n in signal.valid_signals() - {9, 19} if type(signal.getsignal(n)).__module__ == 'ipymcp']", []),
        ("[signal.signal(n, signal.SIG_IGN) and None for n in signal.valid_signals() - {9, 19, 17}] and 1", 1),
    ],
)
def test_user_code_sees_its_own_handlers(shared: Conversation, code: str, value: object) -> None:
    assert shared.result(f"import signal\n{code}") == value


@pytest.mark.parametrize("wrong", ["(99, print)", "(signal.SIGUSR1, 'print')", "('SIGUSR1', print)"])
def test_a_wrong_handler_fails_as_in_plain_python(shared: Conversation, wrong: str) -> None:
    assert shared.failure(f"import signal\nsignal.signal{wrong}")["error_type"] in ("ValueError", "TypeError")


@pytest.mark.parametrize("hook", ["sys.settrace", "sys.setprofile"])
def test_tracing_sees_none_of_the_code_that_replies(fresh: Conversation, hook: str) -> None:
    fresh.execute(
        "import sys\nseen = set()\ndef look(frame, event, argument):\n"
        "    seen.add(frame.f_code.co_filename)\n    return look"
    )
    fresh.execute(f"{hook}(look)")
    fresh.execute("def f(): pass\nf()")
    fresh.ask("inspect", name="f")
    ours = "[n for n in seen if n.endswith(('ipymcp/server.py', 'ipymcp/channel.py', 'ipymcp/execution.py'))]"
    assert fresh.result(f"{hook}(None)\n{ours}") == []
    assert fresh.result("any(name.startswith('Cell [3') for name in seen)") is True
