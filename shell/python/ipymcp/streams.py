"""The standard streams and builtins that user code counts on, repaired before each request. Main thread.

stdout and stderr are line-buffered UTF-8 text over descriptors 1 and 2, whatever the locale is; nothing is buffered
below, because the embedding process sees all that is written there, and collects what is small. stdin reads
descriptor 0, which is `/dev/null`: only `input` and `getpass` can ask a person.
"""

from __future__ import annotations

import builtins
import getpass
import io
import os
import subprocess
import sys
from functools import wraps
from operator import is_
from typing import Any

from ipymcp.embedding import embedding
from ipymcp.prompts import NO_COMMANDS, make_getpass, make_input
from ipymcp.questions import Questions

# Objects of their own: user code may break the builtins themselves.
_all, _callable, _class, _isinstance, _map = all, callable, type, isinstance, map


class StandardStreams:
    """Our three streams, and the builtins as they were at the start."""

    def __init__(self, questions: Questions) -> None:
        self.questions = questions
        self._askers = builtins.input, getpass.getpass
        vars(builtins)["input"] = make_input(questions, self._is_our_stdin)
        vars(getpass)["getpass"] = make_getpass(questions, self._is_our_stdin)
        sys.breakpointhook = _no_debugger
        os.system = _system  # type: ignore[assignment]
        self._builtins = {name: value for name, value in vars(builtins).items() if value is not None}
        self._names, self._values = tuple(self._builtins), tuple(self._builtins.values())
        self._stdin = _open(0)
        self._stdout = _open(1)
        self._stderr = _open(2)
        self._flush_before_processes()

    def _flush_before_processes(self) -> None:
        """What is unfinished of a line comes before what a new process writes, and is in no child a second time.

        Not by an audit hook, which would make every look at a function's code slow.
        """
        os.register_at_fork(before=self.flush)
        for module, name in ((subprocess, "_fork_exec"), (os, "posix_spawn"), (os, "posix_spawnp")):
            start = getattr(module, name, None)
            if start is not None:
                setattr(module, name, self._flushed(start))

    def _flushed(self, start: Any) -> Any:
        @wraps(start)
        def flushed(*arguments: Any, **options: Any) -> Any:
            self.flush()
            return start(*arguments, **options)

        return flushed

    def _is_our_stdin(self, stream: Any) -> bool:
        return stream is self._stdin

    def restore(self) -> None:
        """Puts back what user code closed, replaced or deleted."""
        self._stdin = self._stdin if _usable(self._stdin, 0) else _open(0)
        self._stdout = self._stdout if _usable(self._stdout, 1) else _open(1)
        self._stderr = self._stderr if _usable(self._stderr, 2) else _open(2)
        sys.stdin = self._stdin
        sys.stdout = sys.__stdout__ = self._stdout  # type: ignore[misc]
        sys.stderr = sys.__stderr__ = self._stderr  # type: ignore[misc]
        sys.displayhook = sys.__displayhook__
        self.restore_builtins()

    def restore_builtins(self) -> None:
        """Puts back builtins that were deleted, or replaced by what cannot stand in for them.

        Itself it uses none, so that it works right after the code that did it.
        """
        present = builtins.__dict__
        # The usual case first, in C: this runs for each request.
        if _all(_map(is_, _map(present.get, self._names), self._values)):
            return
        for name, value in self._builtins.items():
            now = present.get(name)
            if now is not value and not _stands_in(now, value):
                present[name] = value

    def retire(self) -> None:
        """Takes back what asks a person, for what runs while the interpreter finalizes, and forgets it.

        It refers to the streams, which would outlive what a verbose interpreter tells of its end through them.
        """
        vars(builtins)["input"], vars(getpass)["getpass"] = self._askers
        self._builtins, self._names, self._values = {}, (), ()

    def flush(self) -> None:
        """Writes out what is buffered, in our streams and in those that user code put in their place. Never fails."""
        for owner, name in ((self, "_stdout"), (self, "_stderr"), (sys, "stdout"), (sys, "stderr")):
            try:
                getattr(owner, name).flush()
            except BaseException:  # noqa: S112 - a stream of the user's may raise anything
                continue


def _stands_in(replacement: object, original: object) -> bool:
    """Whether a builtin may be replaced so: a class by a class, a function by what can be called."""
    if _isinstance(original, _class):
        return _isinstance(replacement, _class)
    return _callable(replacement) or not _callable(original)


class TextIOWrapper(io.TextIOWrapper):
    """stdout. `collects` gives it a `write` of the embedding process's, until it is no longer what that is made for.

    Other streams of the class, which user code makes, have none of it.
    """

    __module__ = "_io"

    _collecting: Any = None

    def collects(self) -> None:
        if embedding is not None:
            self._collecting = self.write = embedding.collect(io.TextIOWrapper, self)  # type: ignore[method-assign]

    def close(self) -> None:
        self._give_up()
        super().close()

    def detach(self) -> Any:
        self._give_up()
        return super().detach()

    def reconfigure(self, **options: Any) -> None:
        self._give_up()
        super().reconfigure(**options)

    def _give_up(self) -> None:
        if vars(self).get("write", self) is self._collecting:
            del self.write


def _open(descriptor: int) -> Any:
    writable = descriptor > 0
    name = ("<stdin>", "<stdout>", "<stderr>")[descriptor]
    kind = TextIOWrapper if descriptor == 1 else io.TextIOWrapper
    try:
        raw = io.FileIO(descriptor, "w" if writable else "r", closefd=False)
    except OSError:  # closed by user code; the embedding process repairs it before a later request
        raw, kind = io.FileIO(os.devnull, "w" if writable else "r"), io.TextIOWrapper
    raw.name = name
    buffer: Any = raw if writable else io.BufferedReader(raw)
    stream = kind(buffer, "utf-8", "backslashreplace", line_buffering=writable)
    if isinstance(stream, TextIOWrapper):
        stream.collects()
    return stream


def _usable(stream: Any, descriptor: int) -> bool:
    own = vars(stream)  # where user code may hide methods; the `write` that collects is of C
    if "flush" in own or type(own.get("write", print)) is not type(print):
        return False
    try:
        return not stream.closed and stream.fileno() == descriptor and stream.encoding == "utf-8"
    except (ValueError, OSError, AttributeError):  # detached, or closed beneath
        return False


def _system(command: str | bytes | os.PathLike[str]) -> int:
    """Runs a command in a subshell and returns its wait status, as `os.system` does.

    C's own function waits for the command's end whatever signals come, so that nothing could interrupt it.
    """
    sys.audit("os.system", os.fsencode(command))
    status = subprocess.call(os.fsdecode(command), shell=True, close_fds=False)
    return -status if status < 0 else status << 8


def _no_debugger(*_arguments: object, **_options: object) -> None:
    """Raises at once: nobody could command a debugger."""
    if os.environ.get("PYTHONBREAKPOINT") != "0":
        raise EOFError(f"breakpoint() {NO_COMMANDS}")
