"""Walks a traceback without ever building a stack summary: a million frames cost a list walk. Main thread.

A frame counts as the user's unless its file belongs to this package or to IPython. Only the first and the last `KEPT`
places of a traceback are kept; the same place many times in a row counts as one.
"""

from __future__ import annotations

import importlib
import linecache
import os
import sys
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice
from types import CodeType, TracebackType
from typing import Any

# Places kept at each end of one traceback.
KEPT = 20
# Frames looked at from each end; those between are only counted.
_WINDOW = 1000
_IMPORTLIB = os.path.dirname(importlib.__file__) + os.sep
_OUR_DIRECTORY = os.path.dirname(os.path.abspath(__file__)) + os.sep


@dataclass(slots=True)
class Place:
    """One line of one code object, entered `times` times in a row."""

    code: CodeType
    line: int | None
    instruction: int
    times: int = 1


@dataclass(slots=True)
class Walk:
    """What is kept of one traceback, outermost first; `omitted` frames lie between `head` and `tail`."""

    head: list[Place]
    tail: deque[Place]
    omitted: int


def walk(traceback: TracebackType | None) -> Walk:
    """The user's places of a traceback."""
    found = Walk([], deque(), 0)
    total = _length(traceback)
    if total <= 2 * _WINDOW:
        _collect(found, traceback, total)
        return found
    _collect(found, traceback, _WINDOW)
    found.omitted += total - 2 * _WINDOW + sum(place.times for place in found.tail)
    found.tail.clear()
    _collect(found, _skip(traceback, total - _WINDOW), _WINDOW)
    return found


def _collect(found: Walk, traceback: TracebackType | None, count: int) -> None:
    last: Place | None = None
    for _ in range(count):
        if traceback is None:
            return
        code, line = traceback.tb_frame.f_code, traceback.tb_lineno
        if last is not None and last.code is code and last.line == line:
            last.times += 1
            last.instruction = traceback.tb_lasti
        elif not is_machinery(code.co_filename):
            last = Place(code, line, traceback.tb_lasti)
            _keep(found, last)
        traceback = traceback.tb_next


def _length(traceback: TracebackType | None) -> int:
    length = 0
    while traceback is not None:
        length += 1
        traceback = traceback.tb_next
    return length


def _skip(traceback: TracebackType | None, count: int) -> TracebackType | None:
    for _ in range(count):
        if traceback is not None:
            traceback = traceback.tb_next
    return traceback


def _keep(found: Walk, place: Place) -> None:
    if not found.omitted and len(found.head) < KEPT:
        found.head.append(place)
        return
    found.tail.append(place)
    if len(found.tail) > KEPT:
        found.omitted += found.tail.popleft().times


def innermost_globals(traceback: TracebackType | None) -> dict[str, Any] | None:
    """The globals of the innermost frame, whoever's it is."""
    if traceback is None:
        return None
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback.tb_frame.f_globals


def location(traceback: TracebackType | None) -> dict[str, Any] | None:
    """Line, column and file of the innermost place in code of the user's own, else of the innermost at all."""
    found = walk(traceback)
    places = [*found.head, *found.tail]
    if not places:
        return None
    own = (place for place in reversed(places) if not is_library(place.code.co_filename))
    place = next(own, places[-1])
    return {"line": place.line, "column": _column(place), "filename": place.code.co_filename}


def _column(place: Place) -> int | None:
    positions: Iterator[Any] = islice(place.code.co_positions(), place.instruction // 2, None)
    line, _, offset, _ = next(positions, (None, None, None, None))
    if offset is None:
        return None
    if line != place.line or line is None:
        return None
    source = linecache.getline(place.code.co_filename, line)
    # Offsets are in UTF-8 bytes, columns in characters.
    return len(source.encode("utf-8", "replace")[:offset].decode("utf-8", "replace")) + 1 if source else offset + 1


@cache
def is_machinery(filename: str) -> bool:
    """Whether the file is part of this package, of IPython or of the import system, or frozen, without source."""
    return filename.startswith((_OUR_DIRECTORY, "<frozen ", _IMPORTLIB, _ipython_directory()))


@cache
def is_library(filename: str) -> bool:
    """Whether the file belongs to Python or to an installed package."""
    beside_ipython = os.path.dirname(_ipython_directory().rstrip(os.sep)) + os.sep
    standard = os.path.dirname(os.__file__) + os.sep
    return f"{os.sep}site-packages{os.sep}" in filename or filename.startswith((standard, beside_ipython))


def _ipython_directory() -> str:
    # Asked of the spec's own origin: the module may not be imported yet, and may be replaced by user code.
    spec = getattr(sys.modules.get("IPython"), "__spec__", None)
    return os.path.dirname(spec.origin) + os.sep if spec and spec.origin else os.devnull + os.sep
