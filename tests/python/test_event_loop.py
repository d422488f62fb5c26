from __future__ import annotations

import time

import pytest

from conversation import Conversation


@pytest.mark.parametrize(
    ("code", "result"),
    [
        ("asyncio.run(asyncio.sleep(0, 1))", 1),
        ("await asyncio.sleep(0, 2)", 2),
        ("asyncio.get_event_loop().run_until_complete(asyncio.sleep(0, 3))", 3),
        ("asyncio.run(asyncio.sleep(0))\nasyncio.run(asyncio.sleep(0, 4))", 4),
        ("await asyncio.gather(asyncio.sleep(0, 5), asyncio.sleep(0, 6))", [5, 6]),
        ("asyncio.get_event_loop().is_running()", False),
        ("asyncio.get_event_loop() is loop", True),
        ("await asyncio.sleep(0)\nasyncio.get_running_loop() is loop", True),
        ("asyncio.get_running_loop() is loop", True),
        ("async with asyncio.timeout(5): x = 7\nx", 7),
        ("[x async for x in agen()]", [0, 1]),
        ("t = asyncio.create_task(asyncio.sleep(0, 8))\nawait t", 8),
        ("await asyncio.to_thread(lambda: 9)", 9),
        ("f = asyncio.get_event_loop().create_future()\nf.set_result(10)\nawait f", 10),
    ],
)
def test_asyncio_in_cells(shared: Conversation, code: str, result: object) -> None:
    setup = "import asyncio\nasync def agen():\n    for i in range(2): yield i"
    shared.result(setup)
    shared.result("if 'loop' not in globals(): loop = asyncio.get_event_loop()")
    assert shared.result(code) == result
    assert shared.stderr() == ""


def test_tasks_go_on_between_calls(fresh: Conversation) -> None:
    fresh.execute("import asyncio\nasync def work():\n    await asyncio.sleep(0.05)\n    return 'done'")
    fresh.execute("task = asyncio.create_task(work())")
    deadline = time.monotonic() + 10
    while not fresh.result("task.done()"):
        assert time.monotonic() < deadline
    assert fresh.result("task.result()") == "done"


def test_an_object_of_the_loop_lives_from_cell_to_cell(fresh: Conversation) -> None:
    fresh.execute(
        "import asyncio\nqueue = asyncio.Queue()\nasync def pump():\n"
        "    while True: await queue.put(await source.get())"
    )
    fresh.execute("source = asyncio.Queue()\npumping = asyncio.create_task(pump())")
    fresh.execute("asyncio.run(asyncio.sleep(0))")
    assert fresh.result("await source.put(3)\nawait queue.get()") == 3


@pytest.mark.parametrize(
    "breaks",
    [
        "asyncio.get_event_loop().close()",
        "asyncio.set_event_loop(None)",
        "asyncio.get_event_loop().call_soon(asyncio.get_event_loop().stop)",
        "asyncio.get_event_loop().call_soon(exit)",
        "async def leave(): raise SystemExit\nt = asyncio.create_task(leave())",
        "async def leave(): raise KeyboardInterrupt\nt = asyncio.create_task(leave())",
        "loop = asyncio.get_event_loop()\nloop._thread_id = 1",
        "asyncio._set_running_loop(asyncio.get_event_loop())\nasyncio.get_event_loop()._thread_id = 1",
        "await asyncio.sleep(0)\nasyncio.get_running_loop().stop()\nawait asyncio.sleep(1)",
    ],
)
def test_a_loop_that_user_code_breaks_is_repaired(shared: Conversation, breaks: str) -> None:
    shared.execute(f"import asyncio\n{breaks}")
    assert shared.result("import asyncio\nawait asyncio.sleep(0, 1)") == 1
    assert shared.result("asyncio.get_event_loop().is_closed()") is False


def test_tasks_that_are_left_end_quietly(fresh: Conversation) -> None:
    fresh.execute(
        "import asyncio, atexit\nasync def forever():\n"
        "    try: await asyncio.sleep(1000)\n    finally: print('cleaned')\n"
        "t = asyncio.create_task(forever())\natexit.register(print, 'bye')"
    )
    assert fresh.end_stream() == 0
    assert fresh.stdout() == "cleaned\nbye\n"
    assert fresh.stderr() == ""


def test_a_cell_that_fails_on_the_loop(shared: Conversation) -> None:
    error = shared.failure("import asyncio\nawait asyncio.sleep(0)\nraise ValueError('after')")
    assert (error["error_type"], error["location"]["line"]) == ("ValueError", 3)
    assert "interactiveshell" not in error["traceback"]
