"""Failures of background tasks, told between requests. Main thread.

Python itself tells of a failed task when the last reference to it goes: of one that the namespace holds never, of
others in the middle of a cell that has nothing to do with it.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
from typing import Any

from ipymcp.text import cut
from ipymcp.tracebacks import format_traceback

# Turns of the loop in which whoever waits for a task (`asyncio.wait`, `gather`) can ask for its exception first.
_TURNS = 5
_TRACEBACK_CHARS = 4000


class FailedTasks:
    """Tasks that have failed and whose exceptions nobody has asked for."""

    def __init__(self) -> None:
        self._failed: list[asyncio.Task[Any]] = []
        self._waiting = False
        self._settling = False

    def watch(self, loop: asyncio.AbstractEventLoop) -> None:
        """Looks at each task that the loop makes when it is done. Task factories are left to user code."""
        create = loop.create_task

        def create_task(work: Coroutine[Any, Any, Any], **options: Any) -> asyncio.Task[Any]:
            task = create(work, **options)
            task.add_done_callback(self._note)
            return task

        vars(loop)["create_task"] = create_task

    def begin(self, loop: asyncio.AbstractEventLoop) -> None:
        """From now on no cell waits for a task."""
        self._waiting = True
        self._settle_soon(loop)

    def any(self) -> bool:
        """Whether there is something to tell."""
        return bool(self._failed)

    def end(self) -> None:
        """What fails from now on may be waited for by a cell."""
        self._waiting = False

    def _note(self, task: asyncio.Task[Any]) -> None:
        if _is_unheard(task):
            self._failed.append(task)
            self._settle_soon(task.get_loop())

    def _settle_soon(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._failed and self._waiting and not self._settling:
            self._settling = True
            loop.call_soon(self._settle, loop, _TURNS)

    def _settle(self, loop: asyncio.AbstractEventLoop, turns: int) -> None:
        if turns:
            loop.call_soon(self._settle, loop, turns - 1)
            return
        self._settling = False
        if self._waiting:
            failed, self._failed = self._failed, []
            for task in failed:
                if _is_unheard(task):
                    _tell(loop, task)


def _is_unheard(task: asyncio.Task[Any]) -> bool:
    # The only way to know without asking for the exception, after which Python takes it for heard.
    return bool(getattr(task, "_log_traceback", False))


def _tell(loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any]) -> None:
    error = task.exception()
    if error is None:
        return
    if loop.get_exception_handler() is not None:
        loop.call_exception_handler({"message": "Task exception was never retrieved", "exception": error, "task": task})
        return
    text = format_traceback(error, _TRACEBACK_CHARS)[0]
    # In one piece: the reply to a request could come between two.
    sys.stderr.write(f"background task {cut(task.get_name(), 200)[0]} failed:\n{text}\n")
    sys.stderr.flush()
