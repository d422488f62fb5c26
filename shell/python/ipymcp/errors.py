"""The `error` objects of answers, as the client contract names their fields. Main thread."""

from __future__ import annotations

from typing import Any

from ipymcp import frames
from ipymcp.limits import Limits
from ipymcp.raised import is_a, slot, traceback_of
from ipymcp.text import cut
from ipymcp.tracebacks import format_traceback, message_of
from ipymcp.typenames import class_name

Fields = dict[str, Any]


def refusal(code: str, message: str, limits: Limits, cause: BaseException | None = None) -> Fields:
    """An error that no user code raised, or whose exception (`cause`) only names the reason."""
    text, was_cut = cut(message, limits.text_chars)
    return _fields(code, text, was_cut) | {"error_type": None if cause is None else class_name(type(cause))}


def failure(code: str, error: BaseException, limits: Limits, about: str = "", hint: str = "") -> Fields:
    """An error that user code raised, with its traceback.

    `about` goes before the exception's own words, `hint` behind the traceback.
    """
    said, said_cut = message_of(error, limits.text_chars)
    text, was_cut = cut(about + _explain(error, said), limits.text_chars)
    fields = _fields(code, text, said_cut or was_cut)
    fields["error_type"] = class_name(type(error))
    fields["location"], fields["location_truncated"] = _location(error, limits)
    fields["traceback"], fields["traceback_truncated"] = _traceback(error, limits, hint)
    return fields


def _fields(code: str, message: str, message_truncated: bool) -> Fields:
    return {
        "code": code,
        "message": message,
        "error_type": None,
        "location": None,
        "traceback": None,
        "retryable": False,
        "retry_after_seconds": None,
        "message_truncated": message_truncated,
        "location_truncated": False,
        "traceback_truncated": False,
    }


def _explain(error: BaseException, said: str) -> str:
    """The message in full words where the exception alone does not say what happened."""
    if is_a(error, SystemExit):
        with_status = "" if slot(error, "code", SystemExit) is None else f" with {said}"
        return f"the code asked to exit{with_status}; the server and the namespace live on"
    if is_a(error, KeyboardInterrupt):
        return "the code was interrupted; the namespace keeps what it had done" + (
            "" if not slot(error, "args") else f": {said}"
        )
    if class_name(type(error)) == "BdbQuit":
        return "the debugger ended at once: there is no terminal to read its commands from"
    return said


def _location(error: BaseException, limits: Limits) -> tuple[Fields | None, bool]:
    try:
        found = _syntax_location(error) or frames.location(traceback_of(error))
    except BaseException:  # attributes of an exception are the user's and may raise anything
        return None, False
    if found is None:
        return None, False
    found["filename"], was_cut = cut(found["filename"], limits.text_chars)
    return found, was_cut


def _syntax_location(error: BaseException) -> Fields | None:
    if not is_a(error, SyntaxError):
        return None
    filename, line, column = (slot(error, name, SyntaxError) for name in ("filename", "lineno", "offset"))
    if type(filename) is not str:
        return None
    return {
        "line": line if type(line) is int else None,
        "column": column if type(column) is int and column > 0 else None,
        "filename": filename,
    }


def _traceback(error: BaseException, limits: Limits, hint: str) -> tuple[str | None, bool]:
    try:
        return format_traceback(error, limits.traceback_chars, hint)
    except BaseException as failed:  # the same: notes, groups and causes are the user's
        return f"<traceback failed: {class_name(type(failed))}>", False
