"""Many plain functions compared with what they were, all at once. Main thread; runs no code of the user's.

What `Snapshot.holds` does for one, with loops that run in C: an operation that changed nothing should not become slower
because a hundred tools are registered.
"""

from __future__ import annotations

from itertools import chain
from operator import is_
from typing import Any

from ipymcp.embedding import embedding
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
        self._items = list(chain.from_iterable(map(_flat_items, self._annotations)))

    def holds(self, namespace: dict[Any, Any]) -> bool:
        """Whether all of the names are still bound to the same functions, and these are as they were."""
        now = [namespace.get(symbol, MISSING) for symbol in self._symbols]
        return (
            all(map(is_, now, self._functions))
            and _are_unchanged(self._functions, self._parts, self._annotations, self._items)
            and not any(self._attributes)
        )


def _flat_items(annotations: dict[str, Any]) -> list[Any]:
    return list(chain.from_iterable(annotations.items()))


def _are_unchanged(functions: list[Any], parts: list[Any], annotations: list[dict[str, Any]], items: list[Any]) -> bool:
    """What the embedding process's function of that name says, which takes a tenth of the time."""
    if embedding is not None:
        return embedding.are_unchanged(functions, parts, annotations, items)
    now = list(chain.from_iterable(map(_flat_items, annotations)))
    return (
        all(map(is_, chain.from_iterable(map(function_parts, functions)), parts))
        and len(now) == len(items)
        and all(map(is_, now, items))
    )
