"""Defaults as JSON: exactly what JSON can say, or the reason why not. Pure functions, any thread.

Unlike `translation`, nothing is cut or stood in for: a default is part of a tool's schema, so it is right or refused.
"""

from __future__ import annotations

import math
from typing import Any

from ipymcp.text import cut, escape
from ipymcp.typenames import qualified_name

# As package dyntools bounds them: characters of a schema, and digits that Python reads back by default.
_MOST_CHARS = 64 << 10
_MOST_BITS = 14_000
_MOST_DEPTH = 64


class DefaultError(Exception):
    """A default is not JSON; the message says why."""


def plain(value: Any) -> Any:
    """The value as JSON of Python's own types."""
    return _Reader().read(value, 0)


class _Reader:
    def __init__(self) -> None:
        self._left = _MOST_CHARS

    def read(self, value: Any, depth: int) -> Any:
        self._spend(1)
        if value is None or value is True or value is False:
            return value
        if issubclass(type(value), str):
            return self._text(str.__str__(value))
        if issubclass(type(value), int):
            return self._integer(int.__int__(value))
        if issubclass(type(value), float):
            return _number(float.__float__(value))
        if depth >= _MOST_DEPTH:
            raise DefaultError(f"it is nested more than {_MOST_DEPTH} levels deep")
        if type(value) is list or type(value) is tuple:
            return [self.read(item, depth + 1) for item in value]
        if type(value) is dict:
            return {self._key(key): self.read(item, depth + 1) for key, item in value.items()}
        raise DefaultError(f"a {_shown(type(value))} is not JSON")

    def _spend(self, characters: int) -> None:
        self._left -= characters
        if self._left < 0:
            raise DefaultError(f"it takes more than {_MOST_CHARS} characters")

    def _text(self, text: str) -> str:
        self._spend(len(text))
        if escape(text) != text:
            raise DefaultError("it holds a lone surrogate, which is no character")
        return text

    def _key(self, key: Any) -> str:
        if type(key) is not str:
            raise DefaultError(f"a key of type {_shown(type(key))} is not JSON")
        return self._text(key)

    @staticmethod
    def _integer(value: int) -> int:
        if value.bit_length() > _MOST_BITS:
            raise DefaultError(f"an int of {value.bit_length()} bits is too long")
        return value


def _number(value: float) -> float:
    if not math.isfinite(value):
        raise DefaultError(f"{value!r} is not a JSON number")
    return value


def _shown(cls: type) -> str:
    return cut(qualified_name(cls).removeprefix("builtins."), 200)[0]
