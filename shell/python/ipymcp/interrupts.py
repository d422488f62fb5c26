"""SIGINT: `KeyboardInterrupt` in the code of the running request, nothing at any other time. Main thread only.

The embedding process sends SIGINT to the main thread to interrupt a request. The handler raises only where user code
runs (`run`, `run_on_loop`), so that neither IPython nor asyncio is ever torn in the middle of its own work: a signal
that finds them before the user's code is kept for `raise_deferred`, one that finds the loop between callbacks cancels
the coroutine that is waited for, and one that comes after the code, or between requests, is forgotten.
"""

from __future__ import annotations

import asyncio
import os
import selectors
import signal
import threading
import weakref
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

from ipymcp.frames import is_machinery

T = TypeVar("T")

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
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is None:
            signal.signal(number, signal.SIG_DFL)


class Interrupts:
    """The handler and what it has to know.

    Arming and disarming are plain attribute stores on purpose: a call there could itself be where the signal is
    noticed, and would leave the handler armed.
    """

    def __init__(self) -> None:
        self._armed = False
        self._deferred = False
        self._cancel: Callable[[], None] | None = None
        self._hog_timer: threading.Timer | None = None
        self._prodding = False
        # Says whether a request waits to be read; looked at while background tasks run between requests.
        self.request_waits: Callable[[], bool] | None = None

    def install(self) -> None:
        """Makes this the handler, whatever user code made it; disarmed, with nothing deferred."""
        self._armed, self._cancel, self._hog_timer = False, None, None
        if signal.getsignal(signal.SIGINT) != self._handle:
            signal.signal(signal.SIGINT, self._handle)
        self._deferred = False
        # User code may have blocked it for this thread.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT,))

    def run(self, code: Callable[..., T], *arguments: Any) -> T:
        """Calls user code; within it, SIGINT raises."""
        before = self._armed
        self._armed = True
        try:
            return code(*arguments)
        finally:
            self._armed = before

    def run_on_loop(self, wait: Callable[[], T], cancel: Callable[[], None]) -> T:
        """Calls `wait`, which runs the loop; SIGINT raises in user code there, and calls `cancel` elsewhere."""
        before, cancel_before = self._armed, self._cancel
        self._cancel = cancel
        self._armed = True
        try:
            return wait()
        finally:
            self._armed = before
            self._cancel = cancel_before

    def raise_deferred(self) -> None:
        """Raises for a signal that came before the user's code began."""
        if self._deferred:
            self._deferred = False
            raise KeyboardInterrupt

    def forget(self) -> None:
        """Drops what came after the user's code had ended."""
        self._deferred = False

    def _handle(self, _number: int, frame: FrameType | None) -> None:
        prodded, self._prodding = self._prodding, False
        if self._armed:
            if prodded:
                return  # what the prod was for is over
            if self._cancel is None or _runs_user_code(frame):
                raise KeyboardInterrupt
            self._cancel()
        elif self.request_waits is None:
            self._deferred = True
        elif _runs_user_code(frame) and self.request_waits():
            self._interrupt_hog(prodded)

    def _interrupt_hog(self, prodded: bool) -> None:
        """Interrupts a background task that keeps the loop from reading the request that is to be interrupted.

        Not at once: a request that has just come will be read in a moment, and the task is none of its business.
        """
        if prodded:
            self._hog_timer = None
            raise KeyboardInterrupt
        if self._hog_timer is None:
            self._hog_timer = threading.Timer(_HOG_SECONDS, self._prod, (threading.get_ident(),))
            self._hog_timer.daemon = True
            self._hog_timer.start()

    def _prod(self, main_thread: int) -> None:
        """On a thread of its own: looks again whether the request still waits."""
        if self._hog_timer is not None:
            self._prodding = True
            signal.pthread_kill(main_thread, signal.SIGINT)


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
