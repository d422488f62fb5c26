"""The `execute` operation: one cell, whose names stay, or go again with `persist: false`.

Main thread. An interruption reaches the cell, and what showing its value and its figures runs.
"""

from __future__ import annotations

from asyncio import CancelledError
from typing import Any

from ipymcp.display import Displays
from ipymcp.errors import failure, refusal
from ipymcp.kernel import Answer, Kernel
from ipymcp.raised import is_a, traceback_of
from ipymcp.scratchruns import ScratchRun
from ipymcp.typenames import class_name
from ipymcp.values import result_of

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
    if args.get("persist", True):
        _run(kernel, code, answer)
    else:
        with ScratchRun(kernel.shell):
            _run(kernel, code, answer)
    kernel.interrupts.done()
    kernel.foundation.steady(_keep_books, kernel)
    return answer


def _keep_books(kernel: Kernel) -> None:
    kernel.shell.lifetimes.note_bound(kernel.namespace)
    kernel.leftovers.prune(kernel.namespace)


def _run(kernel: Kernel, code: str, answer: Answer) -> None:
    error, value = run_cell(kernel, code)
    # What shows a value may be what the cell has broken.
    kernel.foundation.steady(_complete, kernel, answer, error, value)


def _complete(kernel: Kernel, answer: Answer, error: Answer | None, value: Any) -> None:
    truncated = answer["truncated"]
    if error is None:
        answer["ok"] = True
        answer["result"], truncated["result"] = result_of(kernel, value)
        kernel.shell.print_shown()
    else:
        answer["error"] = error
        truncated["traceback"] = error["traceback_truncated"]
    displays: Displays = kernel.shell.display_pub.end()
    truncated["display_data"], truncated["items"] = displays.cut, displays.omitted
    answer.update(displays.answer())


def run_cell(kernel: Kernel, code: str) -> tuple[Answer | None, Any]:
    """Runs a cell; the error it ended with, or else its value."""
    try:
        result = kernel.foundation.attempt(_run_in_shell, kernel, code)
    except BaseException as error:  # IPython's own code met what the user's had broken
        kernel.streams.restore_builtins()
        return _report(kernel, "execution_error", error), None
    kernel.interrupts.forget()
    return kernel.foundation.steady(_outcome, kernel, result)


def _outcome(kernel: Kernel, result: Any) -> tuple[Answer | None, Any]:
    early, late = result.error_before_exec, _interruption(kernel, result.error_in_exec)
    if early is not None and is_a(early, *_COMPILE_ERRORS):
        return _report(kernel, "syntax_error", _of_the_cell(early, kernel.count)), None
    shown = next((error for error, ends in reversed(kernel.shell.shown) if ends), None)
    ended_by = early or late or shown or kernel.interrupts.swallowed()
    if ended_by is not None:
        return _report(kernel, "execution_error", ended_by), None
    return None, result.result


def _run_in_shell(kernel: Kernel, code: str) -> Any:
    """IPython's result of the cell; raises what kept it from running."""
    kernel.shell.begin(kernel.count)
    kernel.event_loop.ended_by = None
    result = kernel.shell.run_cell(code, store_history=True)
    error = result.error_before_exec or result.error_in_exec
    if error is None or kernel.foundation.committed or is_a(error, *_COMPILE_ERRORS, KeyboardInterrupt):
        return result
    raise error


def _of_the_cell(error: BaseException, number: int) -> BaseException:
    """The error without the frames of the compiler, and of IPython's tokenizer, which knows no name of the cell."""
    if isinstance(error, SyntaxError) and error.filename in ("<string>", "<unknown>", "<tokenize>"):
        error.filename = f"Cell [{number}]"
    return error.with_traceback(None)


def _interruption(kernel: Kernel, error: BaseException | None) -> BaseException | None:
    reason = kernel.event_loop.ended_by
    if error is not None and is_a(error, CancelledError) and reason is not None:
        return reason.with_traceback(traceback_of(error))
    return error


def _report(kernel: Kernel, code: str, error: BaseException) -> Answer:
    # What an exception says of itself may be code of the user's.
    try:
        kernel.shell.print_shown(error)
        return kernel.foundation.steady(kernel.interrupts.run, _failure, kernel, code, error)
    except BaseException as failed:  # interrupted, or out of memory, in the middle of that
        message = f"{class_name(type(error))}, which could not be described: {class_name(type(failed))}"
        return refusal(code, message, kernel.limits, error)


def _failure(kernel: Kernel, code: str, error: BaseException) -> Answer:
    hint = kernel.shell.hint(error) or kernel.foundation.hint(error)
    fields = failure(code, error, kernel.limits, "", hint)
    if fields["traceback"].startswith("<traceback failed") and kernel.foundation.mend():
        return failure(code, error, kernel.limits, "", hint)
    return fields
