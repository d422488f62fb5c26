"""Forms: what an annotation means for the JSON of an argument. Main thread; converting runs constructors of the user's.

A form has three sides: its neutral form (package dyntools says what that is), the conversion of a JSON value into what
the annotation promises, and the JSON of a default. A conversion checks its value itself, because a union has to know
which of its branches fits; numbers that were written with a fraction or an exponent arrive as `Decimal`, exact.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

from ipymcp.plainjson import DefaultError, plain

Neutral = dict[str, Any]


class MisfitError(Exception):
    """A value does not fit; `path` leads to it from the outside, part by part."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.path: list[str] = []

    def inside(self, part: str) -> MisfitError:
        """The same error, seen from the container that holds the value under `part`."""
        self.path.insert(0, part)
        return self

    def pointer(self) -> str:
        """The path as a JSON pointer."""
        return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in self.path) or "/"


class Form:
    """One type of an annotation. Immutable once built."""

    def neutral(self) -> Neutral:
        """The neutral form."""
        raise NotImplementedError

    def convert(self, value: Any) -> Any:
        """The value as the annotation promises it. Raises `MisfitError`."""
        raise MisfitError("this type takes no value")

    def encode(self, value: Any) -> Any:
        """A default as JSON. Raises `DefaultError`; a default of another type is left for the schema to refuse."""
        return plain(value)

    def owns(self, value: Any) -> bool:
        """Whether a default is one of this form's own objects, which have no JSON of their own."""
        return False


class Scalar(Form):
    """`str`, `int`, `float`, `bool`, `None`."""

    def __init__(self, kind: str, convert: Callable[[Any], Any]) -> None:
        self.kind = kind
        self._convert = convert

    def neutral(self) -> Neutral:
        return {"kind": self.kind}

    def convert(self, value: Any) -> Any:
        return self._convert(value)


def _string(value: Any) -> str:
    if type(value) is not str:
        raise MisfitError("expected a string")
    return value


def _integer(value: Any) -> int:
    if type(value) is int:
        return value
    if type(value) is Decimal and value == value.to_integral_value():
        return int(value)
    raise MisfitError("expected an integer")


def _number(value: Any) -> float:
    if type(value) is not int and type(value) is not Decimal:
        raise MisfitError("expected a number")
    try:
        return float(value)
    except OverflowError:
        raise MisfitError("the number is too large for a float") from None


def _boolean(value: Any) -> bool:
    if type(value) is not bool:
        raise MisfitError("expected a boolean")
    return value


def _null(value: Any) -> None:
    if value is not None:
        raise MisfitError("expected null")


STRING, INTEGER, NUMBER = Scalar("str", _string), Scalar("int", _integer), Scalar("float", _number)
BOOLEAN, NULL = Scalar("bool", _boolean), Scalar("none", _null)


class Array(Form):
    """`list[T]`, `set[T]`, `frozenset[T]`, `tuple[T, ...]`."""

    def __init__(self, kind: str, of: Form, make: Callable[[list[Any]], Any]) -> None:
        self.kind = kind
        self.of = of
        self._make = make

    def neutral(self) -> Neutral:
        return {"kind": self.kind, "of": self.of.neutral()}

    def convert(self, value: Any) -> Any:
        items = _items(value, self.of)
        try:
            made = self._make(items)
        except TypeError as error:
            raise MisfitError(f"the items cannot form a {self.kind}: {error}") from error
        if len(made) < len(items) and _repeats(value):
            raise MisfitError("two items are equal, but each may occur once")
        return made

    def encode(self, value: Any) -> Any:
        return _encoded_items(value, self.of) if issubclass(type(value), (list, tuple)) else plain(value)

    def owns(self, value: Any) -> bool:
        return issubclass(type(value), (list, tuple))


def _items(value: Any, of: Form) -> list[Any]:
    if type(value) is not list:
        raise MisfitError("expected an array")
    items: list[Any] = []
    try:
        for item in value:
            items.append(of.convert(item))  # noqa: PERF401 - their number is the place of the one that fails
    except MisfitError as error:
        raise error.inside(str(len(items))) from error.__cause__
    return items


def _encoded_items(value: Iterable[Any], of: Form) -> list[Any]:
    return [of.encode(item) for item in value]


def _repeats(value: list[Any]) -> bool:
    texts = [json.dumps(item, default=float, sort_keys=True) for item in value]
    return len(set(texts)) < len(texts)


class Tuple(Form):
    """`tuple[A, B]`, of that length."""

    def __init__(self, items: list[Form]) -> None:
        self.items = items

    def neutral(self) -> Neutral:
        return {"kind": "tuple", "items": [item.neutral() for item in self.items]}

    def convert(self, value: Any) -> Any:
        if type(value) is not list or len(value) != len(self.items):
            raise MisfitError(f"expected an array of exactly {len(self.items)} items")
        converted: list[Any] = []
        try:
            for form, item in zip(self.items, value, strict=True):
                converted.append(form.convert(item))
        except MisfitError as error:
            raise error.inside(str(len(converted))) from error.__cause__
        return tuple(converted)

    def encode(self, value: Any) -> Any:
        if not self.owns(value):
            return plain(value)
        return [form.encode(item) for form, item in zip(self.items, value, strict=True)]

    def owns(self, value: Any) -> bool:
        return issubclass(type(value), (list, tuple)) and len(value) == len(self.items)


class Dictionary(Form):
    """`dict[str, T]`."""

    def __init__(self, of: Form) -> None:
        self.of = of

    def neutral(self) -> Neutral:
        return {"kind": "dict", "of": self.of.neutral()}

    def convert(self, value: Any) -> Any:
        if type(value) is not dict:
            raise MisfitError("expected an object")
        converted: dict[str, Any] = {}
        for key, item in value.items():
            try:
                converted[key] = self.of.convert(item)
            except MisfitError as error:
                raise error.inside(key) from error.__cause__
        return converted

    def encode(self, value: Any) -> Any:
        if not self.owns(value):
            return plain(value)
        # The keys have to be JSON too, which the form of the items cannot know.
        plain(dict.fromkeys(value))
        return {key: self.of.encode(item) for key, item in value.items()}

    def owns(self, value: Any) -> bool:
        return issubclass(type(value), dict)


class Described(Form):
    """`Annotated[T, "text"]`."""

    def __init__(self, of: Form, text: str) -> None:
        self.of = of
        self.text = text

    def neutral(self) -> Neutral:
        return {"kind": "described", "of": self.of.neutral(), "text": self.text}

    def convert(self, value: Any) -> Any:
        return self.of.convert(value)

    def encode(self, value: Any) -> Any:
        return self.of.encode(value)

    def owns(self, value: Any) -> bool:
        return self.of.owns(value)


class Union(Form):
    """A union. A value becomes what the first branch that takes it makes of it.

    The branches are tried in the order of the annotation, but `float` last, so that an integer stays one where `int`
    is among them.
    """

    def __init__(self, items: list[Form]) -> None:
        self.items = items
        self._tried = sorted(items, key=_is_number)

    def neutral(self) -> Neutral:
        return {"kind": "union", "items": [item.neutral() for item in self.items]}

    def convert(self, value: Any) -> Any:
        failed: list[MisfitError] = []
        for form in self._tried:
            try:
                return form.convert(value)
            except MisfitError as error:
                failed.append(error)
        deepest = max(failed, key=lambda error: len(error.path))
        if deepest.path or len(failed) == 1:
            raise deepest
        raise MisfitError("; or ".join(dict.fromkeys(str(error) for error in failed)))

    def encode(self, value: Any) -> Any:
        for form in self.items:
            if form.owns(value):
                try:
                    return form.encode(value)
                except DefaultError:
                    continue
        return plain(value)

    def owns(self, value: Any) -> bool:
        return any(form.owns(value) for form in self.items)


def _is_number(form: Form) -> bool:
    while isinstance(form, Described):
        form = form.of
    return form is NUMBER


class Unsupported(Form):
    """Anything that no schema is made of."""

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def neutral(self) -> Neutral:
        return {"kind": "unsupported", "reason": self.reason}


class Recursive(Form):
    """Stands in place of a type that is already being described."""

    def __init__(self, name: str) -> None:
        self.name = name

    def neutral(self) -> Neutral:
        return {"kind": "recursive", "name": self.name}
