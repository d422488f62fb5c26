"""Snapshots of what decides a callable's signature, cheap to compare with what is there later. Main thread.

A snapshot holds references to the parts (code objects, annotations, defaults, attributes, entries of class
dictionaries) and compares by identity, which runs no code of the user's. It errs on one side only: parts that are
other objects are a difference, whatever they equal. A signature that is computed whenever it is asked for cannot be
compared like that, which makes the snapshot volatile: it never holds.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from operator import attrgetter, is_
from types import FunctionType
from typing import Any, NamedTuple

from ipymcp.callables import attributes
from ipymcp.resolving import MISSING, Lookup
from ipymcp.typenames import bases

function_parts = attrgetter("__code__", "__defaults__", "__kwdefaults__", "__annotations__", "__dict__")
_OF_OBJECTS = ("__signature__", "__wrapped__", "__text_signature__")
_OF_CLASSES = ("__new__", "__init__", "__signature__", "__text_signature__")
_GET_MRO: Any = type.__dict__["__mro__"].__get__


class FunctionParts(NamedTuple):
    """What decides the signature of a plain function; `bare` says that it has no attributes of its own."""

    function: Any
    parts: tuple[Any, ...]
    annotations: dict[str, Any]
    names: list[str]
    values: list[Any]
    bare: bool


class Snapshot:
    """The state of a chain of callables at the time of making, and of `lookups`."""

    __slots__ = ("_functions", "_lookups", "_probes", "volatile")

    def __init__(self, links: list[Any]) -> None:
        self.volatile = False
        self._functions: list[FunctionParts] = []
        self._lookups: list[Lookup] = []
        self._probes: list[tuple[Callable[[], list[Any]], list[Any]]] = []
        for link in links:
            self._add(link)

    def watch(self, lookups: list[Lookup]) -> None:
        """Adds places that have to keep what they hold."""
        self._lookups += lookups

    def function(self) -> FunctionParts | None:
        """The parts of the function, where the chain is nothing but one and has nothing unusual about it."""
        if self.volatile or self._lookups or self._probes or len(self._functions) != 1:
            return None
        return self._functions[0]

    def holds(self) -> bool:
        """Whether everything is as it was."""
        if self.volatile:
            return False
        for kept in self._functions:
            parts = function_parts(kept.function)
            if not all(map(is_, parts, kept.parts)) or (kept.bare and parts[-1]):
                return False
            if [*kept.annotations] != kept.names or not all(map(is_, kept.annotations.values(), kept.values)):
                return False
        for place, key, value in self._lookups:
            if place.get(key, MISSING) is not value:
                return False
        for probe, seen in self._probes:
            now = probe()
            if len(now) != len(seen) or not all(map(is_, now, seen)):
                return False
        return True

    def _add(self, link: Any) -> None:
        cls = type(link)
        if cls is FunctionType:
            self._add_function(link)
        elif issubclass(cls, type):
            self._add_class(link)
        else:
            self._add_object(link, cls)

    def _add_function(self, function: Any) -> None:
        try:
            code, defaults, keywords, annotations, own = function_parts(function)
        except BaseException:  # CPython 3.14 evaluates annotations when asked, and they may be anything
            self.volatile = True
            return
        parts = (code, defaults, keywords, annotations, own)
        names, values = [*annotations], [*annotations.values()]
        self._functions.append(FunctionParts(function, parts, annotations, names, values, not own))
        if keywords:
            self._probe(lambda: [*keywords, *keywords.values()])
        if own:
            self._lookups += [(own, key, own.get(key, MISSING)) for key in _OF_OBJECTS]

    def _add_class(self, cls: type) -> None:
        self._probe(lambda: [type(cls), _GET_MRO(cls), *cls.__bases__])
        for key in _OF_CLASSES:
            self._along(cls, key)
        self._along(type(cls), "__call__")
        self._check_signature(cls)

    def _add_object(self, value: Any, cls: type) -> None:
        if issubclass(cls, functools.partial):
            self._probe(lambda: [value.func, value.args, *value.args, *value.keywords, *value.keywords.values()])
        own = attributes(value)
        if type(own) is dict:
            self._probe(lambda: [type(value), attributes(value)])
            self._lookups += [(own, key, own.get(key, MISSING)) for key in _OF_OBJECTS]
        if cls.__module__ != "builtins":
            self._along(cls, "__call__")
            self._along(cls, "__signature__")
            self._check_signature(value)

    def _along(self, cls: type, key: str) -> None:
        """Watches a name in a class and its bases down to the one that has it."""
        for base in bases(cls):
            members = type.__getattribute__(base, "__dict__")
            value = members.get(key, MISSING)
            if base.__flags__ & _HEAP:  # the dictionaries of built-in classes do not change
                self._lookups.append((members, key, value))
            if value is not MISSING:
                return

    def _check_signature(self, value: Any) -> None:
        """A `__signature__` that is computed, by a descriptor or otherwise, may be another one every time."""
        try:
            first, second = getattr(value, "__signature__", None), getattr(value, "__signature__", None)
        except BaseException:  # attributes are the user's
            self.volatile = True
            return
        stored = any(first is seen for _, key, seen in self._lookups if key == "__signature__")
        self.volatile |= first is not None and (first is not second or not stored)

    def _probe(self, probe: Callable[[], list[Any]]) -> None:
        self._probes.append((probe, probe()))


# Set for classes that are made at run time, by a class statement or in C.
_HEAP = 1 << 9
