"""The `execute` operation: one cell, whose names stay, or go again with `persist: false`.

Main thread. SIGINT interrupts the cell, and what translating its value runs.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import nullcontext, suppress
from typing import Any

from ipymcp.errors import failure, refusal
from ipymcp.kernel import Answer, Kernel
from ipymcp.limits import Limits
from ipymcp.raised import is_a, traceback_of
from ipymcp.scratchruns import ScratchRun
from ipymcp.text import cut
from ipymcp.translation import NotJsonError, opaque, translate
from ipymcp.typenames import class_name, qualified_name

# What compiling code raises; anything else before the code runs comes from what user code has hooked into IPython.
_COMPILE_ERRORS = (SyntaxError, ValueError, OverflowError, MemoryError)


def blank() -> Answer:
    """The answer of an execution that did nothing."""
    truncated = dict.fromkeys(("result", "display_data", "traceback", "items"), False)
    return {
        "ok": False,
        "execution_count": None,
        "result": None,
        "display_data": [],
        "error": None,
        "truncated": truncated,
    }


def execute(kernel: Kernel, args: dict[str, Any]) -> Answer:
    """Runs a cell and answers with its value, what it displayed and how it failed."""
    answer = blank()
    code = args.get("code")
    if not isinstance(code, str) or not code.strip():
        answer["error"] = refusal("invalid_code", "the code is empty; send at least one statement", kernel.limits)
        return answer
    kernel.count += 1
    answer["execution_count"] = kernel.count
    with nullcontext() if args.get("persist", True) else ScratchRun(kernel.shell):
        _run(kernel, code, answer)
    kernel.shell.lifetimes.note_bound(kernel.namespace)
    return answer


def _run(kernel: Kernel, code: str, answer: Answer) -> None:
    error, value = run_cell(kernel, code)
    bundles, collected = kernel.shell.display_pub.end()
    truncated = answer["truncated"]
    answer["display_data"] = bundles
    truncated["display_data"], truncated["items"] = collected.cut or collected.omitted, collected.omitted
    if error is None:
        answer["ok"] = True
        answer["result"], truncated["result"] = _result(kernel, value)
    else:
        answer["error"] = error
        truncated["traceback"] = error["traceback_truncated"]


def run_cell(kernel: Kernel, code: str) -> tuple[Answer | None, Any]:
    """Runs a cell; the error it ended with, or else its value."""
    shell = kernel.shell
    shell.begin(kernel.count)
    kernel.event_loop.ended_by = None
    try:
        result = shell.run_cell(code, store_history=True)
    except BaseException as error:  # IPython's own code met something that the user's had broken
        kernel.streams.restore_builtins()
        return _report(kernel, "execution_error", error), None
    kernel.streams.restore_builtins()
    kernel.interrupts.forget()
    early, late = result.error_before_exec, _interruption(kernel, result.error_in_exec)
    if early is not None and is_a(early, *_COMPILE_ERRORS):
        return _report(kernel, "syntax_error", _of_the_cell(early, kernel.count)), None
    ended_by = early or late or next((error for error, ends in reversed(shell.shown) if ends), None)
    if ended_by is not None:
        return _report(kernel, "execution_error", ended_by), None
    _print_others(kernel, None)
    return None, result.result


def _of_the_cell(error: BaseException, number: int) -> BaseException:
    """The error without the frames of the compiler, and of IPython's tokenizer, which knows no name of the cell."""
    if isinstance(error, SyntaxError) and error.filename in ("<string>", "<unknown>", "<tokenize>"):
        error.filename = f"Cell [{number}]"
    return error.with_traceback(None)


def _interruption(kernel: Kernel, error: BaseException | None) -> BaseException | None:
    reason = kernel.event_loop.ended_by
    if error is not None and is_a(error, asyncio.CancelledError) and reason is not None:
        return reason.with_traceback(traceback_of(error))
    return error


def _report(kernel: Kernel, code: str, error: BaseException) -> Answer:
    # What an exception says of itself may be code of the user's.
    try:
        _print_others(kernel, error)
        return kernel.interrupts.run(failure, code, error, kernel.limits, "", kernel.shell.hint(error))
    except BaseException as failed:  # interrupted, or out of memory, in the middle of that
        message = f"{class_name(type(error))}, which could not be described: {class_name(type(failed))}"
        return refusal(code, message, kernel.limits, error)


def _print_others(kernel: Kernel, error: BaseException | None) -> None:
    """IPython shows some failures and goes on (a rich representation that raises): they belong into stderr."""
    for other, ends in kernel.shell.shown:
        if not ends and other is not error:
            with suppress(BaseException):  # what it says of itself is user code
                print(kernel.shell.text_of(other), file=sys.stderr)


def _result(kernel: Kernel, value: Any) -> tuple[Any, bool]:
    if value is None:
        return None, False
    try:
        return kernel.interrupts.run(_translated, value, kernel.limits)
    except BaseException as error:  # interrupted, or out of memory, in our own code
        return {
            "json_compatible": False,
            "type": cut(qualified_name(type(value)), kernel.limits.text_chars)[0],
            "representation": f"<{class_name(type(value))} repr failed: {class_name(type(error))}>",
        }, True


def _translated(value: Any, limits: Limits) -> tuple[Any, bool]:
    try:
        return translate(value, limits)
    except NotJsonError:
        return opaque(value, limits), True
