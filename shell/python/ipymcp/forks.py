"""Forked children: they get normal signals back, lose the channel and never answer a request.

Runs in the child's only thread.
"""

from __future__ import annotations

import signal
import sys
import warnings
from contextlib import suppress

# By name: user code may replace what the module holds.
from os import _exit, getpid, register_at_fork
from typing import Any

from ipymcp.channel import Channel
from ipymcp.eventloop import EventLoop
from ipymcp.interrupts import default_handlers
from ipymcp.streams import StandardStreams


class ForkGuard:
    """Knows the server's process id."""

    def __init__(self, channel: Channel, event_loop: EventLoop, streams: StandardStreams) -> None:
        self._server = getpid()
        self._channel = channel
        self._event_loop = event_loop
        self._streams = streams
        register_at_fork(after_in_child=self._after_in_child)
        # CPython counts the embedding process's threads, which never hold a lock of Python's.
        warnings.filterwarnings("ignore", r"This process \(pid=\d+\) is multi-threaded", DeprecationWarning)

    def leave_if_child(self, error: dict[str, Any] | None) -> None:
        """Ends the process if it is a child that came back into our loop, with Python's own status."""
        if getpid() == self._server:
            return
        status = 0 if error is None else 1
        last = getattr(sys, "last_value", None)
        if error is not None and error.get("error_type") == "SystemExit" and isinstance(last, SystemExit):
            status = 0 if last.code is None else last.code if isinstance(last.code, int) else 1
        elif error is not None:
            print(error.get("traceback") or error.get("message"), file=sys.stderr)
        self._streams.flush()
        _exit(status & 0xFF)

    def _after_in_child(self) -> None:
        with suppress(ValueError):  # no signal handlers in a sub-interpreter
            signal.signal(signal.SIGINT, signal.default_int_handler)
            default_handlers()
        self._channel.abandon()
        self._event_loop.abandon()
