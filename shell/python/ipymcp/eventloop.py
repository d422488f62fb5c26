"""The one asyncio loop of the main thread, where background tasks go on between requests.

Main thread only. It runs while the server waits; it does not run while a synchronous cell does, so that `asyncio.run`
works there; a coroutine of user code runs on it. What a background task raises never ends the wait.
"""

from __future__ import annotations

import asyncio

# By name, here and below: user code, and what makes everything cooperative, may replace what the modules hold.
from asyncio import CancelledError, all_tasks, set_event_loop, wait, wait_for
from asyncio.events import _set_running_loop
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from select import POLLIN, poll
from typing import Any

from ipymcp.failedtasks import FailedTasks
from ipymcp.interrupts import Interrupts
from ipymcp.raised import is_a, traceback_of

# Seconds that a cancelled coroutine, and every task at the end, gets to clean up.
_CLEANUP_SECONDS = 1.0
# Kept from the start: user code may replace asyncio's.
_Loop = asyncio.SelectorEventLoop


class EventLoop:
    """Owner of the loop; makes a new one where user code closed it."""

    def __init__(self, interrupts: Interrupts) -> None:
        self.interrupts = interrupts
        self._failed_tasks = FailedTasks()
        self._loop = self._new_loop()
        self._robbed: list[Any] = []
        self._waiting = False
        self._abandoned = False
        self.ended_by: BaseException | None = None
        # Called where the loop itself fails.
        self.mend: Callable[[], object] = bool

    def _new_loop(self) -> asyncio.AbstractEventLoop:
        """Python's own kind of loop, whatever policy user code has set: others stop, and see signals, differently."""
        loop = _Loop()
        self._failed_tasks.watch(loop)
        return loop

    def establish(self) -> asyncio.AbstractEventLoop:
        """Makes the loop the thread's current one: `asyncio.run` takes that away, and so may user code."""
        if self._loop.is_closed():
            self._loop = self._new_loop()
        set_event_loop(self._loop)
        return self._loop

    def wait_readable(self, descriptor: int) -> None:
        """Runs background tasks until the descriptor is readable or unusable, or this is a forked child.

        They get a turn even if it is readable at once, so that a busy client does not starve them.
        """
        readable = partial(_is_readable, descriptor)
        while not self._abandoned:
            self._replace_broken()
            loop = self.establish()
            self._waiting, self.interrupts.request_waits = True, readable
            self._failed_tasks.begin(loop)
            try:
                if _has_work(loop) or not _comes_first(descriptor, loop):
                    _run_until_readable(loop, descriptor)
            except BaseException as error:  # SystemExit of a task ends a turn of the loop, not the server
                if not is_a(error, SystemExit, KeyboardInterrupt):
                    self.mend()
            finally:
                self._waiting, self.interrupts.request_waits = False, None
                self._failed_tasks.end()
            if readable():
                return

    def awaited(self) -> int:
        """The descriptor that is readable when the loop has something to do; -1 where it has now, or perhaps has."""
        try:
            if self._failed_tasks.any() or _has_work(self._loop):
                return -1
            return int(self._loop._selector.fileno())  # type: ignore[attr-defined]
        except Exception:  # it is closed
            return -1

    def _replace_broken(self) -> None:
        """Gives up a loop that still counts as running, as one does that a signal handler of the user's raised in.

        And one whose descriptors user code took. It may not close them: the numbers can be somebody else's by now.
        """
        if self._loop.is_running():
            _set_running_loop(None)
        elif self._loop.is_closed() or _is_whole(self._loop):
            return
        else:
            self._robbed.append(self._loop)
        self._loop = self._new_loop()

    def abandon(self) -> None:
        """In a forked child: ends the wait that the child inherited, if it did."""
        self._abandoned = True
        if self._waiting:
            self._loop.stop()

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Runs a coroutine to its end. An interruption cancels it; what it then raises is `KeyboardInterrupt`.

        `ended_by` is that exception afterwards, None without, for a coroutine that does not raise what it is told.
        """
        loop = self.establish()
        self.ended_by = None
        task: asyncio.Task[Any] | None = None

        def cancel(reason: BaseException) -> None:
            self.ended_by = reason
            if task is not None:
                loop.call_soon_threadsafe(task.cancel)

        try:
            task = loop.create_task(work)
            return self.interrupts.run_on_loop(partial(loop.run_until_complete, task), cancel)
        except BaseException as error:
            self._abort(task, work)
            if self.ended_by is not None and is_a(error, CancelledError):
                raise self.ended_by.with_traceback(traceback_of(error)) from None
            raise

    def _abort(self, task: asyncio.Task[Any] | None, work: Coroutine[Any, Any, Any]) -> None:
        """Ends what an interruption left, giving it time to clean up."""
        if task is None:
            work.close()
        elif not task.done():
            task.cancel()
            with suppress(CancelledError, RuntimeError):
                self._loop.run_until_complete(wait({task}, timeout=_CLEANUP_SECONDS))

    def close(self) -> None:
        """Cancels what is left and closes the loop, quietly."""
        loop = self.establish()
        loop.set_exception_handler(lambda _loop, _context: None)
        with suppress(BaseException):
            tasks = all_tasks(loop)
            for task in tasks:
                task.cancel()
            if tasks:
                loop.run_until_complete(wait(tasks, timeout=_CLEANUP_SECONDS))
            loop.run_until_complete(wait_for(loop.shutdown_asyncgens(), _CLEANUP_SECONDS))
        with suppress(BaseException):
            set_event_loop(None)
            loop.close()


def _is_readable(descriptor: int) -> bool:
    # A poll object of its own: the signal handler asks as well, also in the middle of another asking.
    readable = poll()
    readable.register(descriptor, POLLIN)
    return bool(readable.poll(0))


def _is_whole(loop: Any) -> bool:
    """Whether what the loop waits with, and is woken by, is still there, and what it has to do."""
    try:
        loop._selector._selector.poll(0, 1)
        loop._csock.getpeername()
        return type(loop._ready) is deque and type(loop._scheduled) is list
    except (OSError, ValueError, AttributeError):
        return False


def _has_work(loop: Any) -> bool:
    """Whether callbacks or timers wait for the loop to run."""
    return bool(loop._ready or loop._scheduled)


def _comes_first(descriptor: int, loop: Any) -> bool:
    """Waits without the loop, which is quicker; whether the descriptor was ready before anything was for the loop."""
    either = poll()
    either.register(descriptor, POLLIN)
    either.register(loop._selector.fileno(), POLLIN)
    return [ready for ready, _ in either.poll()] == [descriptor]


def _run_until_readable(loop: asyncio.AbstractEventLoop, descriptor: int) -> None:
    try:
        loop.add_reader(descriptor, loop.stop)
        loop.run_forever()
    finally:
        with suppress(Exception):
            loop.remove_reader(descriptor)
