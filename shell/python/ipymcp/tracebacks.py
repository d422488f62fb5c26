"""Plain tracebacks, bounded while they are built: no colours, only the user's frames.

Main thread: it runs `__str__` of exceptions. The form is CPython's own, less the carets: chained causes oldest first,
notes, exception groups as trees. What is bounded: places per traceback (`frames.KEPT` at each end), exceptions per
chain, width and depth of groups, exceptions in all, notes, characters per piece.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from linecache import checkcache, getline

from ipymcp import frames
from ipymcp.raised import is_a, notes_of, slot, traceback_of
from ipymcp.text import cut, head_and_tail, plain
from ipymcp.typenames import class_module, class_name, qualified_name

# Exceptions kept at each end of a chain; longer chains are walked, not written.
_CHAIN_KEPT = 5
_GROUP_WIDTH = 15
_GROUP_DEPTH = 5
# Exceptions written of all groups and chains together, but for the chain that the last of them stands in.
_EXCEPTIONS = 100
_NOTES = 15
_LINE_CHARS = 400
_CAUSE = "\nThe above exception was the direct cause of the following exception:\n\n"
_CONTEXT = "\nDuring handling of the above exception, another exception occurred:\n\n"


def format_traceback(error: BaseException, limit: int, hint: str = "") -> tuple[str, bool]:
    """The traceback, and a hint, in at most `limit` characters around a marker line; and whether something was cut."""
    return head_and_tail("".join((*_Writer(limit).chain(error), hint)).rstrip("\n"), limit)


def message_of(error: BaseException, limit: int) -> tuple[str, bool]:
    """What an exception says of itself, its class's name where that is nothing; never raises."""
    try:
        message = slot(error, "msg", SyntaxError) if is_a(error, SyntaxError) else None
        said = message if type(message) is str else str(error)
        text = plain(str.__str__(said))
    except BaseException as failure:  # user code may raise anything, SystemExit and KeyboardInterrupt included
        return cut(f"<{class_name(type(error))} str failed: {class_name(type(failure))}>", limit)
    return cut(text or class_name(type(error)), limit)


class _Writer:
    """Writes one exception with all that belongs to it."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._left = _EXCEPTIONS

    def chain(self, error: BaseException, depth: int = 0) -> Iterator[str]:
        newest: list[tuple[BaseException, str]] = []
        seen: set[int] = set()
        omitted = 0
        current: BaseException | None = error
        joint = ""
        while current is not None and id(current) not in seen:
            seen.add(id(current))
            newest.append((current, joint))
            if len(newest) > 2 * _CHAIN_KEPT:
                del newest[_CHAIN_KEPT]
                omitted += 1
            current, joint = _previous(current)
        for index in range(len(newest) - 1, -1, -1):
            link, after = newest[index]
            if omitted and index == _CHAIN_KEPT - 1:
                yield f"\n… {_count(omitted, 'exception')} of the chain omitted …\n\n"
            yield from self._single(link, depth)
            yield after

    def _single(self, error: BaseException, depth: int) -> Iterator[str]:
        self._left -= 1
        found = frames.walk(traceback_of(error))
        if found.head:
            yield "Traceback (most recent call last):\n"
        for place in found.head:
            yield from _place(place)
        if found.omitted:
            yield f"  … {_count(found.omitted, 'frame')} omitted …\n"
        for place in found.tail:
            yield from _place(place)
        yield from _exception_only(error, self._limit)
        if is_a(error, BaseExceptionGroup):
            yield from self._members(slot(error, "exceptions", BaseExceptionGroup), depth)

    def _members(self, members: tuple[BaseException, ...], depth: int) -> Iterator[str]:
        written = 0
        for member in members[: _GROUP_WIDTH if depth < _GROUP_DEPTH else 0]:
            if self._left <= 0:
                break
            written += 1
            yield f"  +---------------- {written} ----------------\n"
            for piece in self.chain(member, depth + 1):
                yield from (f"  | {line}\n" for line in piece.splitlines())
        if written < len(members):
            yield f"  … {_count(len(members) - written, 'exception')} omitted …\n"
        yield "  +------------------------------------\n"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _previous(error: BaseException) -> tuple[BaseException | None, str]:
    cause = slot(error, "__cause__")
    if cause is not None:
        return cause, _CAUSE
    if slot(error, "__suppress_context__"):
        return None, ""
    return slot(error, "__context__"), _CONTEXT


def _place(place: frames.Place) -> Iterator[str]:
    filename, line = place.code.co_filename, place.line
    yield f'  File "{filename}", line {line}, in {place.code.co_qualname}\n'
    checkcache(filename)
    source = getline(filename, line).strip() if line else ""
    if source:
        yield f"    {cut(plain(source), _LINE_CHARS)[0]}\n"
    if place.times > 1:
        yield f"  [the same line {place.times - 1} more times]\n"


def _exception_only(error: BaseException, limit: int) -> Iterator[str]:
    cls = type(error)
    if is_a(error, SyntaxError) and type(slot(error, "filename", SyntaxError)) is str:
        yield from _syntax_error(error, limit)
    else:
        name = class_name(cls) if class_module(cls) in ("builtins", "__main__") else qualified_name(cls)
        text, _ = message_of(error, limit)
        yield f"{name}\n" if text == class_name(cls) else f"{name}: {text}\n"
    yield from _notes(error, limit)


def _notes(error: BaseException, limit: int) -> Iterator[str]:
    notes = notes_of(error)
    for note in notes[:_NOTES]:
        try:
            text = str.__str__(note if issubclass(type(note), str) else str(note))
        except BaseException as failure:  # what a note says of itself is user code, too
            text = f"<note str failed: {class_name(type(failure))}>"
        yield f"{cut(plain(text), limit)[0]}\n"
    if len(notes) > _NOTES:
        yield f"… {_count(len(notes) - _NOTES, 'note')} omitted …\n"


def _syntax_error(error: BaseException, limit: int) -> Iterator[str]:
    kinds = (kind for kind in (TabError, IndentationError, SyntaxError) if is_a(error, kind))
    filename, line, offset, text, end_line, end_offset, message = (
        slot(error, name, SyntaxError)
        for name in ("filename", "lineno", "offset", "text", "end_lineno", "end_offset", "msg")
    )
    # A copy without its chain: the standard formatter would summarise every traceback of it.
    text = text if type(text) is str else getline(filename, line or 0)
    where = (filename, line, offset, plain(text[:_LINE_CHARS]) or None, end_line, end_offset)
    copy = next(kinds)(cut(plain(str(message)), limit)[0], where)
    yield from traceback.format_exception_only(copy)
