"""Interruptions: `KeyboardInterrupt` in the code of the running request, nothing at any other time. Main thread only.

The embedding process sends the signal `INTERRUPT` to the main thread to interrupt a request; SIGINT stays what user
code makes of it. The handler raises only where user code runs (`run`, `run_on_loop`), so that neither IPython nor
asyncio is ever torn in the middle of its own work: a signal that finds them before the user's code is kept for
`raise_deferred`, one that finds the loop between callbacks cancels the coroutine that is waited for, and one that comes
after the code, or between requests, is forgotten.
"""

from __future__ import annotations

import asyncio
import os
import selectors
import signal
import sys
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import FrameType
from typing import Any, TypeVar

from ipymcp.frames import is_machinery
from ipymcp.raised import traceback_of

T = TypeVar("T")

# A signal that Linux itself never sends; `internal/cpython` does.
INTERRUPT = signal.SIGSTKFLT
# The functions of module `signal` themselves: `handlers`, and user code, put others in their place.
_set_handler, _get_handler, _set_mask = signal.signal, signal.getsignal, signal.pthread_sigmask

_ASYNCIO = os.path.dirname(asyncio.__file__) + os.sep
_LOOP_FILES = frozenset({selectors.__file__, weakref.__file__, weakref.WeakSet.__init__.__code__.co_filename})
# The modules that run the loop: below their frames there is nothing that the loop runs.
_LOOP_RUNNERS = frozenset({__file__, os.path.join(os.path.dirname(__file__), "eventloop.py")})
# How long a background task may keep a request from being read before an interruption hits the task.
_HOG_SECONDS = 0.25


def default_handlers() -> None:
    """Gives signals that C code handles their default back, so that user code can restore what it finds.

    The embedding process puts its own handler for them back in front.
    """
    for number, handler in (
        (signal.SIGINT, signal.default_int_handler),
        (signal.SIGTERM, signal.SIG_DFL),
        (signal.SIGHUP, signal.SIG_DFL),
    ):
        if _get_handler(number) is None:
            _set_handler(number, handler)


class Interrupts:
    """The handler and what it has to know.

    Arming and disarming are plain attribute stores on purpose: a call there could itself be where the signal is
    noticed, and would leave the handler armed.
    """

    def __init__(self) -> None:
        self._armed = False
        self._deferred = False
        self._cancel: Callable[[BaseException], None] | None = None
        self._hog_timer: threading.Timer | None = None
        self._prodding = False
        self._for_waiting = False
        self._tracing = _Tracing()
        # Says whether a request waits to be read; looked at while background tasks run between requests.
        self.request_waits: Callable[[], bool] | None = None
        self.raised = 0  # interruptions that have reached the code of this request
        self._last: BaseException | None = None  # of them

    def install(self) -> None:
        """Makes this the handler of `INTERRUPT`, whatever user code made it; disarmed, without what came before."""
        self._armed, self._cancel, self._hog_timer = False, None, None
        if _get_handler(INTERRUPT) != self.handle:
            _set_handler(INTERRUPT, self.handle)
        self._deferred, self.raised, self._last = self._for_waiting, 0, None
        self._for_waiting = False
        # User code may have blocked them for this thread.
        _set_mask(signal.SIG_UNBLOCK, (INTERRUPT, signal.SIGINT))

    def run(self, code: Callable[..., T], *arguments: Any) -> T:
        """Calls user code; within it, an interruption raises. Tracing that the code turns on pauses outside of it."""
        before = self._armed
        if not before:
            self._tracing.resume()
        self._armed = True
        try:
            return code(*arguments)
        finally:
            self._armed = before
            if not before:
                self._tracing.pause()

    def run_on_loop(self, wait: Callable[[], T], cancel: Callable[[BaseException], None]) -> T:
        """Calls `wait`, which runs the loop; an interruption raises in user code, and calls `cancel` elsewhere."""
        before, cancel_before = self._armed, self._cancel
        self._cancel = cancel
        self._armed = True
        try:
            return wait()
        finally:
            self._armed = before
            self._cancel = cancel_before

    def run_own(self, code: Callable[..., T], *arguments: Any) -> T:
        """Calls our own code, which may call methods of the user's; an interruption raises in those alone."""
        return self.run_on_loop(partial(code, *arguments), _forget)

    def shield(self, code: Callable[..., T], *arguments: Any) -> T:
        """Calls our own code that user code has called; an interruption raises behind it, or in a `run` within it."""
        before, cancel_before = self._armed, self._cancel
        self._armed, self._cancel = False, None
        if before:
            self._tracing.pause()
        try:
            return code(*arguments)
        finally:
            if before:
                self._tracing.resume()
            self._cancel, self._armed = cancel_before, before
            if before:
                self.raise_deferred()

    def defer(self) -> None:
        """Keeps an interruption for the user's code that is about to begin."""
        self._deferred = True

    def raise_deferred(self) -> None:
        """Raises for a signal that came before the user's code began."""
        if self._deferred:
            self._deferred = False
            raise self._taken()

    def forget(self) -> None:
        """Drops what came after the user's code had ended."""
        self._deferred = False

    def swallowed(self) -> BaseException | None:
        """The last interruption, where it was caught by IPython or this package and not by code of the user's.

        A traceback begins with the frame that has caught the exception.
        """
        caught_in = traceback_of(self._last) if self._last is not None else None
        if caught_in is None or not is_machinery(caught_in.tb_frame.f_code.co_filename):
            return None
        return self._last

    def pass_on(self) -> None:
        """Raises the last interruption again where it was swallowed."""
        last = self.swallowed()
        if last is not None:
            raise last

    def done(self) -> None:
        """The code of the request has ended: lets go of what its frames hold."""
        self._last = None

    def _taken(self) -> BaseException:
        self.raised += 1
        self._last = KeyboardInterrupt()
        return self._last

    def runs_code(self) -> bool:
        """Whether code of a request, or a background task, may be running."""
        return self._armed or self.request_waits is not None

    def hits_user_code(self, frame: FrameType | None) -> bool:
        """Whether an exception that is raised in this frame now reaches code of the user's before any of ours."""
        if self._armed:
            return self._cancel is None or _runs_user_code(frame)
        return self.request_waits is not None and _runs_user_code(frame)

    def divert(self, error: BaseException, report: Callable[[BaseException], None]) -> None:
        """Ends the coroutine that is waited for with the error, or else reports that."""
        if self._armed and self._cancel not in (None, _forget):
            self._cancel(error)
        else:
            with suppress(BaseException):  # it runs code of the exception's and writes to the user's stream
                self.run(report, error)

    def handle(self, _number: int, frame: FrameType | None) -> None:
        """The handler."""
        prodded, self._prodding = self._prodding, False
        if self._armed:
            if prodded:
                return  # what the prod was for is over
            if self._cancel is None or _runs_user_code(frame):
                raise self._taken()
            self._cancel(self._taken())
        elif self.request_waits is None:
            self._deferred = True
        elif _runs_user_code(frame) and self.request_waits():
            self._interrupt_hog(prodded)

    def _interrupt_hog(self, prodded: bool) -> None:
        """Interrupts a background task that keeps the loop from reading the request that is meant, and then that.

        Not at once: a request that has just come will be read in a moment, and the task is none of its business.
        """
        if prodded:
            self._hog_timer, self._for_waiting = None, True
            raise KeyboardInterrupt
        if self._hog_timer is None:
            self._hog_timer = threading.Timer(_HOG_SECONDS, self._prod, (threading.get_ident(),))
            self._hog_timer.daemon = True
            self._hog_timer.start()

    def _prod(self, main_thread: int) -> None:
        """On a thread of its own: looks again whether the request still waits."""
        if self._hog_timer is not None:
            self._prodding = True
            signal.pthread_kill(main_thread, INTERRUPT)


def _forget(_: BaseException) -> None:
    """What comes between the user's methods concerns nobody."""


class _Tracing:
    """What user code traces with: it may raise, and sees no code but the user's."""

    def __init__(self) -> None:
        self._trace: Any = None
        self._profile: Any = None

    def pause(self) -> None:
        """Turns off what is on, and remembers it."""
        self._trace, self._profile = sys.gettrace(), sys.getprofile()
        if self._trace is not None:
            sys.settrace(None)
        if self._profile is not None:
            sys.setprofile(None)

    def resume(self) -> None:
        """Turns on again what was on."""
        if self._trace is not None:
            sys.settrace(self._trace)
        if self._profile is not None:
            sys.setprofile(self._profile)


def _runs_user_code(frame: FrameType | None) -> bool:
    """Whether a frame of anything but asyncio, IPython and this package is on the stack, down to who runs the loop."""
    while frame is not None:
        filename = frame.f_code.co_filename
        if filename in _LOOP_RUNNERS:
            return False
        if not filename.startswith(_ASYNCIO) and filename not in _LOOP_FILES and not is_machinery(filename):
            return True
        frame = frame.f_back
    return False
