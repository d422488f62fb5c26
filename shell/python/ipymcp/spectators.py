"""Audit hooks and monitoring callbacks of user code, and other threads, keep to user code. Main thread.

A hook can never be taken away again, and CPython asks it about nearly everything; a callback of `sys.monitoring` is
told of every line, ours included. Both are wrapped on their way in.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from ipymcp.frames import is_library, is_machinery
from ipymcp.interrupts import Interrupts
from ipymcp.raised import traceback_of

_LONGEST = 0.1  # seconds that a thread may keep the GIL


def guard(interrupts: Interrupts) -> None:
    """Wraps what hooks and callbacks there will be. Call it once."""
    add = sys.addaudithook
    vars(sys)["addaudithook"] = functools.wraps(add)(lambda hook: add(_guarded_hook(hook, interrupts)))
    set_interval = sys.setswitchinterval
    # Another thread may keep the main thread waiting for so long that nothing could even be interrupted.
    vars(sys)["setswitchinterval"] = functools.wraps(set_interval)(
        lambda interval: set_interval(min(interval, _LONGEST))
    )
    if sys.version_info < (3, 12):
        return
    register = sys.monitoring.register_callback
    callbacks: dict[tuple[int, int], Any] = {}  # what user code believes

    def register_callback(tool_id: int, event: int, func: Any) -> Any:
        # As with `sys.settrace`, the first exception is the last.
        stop = functools.partial(sys.monitoring.set_events, tool_id, 0)
        register(tool_id, event, _guarded_callback(func, interrupts, stop) if _is_own(func) else func)
        before = callbacks.get((tool_id, event))
        callbacks[tool_id, event] = func
        return before

    vars(sys.monitoring)["register_callback"] = functools.wraps(register)(register_callback)


def _guarded_hook(hook: Callable[[str, tuple[Any, ...]], Any], interrupts: Interrupts) -> Callable[..., None]:
    asked = False  # CPython asks about what we look at as well

    def guarded(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal asked
        if asked:
            return
        try:
            hook(event, arguments)
        except BaseException as error:  # a hook may raise anything
            asked = True
            try:
                counts = _counts(error, interrupts)
            finally:
                asked = False
            if counts:
                raise

    return guarded


def _guarded_callback(
    callback: Callable[..., Any], interrupts: Interrupts, stop: Callable[[], object]
) -> Callable[..., Any]:
    def guarded(*arguments: Any) -> Any:
        try:
            return callback(*arguments)
        except BaseException as error:  # the same
            if _counts(error, interrupts):
                stop()
                raise
            return None

    return guarded


def _is_own(callback: Any) -> bool:
    """Whether it is the user's own; those of debuggers look at the frame above theirs, and can do without us."""
    code = getattr(callback, "__code__", None)
    return type(code) is CodeType and not is_library(code.co_filename)


def _counts(error: BaseException, interrupts: Interrupts) -> bool:
    """Whether an exception, which has come as far as to who calls this, interferes with code of the user's."""
    traceback = traceback_of(error)
    return traceback is not None and interrupts.runs_code() and _asks(traceback.tb_frame.f_back)


def _asks(frame: FrameType | None) -> bool:
    """Whether the innermost code that is no library's is the user's."""
    while frame is not None:
        filename = frame.f_code.co_filename
        if is_machinery(filename):
            return False
        if not is_library(filename):
            return True
        frame = frame.f_back
    return False
