"""Many plain functions compared with what they were, all at once. Main thread; runs no code of the user's.

What `Snapshot.holds` does for one, with loops that run in C: an operation that changed nothing should not become slower
because a hundred tools are registered.
"""

from __future__ import annotations

from itertools import chain
from operator import is_
from typing import Any

from ipymcp.resolving import MISSING
from ipymcp.signatures import Description
from ipymcp.snapshots import function_parts


class Batch:
    """The plain functions among names and their descriptions; `others` are the names that it says nothing about."""

    def __init__(self, named: list[tuple[str, Description | None]]) -> None:
        self.others: list[str] = []
        self._symbols: list[str] = []
        functions = []
        for symbol, known in named:
            function = None if known is None or known.changeable else known.snapshot.function()
            if function is None or known is None or known.value is not function.function or not function.bare:
                self.others.append(symbol)
                continue
            self._symbols.append(symbol)
            functions.append(function)
        self._functions = [function.function for function in functions]
        self._parts = list(chain.from_iterable(function.parts for function in functions))
        self._attributes = [function.parts[-1] for function in functions]
        self._annotations = [function.annotations for function in functions]
        self._lengths = list(map(len, self._annotations))
        self._names = list(chain.from_iterable(self._annotations))
        self._values = list(chain.from_iterable(map(_values, self._annotations)))

    def holds(self, namespace: dict[Any, Any]) -> bool:
        """Whether all of the names are still bound to the same functions, and these are as they were."""
        now = [namespace.get(symbol, MISSING) for symbol in self._symbols]
        return (
            all(map(is_, now, self._functions))
            and all(map(is_, chain.from_iterable(map(function_parts, self._functions)), self._parts))
            and not any(self._attributes)
            and list(map(len, self._annotations)) == self._lengths
            and list(chain.from_iterable(self._annotations)) == self._names
            and all(map(is_, chain.from_iterable(map(_values, self._annotations)), self._values))
        )


_values = dict[str, Any].values
