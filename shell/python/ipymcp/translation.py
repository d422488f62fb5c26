"""Translation of live values to JSON, deterministic and bounded. Main thread: it may run user code.

Exact rules are those of the client contract, section 2. Built-in containers are read through their built-in methods,
so that a subclass cannot lie about its contents; types are looked at, never `__class__`. Beside the contract's bounds
a translation has bounds of its own, so that shared or cyclic containers do not multiply: as many containers as two full
levels of them in a third, plus one for each level of depth; `results` times `text_chars` characters of text; where one
is reached, what is left of the containers is cut and the value counts as truncated.
"""

from __future__ import annotations

import dataclasses
import math
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from heapq import nsmallest
from itertools import islice
from typing import Any

from ipymcp.limits import Limits
from ipymcp.representation import decimal_digits, representation
from ipymcp.text import cut
from ipymcp.typenames import bases, class_module, class_name, lookup, qualified_name

TOO_DEEP = "<maximum JSON depth reached>"


class NotJsonError(Exception):
    """The value, or something in it, has no JSON form."""


def translate(value: object, limits: Limits) -> tuple[Any, bool]:
    """The JSON form of a value, and whether something of it was cut. Raises `NotJsonError`."""
    translator = _Translator(limits)
    try:
        return translator.value(value, 0), translator.truncated
    except NotJsonError:
        raise
    except BaseException as error:  # user code may raise anything, SystemExit and KeyboardInterrupt included
        raise NotJsonError(class_name(type(error))) from error


def opaque(value: object, limits: Limits) -> dict[str, Any]:
    """What stands for a value that is not JSON."""
    return {
        "json_compatible": False,
        "type": cut(qualified_name(type(value)), limits.text_chars)[0],
        "representation": representation(value, limits.repr_chars)[0],
    }


class _Translator:
    """One translation: the flag and what is left of the two budgets."""

    def __init__(self, limits: Limits) -> None:
        self.truncated = False
        self._limits = limits
        self._containers_left = limits.results * (limits.results + 1) + limits.json_depth
        self._chars_left = limits.results * limits.text_chars

    def value(self, value: Any, depth: int) -> Any:
        cls = type(value)
        if value is None or cls is bool:
            return value
        if issubclass(cls, str):
            return self._text(value)
        if issubclass(cls, int):
            return self._integer(value)
        if issubclass(cls, float):
            return self._float(value)
        if _is_numpy_scalar(cls):
            return self._numpy_scalar(value)
        return self._container(value, cls, depth)

    def _text(self, value: str) -> str:
        allowed = max(min(self._limits.text_chars, self._chars_left), 1)
        text, was_cut = cut(str.__str__(value), allowed)
        self.truncated |= was_cut
        self._chars_left -= len(text)
        return text

    def _integer(self, value: int) -> int:
        number = int.__int__(value)
        digits, most = decimal_digits(number), self._limits.text_chars
        if digits > most + 1 or (digits >= most and abs(number) >= 10**most):
            raise NotJsonError(f"an int of about {digits} digits")
        self._chars_left -= digits
        return number

    @staticmethod
    def _float(value: float) -> float:
        number = float.__float__(value)
        if not math.isfinite(number):
            raise NotJsonError(repr(number))
        return number

    def _numpy_scalar(self, value: Any) -> Any:
        item = value.item()
        if type(item) is bool:
            return item
        if type(item) is int:
            return self._integer(item)
        if type(item) is float:
            return self._float(item)
        raise NotJsonError(qualified_name(type(value)))

    def _container(self, value: Any, cls: type, depth: int) -> Any:
        fields = _fields(value, cls)
        array = None if fields is not None else self._elements(value, cls)
        if fields is None and array is None:
            raise NotJsonError(qualified_name(cls))
        if depth >= self._limits.json_depth:
            self.truncated = True
            self._chars_left -= len(TOO_DEEP)
            return TOO_DEEP
        self._containers_left -= 1
        if fields is not None:
            return self._object(fields, depth)
        return [self.value(item, depth + 1) for item in self._bounded(array or ())]

    def _object(self, fields: Iterable[tuple[Any, Any]], depth: int) -> dict[str, Any]:
        translated: dict[str, Any] = {}
        for key, item in self._bounded(fields):
            if not issubclass(type(key), str):
                raise NotJsonError(f"a key of type {qualified_name(type(key))}")
            translated[self._text(key)] = self.value(item, depth + 1)
        return translated

    def _elements(self, value: Any, cls: type) -> Iterable[Any] | None:
        for kind in (list, tuple):
            if issubclass(cls, kind):
                return kind.__iter__(value)
        for unordered in (set, frozenset):
            if issubclass(cls, unordered):
                return nsmallest(self._limits.results + 1, unordered.__iter__(value), key=self._order)
        return None

    def _order(self, item: object) -> tuple[str, str, str]:
        cls = type(item)
        module = class_module(cls)
        return module, qualified_name(cls)[len(module) :], representation(item, self._limits.repr_chars)[0]

    def _bounded(self, items: Iterable[Any]) -> Iterable[Any]:
        # A copy first: translating an item runs user code, which may change the container.
        chosen = list(islice(items, self._limits.results + 1))
        for index, item in enumerate(chosen):
            if index == self._limits.results or self._containers_left <= 0 or self._chars_left <= 0:
                self.truncated = True
                return
            yield item


def _fields(value: Any, cls: type) -> Iterable[tuple[Any, Any]] | None:
    """Keys and values of what becomes a JSON object; None for everything else."""
    if issubclass(cls, OrderedDict):
        return OrderedDict.items(value)
    if issubclass(cls, dict):
        return dict.items(value)
    if lookup(cls, "__dataclass_fields__") is not None:
        return ((field.name, getattr(value, field.name)) for field in dataclasses.fields(value))
    if callable(lookup(cls, "model_dump")):
        dumped = value.model_dump()
        if type(dumped) is cls:
            raise NotJsonError(f"{qualified_name(cls)}.model_dump() gives no mapping")
        inner = _fields(dumped, type(dumped))
        if inner is None:
            raise NotJsonError(f"{qualified_name(cls)}.model_dump() gives no mapping")
        return inner
    if Mapping in bases(cls) or issubclass(cls, Mapping):
        return ((key, value[key]) for key in value)
    return None


def _is_numpy_scalar(cls: type) -> bool:
    return any(class_module(base) == "numpy" and class_name(base) == "generic" for base in bases(cls))
