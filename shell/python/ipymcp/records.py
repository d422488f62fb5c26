"""Forms of objects with named fields: `TypedDict`, dataclasses, pydantic models. Main thread.

Converting calls the class, which is code of the user's: what it raises says that the value does not fit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ipymcp.forms import Form, MisfitError, Neutral
from ipymcp.plainjson import DefaultError, plain
from ipymcp.resolving import MISSING
from ipymcp.tracebacks import message_of
from ipymcp.typenames import class_name

_MESSAGE_CHARS = 200


@dataclass(frozen=True, slots=True)
class Field:
    """One field. `default` is MISSING where there is none that JSON can say; `attribute` is its name in Python."""

    name: str
    attribute: str
    form: Form
    required: bool
    default: Any
    description: str

    def neutral(self) -> Neutral:
        """The neutral form."""
        neutral: Neutral = {"name": self.name, "annotation": self.form.neutral(), "required": self.required}
        if self.default is not MISSING:
            neutral["default"] = self.default
        if self.description:
            neutral["description"] = self.description
        return neutral


class Record(Form):
    """A class of one of these kinds; `make` turns its converted fields into an object."""

    def __init__(self, kind: str, cls: type, fields: list[Field], make: Callable[[dict[str, Any]], Any]) -> None:
        self.kind = kind
        self._cls = cls
        self._fields = fields
        self._by_name = {field.name: field for field in fields}
        self._make = make

    def neutral(self) -> Neutral:
        fields = [field.neutral() for field in self._fields]
        return {"kind": self.kind, "name": class_name(self._cls), "fields": fields}

    def convert(self, value: Any) -> Any:
        if type(value) is not dict:
            raise MisfitError("expected an object")
        for field in self._fields:
            if field.required and field.name not in value:
                raise MisfitError("required, but missing").inside(field.name)
        converted = {name: self._convert_field(name, item) for name, item in value.items()}
        try:
            return self._make(converted)
        except Exception as error:
            said = message_of(error, _MESSAGE_CHARS)[0]
            raise MisfitError(f"{class_name(self._cls)} refuses it: {class_name(type(error))}: {said}") from error

    def _convert_field(self, name: str, value: Any) -> Any:
        field = self._by_name.get(name)
        if field is None:
            raise MisfitError("unexpected name").inside(name)
        try:
            return field.form.convert(value)
        except MisfitError as error:
            raise error.inside(name) from error.__cause__

    def encode(self, value: Any) -> Any:
        if not self.owns(value):
            return plain(value)
        encoded: dict[str, Any] = {}
        for field in self._fields:
            item = value.get(field.name, MISSING) if self.kind == "typed_dict" else _read(value, field.attribute)
            if item is not MISSING:
                encoded[field.name] = field.form.encode(item)
        if self.kind == "typed_dict" and len(encoded) < len(value):
            return plain(value)
        return encoded

    def owns(self, value: Any) -> bool:
        return issubclass(type(value), dict if self.kind == "typed_dict" else self._cls)


def _read(value: Any, attribute: str) -> Any:
    try:
        return getattr(value, attribute)
    except Exception as error:
        raise DefaultError(f"its field {attribute} cannot be read: {class_name(type(error))}") from error
