"""Forms of a few given values: `Literal` and `Enum`. Main thread."""

from __future__ import annotations

import enum
import math
from decimal import Decimal
from typing import Any

from ipymcp.forms import Form, MisfitError, Neutral
from ipymcp.plainjson import DefaultError, plain
from ipymcp.text import escape
from ipymcp.typenames import class_name


class Literal(Form):
    """`Literal[…]` of JSON scalars; a value becomes the literal that it equals in JSON."""

    def __init__(self, values: list[Any]) -> None:
        self.values = values
        self._by_key = {key_of(value): value for value in reversed(values)}

    def neutral(self) -> Neutral:
        return {"kind": "literal", "values": self.values}

    def convert(self, value: Any) -> Any:
        try:
            return self._by_key[key_of(value)]
        except (KeyError, TypeError):
            raise MisfitError("expected one of the values of the annotation") from None


class Enumeration(Form):
    """A class of `Enum`: its values where they are distinct JSON scalars, else the names of its members."""

    def __init__(self, cls: type[enum.Enum]) -> None:
        self._cls = cls
        members = list(cls)
        by_value = all(is_scalar(member.value) for member in members)
        if by_value and len({key_of(member.value) for member in members}) < len(members):
            by_value = False
        self._written = {member: member.value if by_value else member.name for member in members}
        self._by_key = {key_of(written): member for member, written in self._written.items()}

    def neutral(self) -> Neutral:
        return {"kind": "enum", "name": class_name(self._cls), "values": list(self._written.values())}

    def convert(self, value: Any) -> Any:
        try:
            return self._by_key[key_of(value)]
        except (KeyError, TypeError):
            raise MisfitError(f"expected one of the values of {class_name(self._cls)}") from None

    def encode(self, value: Any) -> Any:
        if not self.owns(value):
            return plain(value)
        if value not in self._written:
            raise DefaultError(f"it is no single member of {class_name(self._cls)}")
        return self._written[value]

    def owns(self, value: Any) -> bool:
        return issubclass(type(value), self._cls)


def is_scalar(value: Any) -> bool:
    """Whether a value is a scalar that JSON has."""
    if type(value) is str:
        return escape(value) == value
    return value is None or type(value) in (bool, int) or (type(value) is float and math.isfinite(value))


def key_of(value: Any) -> tuple[str, Any]:
    """What two scalars share that are the same JSON value: 1 and 1.0, but not 1 and True."""
    if type(value) is bool:
        return "boolean", value
    if type(value) is Decimal:
        # What is no integer equals a literal as the float that it is written for.
        return "number", value if value == value.to_integral_value() else float(value)
    return ("number" if type(value) in (int, float) else "other"), value
