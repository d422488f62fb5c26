"""Signal handlers of user code: they run wherever Python notices a signal, and raise into user code alone.

Main thread. Python runs handlers between any two instructions of the main thread, also where this package reads a
request or writes a reply. `signal.signal` and `signal.getsignal` are replaced so that a handler is wrapped on its way
in, and taken out again where user code asks for it. What a wrapped handler raises outside of user code is printed and
goes no further. The signal that interrupts requests cannot be taken away: setting a handler for it does nothing.
"""

from __future__ import annotations

import functools
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from ipymcp.interrupts import INTERRUPT, Interrupts

Handler = Callable[[int, FrameType | None], Any]

_set, _get = signal.signal, signal.getsignal


class _Guarded:
    """A handler of user code, as Python gets it."""

    __slots__ = ("_interrupts", "handler")

    def __init__(self, handler: Handler, interrupts: Interrupts) -> None:
        self.handler = handler
        self._interrupts = interrupts

    def __call__(self, number: int, frame: FrameType | None) -> None:
        interrupts = self._interrupts
        if self.handler is signal.default_int_handler:
            interrupts.handle(number, frame)
        elif interrupts.hits_user_code(frame):
            self.handler(number, frame)
        else:
            try:
                interrupts.run(self.handler, number, frame)
            except KeyboardInterrupt:
                pass  # an interruption of the handler
            except BaseException as error:  # a handler may raise anything
                interrupts.divert(error, _report)


def guard(interrupts: Interrupts) -> None:
    """Wraps what handlers there are and will be. Call it once."""
    inherited = _get(signal.SIGINT)
    if callable(inherited):
        _set(signal.SIGINT, _Guarded(inherited, interrupts))
    own: dict[int, Any] = {INTERRUPT: signal.SIG_DFL}  # what user code believes

    def set_handler(signalnum: Any, handler: Any) -> Any:
        if signalnum == INTERRUPT:
            before, own[INTERRUPT] = own[INTERRUPT], handler
            return before
        return _unwrapped(_set(signalnum, _Guarded(handler, interrupts) if callable(handler) else handler))

    def get_handler(signalnum: Any) -> Any:
        return own[INTERRUPT] if signalnum == INTERRUPT else _unwrapped(_get(signalnum))

    vars(signal)["signal"] = functools.wraps(_set)(set_handler)
    vars(signal)["getsignal"] = functools.wraps(_get)(get_handler)


def _unwrapped(handler: Any) -> Any:
    return handler.handler if type(handler) is _Guarded else handler


def _report(error: BaseException) -> None:
    from ipymcp.tracebacks import format_traceback

    print("exception ignored in a signal handler:\n" + format_traceback(error, 2000)[0], file=sys.stderr)
