"""The sources of cells for tracebacks and `inspect`: of the last ones, and of older ones while code of theirs lives.

Main thread. Functions outlive their cell by far, and a session defines the same ones again and again.
"""

from __future__ import annotations

import linecache
from collections import deque
from collections.abc import Iterator
from types import CodeType
from typing import Any
from weakref import ref

# Cells whose source is kept in any case.
_KEPT = 1000
DEFINES = ("def ", "class ", "lambda")


class Sources:
    """Knows the entries of cells in `linecache` by their names; `names` is IPython's table of them."""

    def __init__(self, names: dict[str, Any]) -> None:
        self._names = names
        self._recent: deque[str] = deque()
        self._old: deque[str] = deque()
        # The code of functions and class bodies that the cells hold.
        self._code: dict[str, list[ref[CodeType]]] = {}

    def add(self, name: str) -> None:
        """A cell of this name is about to be compiled; what may go of older ones does."""
        if self._recent and self._recent[-1] == name:
            return
        self._recent.append(name)
        if len(self._recent) > _KEPT:
            self._old.append(self._recent.popleft())
        # Two for each that comes, so that none waits for ever however many are kept.
        for _ in range(min(2, len(self._old))):
            self._look_at(self._old.popleft())

    def note(self, name: str, code: CodeType) -> None:
        """Code of that cell has been compiled."""
        inner = [ref(each) for each in _within(code)]
        if inner:
            self._code.setdefault(name, []).extend(inner)

    def _look_at(self, name: str) -> None:
        if any(code() is not None for code in self._code.get(name, ())):
            self._old.append(name)
            return
        self._code.pop(name, None)
        self._names.pop(name, None)
        linecache.cache.pop(name, None)


def _within(code: CodeType) -> Iterator[CodeType]:
    """The code of what is defined in code, at any depth."""
    waiting = [code]
    while waiting:
        for constant in waiting.pop().co_consts:
            if type(constant) is CodeType:
                yield constant
                waiting.append(constant)
