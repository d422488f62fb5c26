"""Names that are gone: what to tell a reader who still counts on them. Main thread; runs no user code."""

from __future__ import annotations

import builtins
import re
import time
from collections.abc import Iterable
from typing import Any

from ipymcp import frames
from ipymcp.raised import slot, traceback_of

# Executions in which an unknown name may be one of a process before this one.
_YOUNG = 5
# Names that resets removed that are remembered.
_REMEMBERED = 10_000
# How alike two names are (`difflib`'s ratio) that count as one and its misspelling.
_ALIKE = 0.8


class Lifetimes:
    """When the process and its resets were, and which names those removed."""

    def __init__(self) -> None:
        self._started = _clock()
        self._removed: dict[str, str] = {}

    def note_reset(self, removed: Iterable[Any], count: int) -> None:
        """Remembers a reset that happened when `count` executions had begun."""
        when = f"the reset at {_clock()} (execution count {count})"
        self._removed |= {str.__str__(name): when for name in removed if issubclass(type(name), str)}
        for name in list(self._removed)[:-_REMEMBERED]:
            del self._removed[name]

    def note_bound(self, namespace: dict[Any, Any]) -> None:
        """Forgets names that are bound again: what deletes them next is not the reset."""
        for name in self._removed.keys() & namespace.keys() if self._removed else ():
            del self._removed[name]

    def hint(self, error: BaseException, namespace: dict[Any, Any], cells: list[str]) -> str:
        """A sentence for a global name that is not there; empty where there is nothing to say.

        `cells` are those before the one that failed. A name is looked for in an earlier process only at the beginning
        of this one, and if no cell mentions it and nothing here resembles it.
        """
        name = slot(error, "name", NameError) if type(error) is NameError else None
        if type(name) is not str or slot(error, "args") != (f"name {name!r} is not defined",):
            return ""
        if name in namespace or frames.innermost_globals(traceback_of(error)) is not namespace:
            return ""
        if name in self._removed:
            return f"{name} was removed by {self._removed[name]}"
        if len(cells) >= _YOUNG or _mentioned(name, cells) or _resembles(name, namespace):
            return ""
        return f"this process started at {self._started} with an empty namespace: names of an earlier one are gone"


def _mentioned(name: str, cells: list[str]) -> bool:
    return any(re.search(rf"\b{re.escape(name)}\b", cell) for cell in cells)


def _resembles(name: str, namespace: dict[Any, Any]) -> bool:
    from difflib import get_close_matches

    known = [key for key in (*namespace, *vars(builtins)) if type(key) is str]
    return bool(get_close_matches(name, known, 1, _ALIKE))


def _clock() -> str:
    return time.strftime("%H:%M:%S")
