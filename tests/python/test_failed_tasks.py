"""Background tasks that fail are told of between requests, once, unless somebody has asked for the exception."""

from __future__ import annotations

import time

import pytest

from conversation import Conversation

_TOLD = (
    "failed:\nTraceback (most recent call last):\n  File \"Cell [{0}]\", line 4, in bad\n    raise ValueError('bad')\n"
)
_SETUP = "import asyncio\nasync def bad(seconds=0):\n    await asyncio.sleep(seconds)\n    raise ValueError('bad')\n"


def told(talk: Conversation, text: str) -> str:
    """What was written to stderr, once a text is there."""
    deadline = time.monotonic() + 20
    while text not in talk.stderr():
        assert time.monotonic() < deadline, talk.stderr()
    return talk.stderr()


@pytest.mark.parametrize(
    "start",
    [
        "task = asyncio.create_task(bad(0.05))",  # fails later
        "task = asyncio.create_task(bad())\nawait asyncio.sleep(0.05)",  # in its own cell
        "task = asyncio.create_task(bad(0.05), name='named')",
        "asyncio.create_task(bad(0.05))",  # Out holds it
        "async def other(): task = asyncio.create_task(bad()); await asyncio.sleep(0.05)\n"
        "o = asyncio.create_task(other())",
        "loop = asyncio.get_event_loop()\n"
        "loop.set_task_factory(lambda loop, work, **o: asyncio.Task(work, loop=loop, **o))\n"
        "task = loop.create_task(bad())",
    ],
)
def test_a_failed_task_is_told_of(fresh: Conversation, start: str) -> None:
    fresh.result(_SETUP + "None")
    fresh.execute(start)
    text = told(fresh, "ValueError: bad\n")
    assert "background task " in text
    assert _TOLD.format(1) in text
    assert "ipymcp" not in text
    fresh.result("import gc\ntask = o = _ = None\nOut.clear()\ngc.collect()")
    assert fresh.stderr() == text  # once


_ASKED = [
    "try: await task\nexcept ValueError: pass",
    "await asyncio.gather(task, return_exceptions=True)",
    "await asyncio.wait([task])\ntask.exception()",
]


@pytest.mark.parametrize("asked", [*_ASKED, "await asyncio.sleep(0.05)\ntask.exception()"])
def test_a_failure_that_its_cell_asks_for_is_not(fresh: Conversation, asked: str) -> None:
    fresh.result(f"{_SETUP}task = asyncio.create_task(bad(0.01))\n{asked}\nNone")
    _only_the_marker_is_told(fresh)


@pytest.mark.parametrize("asked", _ASKED)
def test_nor_is_one_that_another_task_asks_for(fresh: Conversation, asked: str) -> None:
    body = "\n    ".join(("task = asyncio.create_task(bad(0.01))", *asked.splitlines()))
    fresh.result(f"{_SETUP}async def parent():\n    {body}\np = asyncio.create_task(parent())")
    while not fresh.result("p.done()"):
        pass
    _only_the_marker_is_told(fresh)


def _only_the_marker_is_told(talk: Conversation) -> None:
    talk.result("marker = asyncio.create_task(bad(), name='marker')")
    told(talk, "ValueError: bad\n")
    talk.result("1")
    assert talk.stderr().count("failed:") == 1
    assert talk.stderr().startswith("background task marker failed:")


def test_a_handler_of_user_code_is_told_instead(fresh: Conversation) -> None:
    fresh.result(_SETUP + "seen = []\nasyncio.get_event_loop().set_exception_handler(lambda _, c: seen.append(c))")
    fresh.result("task = asyncio.create_task(bad())")
    while not fresh.result("len(seen)"):
        pass
    assert fresh.result("[str(seen[0]['exception']), seen[0]['task'] is task, len(seen)]") == ["bad", True, 1]
    assert fresh.stderr() == ""


def test_an_exception_of_a_thread_names_only_its_own_frames(fresh: Conversation) -> None:
    fresh.result("import threading\ndef bad(): raise ValueError('bad')\nthreading.Thread(target=bad).start()")
    text = told(fresh, "ValueError: bad\n")
    assert 'File "Cell [1]", line 2, in bad' in text
    assert "ipymcp" not in text


def test_a_policy_of_user_code_does_not_make_the_loop_of_the_server(fresh: Conversation) -> None:
    fresh.result(
        "import asyncio, warnings\nwarnings.simplefilter('ignore')\n"
        "class Loop(asyncio.SelectorEventLoop):\n"
        "    def run_until_complete(self, work): work.close(); raise RuntimeError('stopped before completion')\n"
        "class Policy(asyncio.DefaultEventLoopPolicy):\n    def new_event_loop(self): return Loop()\n"
        "asyncio.get_event_loop().close()\nasyncio.set_event_loop_policy(Policy())"
    )
    for _ in range(2):
        assert fresh.result("lock = asyncio.Lock()\nasync with lock: value = await asyncio.sleep(0, 5)\nvalue") == 5
    assert fresh.result("async with lock: value = 6\nvalue") == 6
