"""`input` and `getpass` of user code: they ask a person through the client. Main thread; elsewhere they raise at once.

The prompt is printed as at a terminal, and the line ends with the answer, which itself is never printed. Where user
code has put a stream of its own in the place of `sys.stdin`, they read from that, as CPython does.
"""

from __future__ import annotations

import builtins
import functools
import getpass
import sys
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any, NamedTuple

from ipymcp.questions import Questions, UnansweredError

# Why nothing that is commanded from a terminal can open, and what to do instead.
NO_COMMANDS = (
    "cannot open: this server has no terminal to read its commands from; print the values instead, "
    "or look at sys.last_value, the last error, and the frames of its traceback"
)
_NO_PROMPT: Any = object()


def make_input(questions: Questions, is_ours: Callable[[Any], bool]) -> Callable[..., str]:
    """What takes the place of `builtins.input`; `is_ours` tells our own `sys.stdin` from one of the user's."""
    plain = builtins.input

    @functools.wraps(plain)
    def ask(prompt: object = _NO_PROMPT, /) -> str:
        given = () if prompt is _NO_PROMPT else (prompt,)
        streams = [getattr(sys, name, None) for name in ("stdin", "stdout", "stderr")]
        if None in streams or not is_ours(streams[0]):
            return plain(*given)
        caller = sys._getframe(1)
        wants = _prompt_of(caller)
        if wants:
            raise RuntimeError(f"{wants} {NO_COMMANDS}")
        sys.audit("builtins.input", *given or (None,))
        _flush(streams[2])
        # Such a loop takes the end of input for one more command.
        is_loop = caller.f_globals.get("__name__") == "cmd"
        asker = _Asker("Cmd.cmdloop", RuntimeError) if is_loop else _Asker("input", EOFError)
        answer = asker.ask(questions, str(*given), streams[1], secret=False)
        sys.audit("builtins.input/result", answer)
        return answer

    return ask


def make_getpass(questions: Questions, is_ours: Callable[[Any], bool]) -> Callable[..., str]:
    """The same for `getpass.getpass`."""
    plain = getpass.getpass

    @functools.wraps(plain)
    def ask(prompt: str = "Password: ", stream: Any = None, **options: Any) -> str:
        if not is_ours(getattr(sys, "stdin", None)):
            answer: str = getpass.fallback_getpass(prompt, stream, **options)  # type: ignore[attr-defined]
            return answer
        return _Asker("getpass", EOFError).ask(questions, prompt, stream or sys.stdout, secret=True)

    return ask


class _Asker(NamedTuple):
    """Who wants to ask, and what is raised where there is no answer."""

    function: str
    refusal: type[Exception]

    def ask(self, questions: Questions, prompt: str, stream: Any, *, secret: bool) -> str:
        questions.require(self.function, self.refusal)
        stream.write(prompt)
        _flush(stream)
        try:
            answer = questions.ask(prompt, secret=secret)
        except UnansweredError as error:
            raise questions.refused(self.refusal(f"{self.function}() {error}")) from None
        if prompt:
            stream.write("\n")
        return answer


def _flush(stream: Any) -> None:
    with suppress(Exception):  # as CPython's own input does
        stream.flush()


def _prompt_of(frame: FrameType) -> str:
    """What wants its next command, where the caller is one that needs a terminal and not a question for each."""
    caller = frame.f_globals.get("__name__")
    if caller == "code":
        return "the interactive console"
    debuggers = sys.modules.get("bdb")
    is_debugger = debuggers is not None and isinstance(frame.f_locals.get("self"), debuggers.Bdb)
    return "the debugger" if caller == "cmd" and is_debugger else ""
