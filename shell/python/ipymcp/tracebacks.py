"""Plain tracebacks, bounded while they are built: no colours, only the user's frames.

Main thread: it runs `__str__` of exceptions. The form is CPython's own, less the carets: chained causes oldest first,
notes, exception groups as trees. What is bounded: places per traceback (`frames.KEPT` at each end), exceptions per
chain, width and depth of groups, characters per piece.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from itertools import islice
from linecache import checkcache, getline

from ipymcp import frames
from ipymcp.text import cut, head_and_tail, plain
from ipymcp.typenames import class_module, class_name, qualified_name

# Exceptions kept at each end of a chain; longer chains are walked, not written.
_CHAIN_KEPT = 5
_GROUP_WIDTH = 15
_GROUP_DEPTH = 5
_LINE_CHARS = 400
_CAUSE = "\nThe above exception was the direct cause of the following exception:\n\n"
_CONTEXT = "\nDuring handling of the above exception, another exception occurred:\n\n"


def format_traceback(error: BaseException, limit: int) -> tuple[str, bool]:
    """The traceback in at most `limit` characters around a marker line; and whether something was cut."""
    return head_and_tail("".join(_chain(error, limit, 0)).rstrip("\n"), limit)


def message_of(error: BaseException, limit: int) -> tuple[str, bool]:
    """What an exception says of itself, its class's name where that is nothing; never raises."""
    try:
        said = error.msg if isinstance(error, SyntaxError) and type(error.msg) is str else str(error)
        text = plain(str.__str__(said))
    except BaseException as failure:  # user code may raise anything, SystemExit and KeyboardInterrupt included
        return cut(f"<{class_name(type(error))} str failed: {class_name(type(failure))}>", limit)
    return cut(text or class_name(type(error)), limit)


def _chain(error: BaseException, limit: int, depth: int) -> Iterator[str]:
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
            yield f"\n… {omitted} exceptions of the chain omitted …\n\n"
        yield from _single(link, limit, depth)
        yield after


def _previous(error: BaseException) -> tuple[BaseException | None, str]:
    if error.__cause__ is not None:
        return error.__cause__, _CAUSE
    if error.__suppress_context__:
        return None, ""
    return error.__context__, _CONTEXT


def _single(error: BaseException, limit: int, depth: int) -> Iterator[str]:
    found = frames.walk(error.__traceback__)
    if found.head:
        yield "Traceback (most recent call last):\n"
    for place in found.head:
        yield from _place(place)
    if found.omitted:
        yield f"  … {found.omitted} frames omitted …\n"
    for place in found.tail:
        yield from _place(place)
    yield from _exception_only(error, limit)
    if isinstance(error, BaseExceptionGroup):
        yield from _members(error, limit, depth)


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
    if isinstance(error, SyntaxError) and type(error.filename) is str:
        yield from _syntax_error(error, limit)
    else:
        name = class_name(cls) if class_module(cls) in ("builtins", "__main__") else qualified_name(cls)
        text, _ = message_of(error, limit)
        yield f"{name}\n" if text == class_name(cls) else f"{name}: {text}\n"
    notes = getattr(error, "__notes__", None)
    if isinstance(notes, (list, tuple)):
        yield from (
            f"{cut(plain(str.__str__(note)), limit)[0]}\n" for note in notes[:_GROUP_WIDTH] if isinstance(note, str)
        )


def _syntax_error(error: SyntaxError, limit: int) -> Iterator[str]:
    kinds = (kind for kind in (TabError, IndentationError, SyntaxError) if isinstance(error, kind))
    # A copy without its chain: the standard formatter would summarise every traceback of it.
    text = error.text if type(error.text) is str else getline(str(error.filename), error.lineno or 0)
    source = plain(text[:_LINE_CHARS]) or None
    where = (error.filename, error.lineno, error.offset, source, error.end_lineno, error.end_offset)
    copy = next(kinds)(cut(plain(str(error.msg)), limit)[0], where)
    yield from traceback.format_exception_only(copy)


def _members(group: BaseExceptionGroup[BaseException], limit: int, depth: int) -> Iterator[str]:
    if depth >= _GROUP_DEPTH:
        yield f"  … {len(group.exceptions)} exceptions omitted …\n"
        return
    for number, member in enumerate(islice(group.exceptions, _GROUP_WIDTH), start=1):
        yield f"  +---------------- {number} ----------------\n"
        for piece in _chain(member, limit, depth + 1):
            yield from (f"  | {line}\n" for line in piece.splitlines())
    if len(group.exceptions) > _GROUP_WIDTH:
        yield f"  … {len(group.exceptions) - _GROUP_WIDTH} exceptions omitted …\n"
    yield "  +------------------------------------\n"
