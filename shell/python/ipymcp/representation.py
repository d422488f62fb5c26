"""Bounded representations: `repr` that stops when the bound is reached. Main thread: it may run user code.

Built-in containers, strings and integers are written piece by piece, so that a giant one costs no more than the
bound. Any other object's own `__repr__` is called, and its text cut and rid of colours. What a failing `__repr__`
raises never gets out of `representation`.
"""

from __future__ import annotations

import sys
from itertools import islice
from types import WrapperDescriptorType
from typing import Any

from ipymcp.raised import is_a
from ipymcp.text import cut, plain
from ipymcp.typenames import class_name, lookup

# Nesting below which a container is written as `...`: far from the recursion limit, deeper than anyone reads.
_MAX_DEPTH = 40
_DIGITS_PER_BIT = 0.30102999566398120


class ReprError(Exception):
    """An object's `__repr__` raised, or returned no string; `cause` is what it raised."""

    def __init__(self, value: object, cause: BaseException) -> None:
        super().__init__(f"<{class_name(type(value))} repr failed: {class_name(type(cause))}>")
        self.cause = cause


def representation(value: object, limit: int) -> tuple[str, bool]:
    """The representation in at most `limit` characters, a failure as `<T repr failed: E>`; and whether it was cut."""
    try:
        return represent(value, limit)
    except ReprError as error:
        return cut(str(error), limit)


def represent(value: object, limit: int) -> tuple[str, bool]:
    """Like `representation`, but raises `ReprError` where the value's own `__repr__` fails."""
    writer = _Writer(limit)
    writer.write(value, 0)
    return cut("".join(writer.pieces), limit)


def decimal_digits(value: int) -> int:
    """How many decimal digits the integer has, exact to one; never converts it."""
    return int(int.bit_length(value) * _DIGITS_PER_BIT) + 1


def decimal(value: int) -> str:
    """The integer in decimal, also beyond the interpreter's conversion limit. The caller bounds its size."""
    try:
        return int.__repr__(value)
    except ValueError:
        allowed = sys.get_int_max_str_digits()
        sys.set_int_max_str_digits(0)
        try:
            return int.__repr__(value)
        finally:
            sys.set_int_max_str_digits(allowed)


class _Writer:
    """Collects pieces until `left` characters are used up."""

    def __init__(self, limit: int) -> None:
        self.pieces: list[str] = []
        # One more than the limit, so that `cut` sees that there was more.
        self.left = limit + 1
        self._open: set[int] = set()

    def put(self, piece: str) -> None:
        self.pieces.append(piece[: self.left])
        self.left -= len(piece)

    def write(self, value: Any, depth: int) -> None:
        written_by = lookup(type(value), "__repr__")
        if type(written_by) is not WrapperDescriptorType:
            self.put(_own_repr(value))
        elif written_by is str.__repr__:
            self.put(repr(str.__getitem__(value, slice(0, max(self.left, 0)))))
        elif written_by is int.__repr__:
            self._write_integer(value)
        elif written_by in _CONTAINERS:
            self._write_container(value, _CONTAINERS[written_by], depth)
        elif written_by is bytes.__repr__:
            self.put(repr(bytes.__getitem__(value, slice(0, max(self.left, 0)))))
        else:
            self.put(_own_repr(value))

    def _write_integer(self, value: int) -> None:
        digits = decimal_digits(value)
        if digits > max(self.left, 0) + 2:
            self.put(f"<int of about {digits} digits>")
            return
        self.put(decimal(value))

    def _write_container(self, value: Any, form: tuple[type, str, str], depth: int) -> None:
        kind: Any
        kind, start, end = form
        if id(value) in self._open or depth > _MAX_DEPTH:
            self.put(f"{start}...{end}")
            return
        size = kind.__len__(value)
        if kind in (set, frozenset):
            start, end = self._set_form(type(value), kind, size)
        elif kind is tuple and size == 1:
            end = ",)"
        self._open.add(id(value))
        try:
            self.put(start)
            self._write_items(value, kind, depth)
            self.put(end)
        finally:
            self._open.discard(id(value))

    @staticmethod
    def _set_form(cls: type, kind: type, size: int) -> tuple[str, str]:
        if size == 0:
            return f"{class_name(cls)}(", ")"
        return ("{", "}") if cls is set and kind is set else (f"{class_name(cls)}({{", "})")

    def _write_items(self, value: Any, kind: Any, depth: int) -> None:
        items = kind.items(value) if kind is dict else kind.__iter__(value)
        # Every item writes at least one character. A copy first: its representation may change the container.
        for index, item in enumerate(list(islice(iter(items), max(self.left, 0)))):
            if self.left <= 0:
                return
            if index:
                self.put(", ")
            if kind is dict:
                self._write_nested(item[0], depth)
                self.put(": ")
                item = item[1]
            self._write_nested(item, depth)

    def _write_nested(self, value: object, depth: int) -> None:
        if self.left <= 0:
            return
        try:
            self.write(value, depth + 1)
        except ReprError as error:
            if is_a(error.cause, KeyboardInterrupt):
                raise  # whoever interrupts one item does not want to wait for the next
            self.put(str(error))


def _own_repr(value: object) -> str:
    try:
        text = repr(value)
    except BaseException as error:  # user code may raise anything, SystemExit and KeyboardInterrupt included
        raise ReprError(value, error) from None
    return plain(str.__str__(text))


_CONTAINERS: dict[Any, tuple[type, str, str]] = {
    list.__repr__: (list, "[", "]"),
    tuple.__repr__: (tuple, "(", ")"),
    dict.__repr__: (dict, "{", "}"),
    set.__repr__: (set, "{", "}"),
    frozenset.__repr__: (frozenset, "{", "}"),
}
