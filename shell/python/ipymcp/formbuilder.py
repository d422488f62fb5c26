"""Builds forms of annotations. Main thread: annotations and classes are the user's, and evaluating them runs code."""

from __future__ import annotations

import enum
import types
import typing
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ipymcp import forms
from ipymcp.choices import Enumeration, Literal, is_scalar
from ipymcp.formats import FORMATS
from ipymcp.forms import Form, Recursive, Unsupported
from ipymcp.recordkinds import record_of
from ipymcp.resolving import Lookup, Scope, reference_text, resolve, scope_of_module
from ipymcp.text import cut
from ipymcp.typenames import class_name, qualified_name

# Package dyntools states both: what one callable may have, and what Go accepts of it.
_MOST_TYPES = 2000
_MOST_DEPTH = 64

_SCALARS: dict[type, Form] = {
    str: forms.STRING,
    int: forms.INTEGER,
    float: forms.NUMBER,
    bool: forms.BOOLEAN,
    types.NoneType: forms.NULL,
}
_ARRAYS: dict[Any, str] = {list: "list", set: "set", frozenset: "frozenset"}
_BARE_TUPLE: Any = typing.Tuple  # noqa: UP006 - it has an origin, as if it had arguments
_REASON_CHARS = 200


class FormBuilder:
    """Builds the forms of one callable; `seen` is what evaluating references looked at."""

    def __init__(self) -> None:
        self.seen: list[Lookup] = []
        self._left = _MOST_TYPES
        self._open: dict[object, object] = {}

    def form(self, annotation: Any, scope: Scope) -> Form:
        """The form of an annotation, which may be a reference."""
        self._left -= 1
        if self._left < 0:
            return Unsupported(f"the signature has more than {_MOST_TYPES} types")
        if len(self._open) > 2 * _MOST_DEPTH:
            return Unsupported(f"the annotation nests deeper than {_MOST_DEPTH} levels")
        text = reference_text(annotation)
        if text is not None:
            return self._referred(annotation, text, scope)
        return self._form(annotation, scope)

    @contextmanager
    def opened(self, key: object, kept: object) -> Iterator[None]:
        """Marks a type as being described, so that meeting it again inside of itself is noticed."""
        self._open[key] = kept
        try:
            yield
        finally:
            del self._open[key]

    def _referred(self, annotation: Any, text: str, scope: Scope) -> Form:
        shown = cut(text, _REASON_CHARS)[0]
        key = (text, id(scope.outer))
        if key in self._open:
            return Recursive(shown)
        try:
            target = resolve(annotation, text, scope, self.seen)
        except Exception as error:  # evaluating is code of the user's
            return Unsupported(f"{shown!r} does not resolve: {class_name(type(error))}")
        if id(target) in self._open:
            return Recursive(shown)
        with self.opened(key, annotation):
            return self.form(target, scope)

    def _form(self, annotation: Any, scope: Scope) -> Form:
        if annotation is None:
            return forms.NULL
        is_class = issubclass(type(annotation), type)
        if is_class:
            known = _SCALARS.get(annotation) or FORMATS.get(annotation)
            if known is not None:
                return known
        if id(annotation) in self._open:
            return Recursive(class_name(annotation) if is_class else _shown(annotation))
        with self.opened(id(annotation), annotation):
            try:
                built = self._class(annotation) if is_class else self._generic(annotation, scope)
            except Exception as error:  # it is an object of the user's
                return Unsupported(f"{_shown(annotation)}: reading it raised {class_name(type(error))}")
        return built or Unsupported(_shown(annotation))

    def _class(self, cls: type) -> Form | None:
        if issubclass(type(cls), enum.EnumMeta) and issubclass(cls, enum.Enum):
            return Enumeration(cls) if len(cls) else None
        return record_of(cls, self)

    def _generic(self, annotation: Any, scope: Scope) -> Form | None:
        origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
        if origin is typing.Annotated:
            return self._annotated(annotation, scope)
        if origin is typing.Union or origin is types.UnionType:
            return forms.Union([self.form(item, scope) for item in arguments])
        if origin is typing.Literal:
            if not all(is_scalar(value) for value in arguments):
                return Unsupported(f"{_shown(annotation)}: only JSON scalars can be literals")
            return Literal(list(arguments))
        if origin in _ARRAYS and len(arguments) == 1:
            return forms.Array(_ARRAYS[origin], self.form(arguments[0], scope), origin)
        if origin is tuple and annotation is not _BARE_TUPLE:
            return self._tuple(arguments, scope)
        if origin is dict and len(arguments) == 2:
            return self._dictionary(arguments, scope)
        if class_name(type(annotation)) == "TypeAliasType":
            return self.form(annotation.__value__, scope_of_module(getattr(annotation, "__module__", None)))
        return None

    def _annotated(self, annotation: Any, scope: Scope) -> Form:
        form = self.form(annotation.__origin__, scope)
        for extra in annotation.__metadata__:
            if isinstance(extra, str) and extra.strip():
                return forms.Described(form, str.__str__(extra))
        return form

    def _tuple(self, arguments: tuple[Any, ...], scope: Scope) -> Form:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return forms.Array("tuple_of", self.form(arguments[0], scope), tuple)
        return forms.Tuple([self.form(item, scope) for item in arguments])

    def _dictionary(self, arguments: tuple[Any, ...], scope: Scope) -> Form:
        key = self.form(arguments[0], scope)
        while isinstance(key, forms.Described):
            key = key.of
        if key is not forms.STRING:
            return Unsupported("the keys of a dict must be str")
        return forms.Dictionary(self.form(arguments[1], scope))


def _shown(annotation: Any) -> str:
    """How a message calls an annotation."""
    try:
        if issubclass(type(annotation), type):
            return cut(qualified_name(annotation).removeprefix("builtins."), _REASON_CHARS)[0]
        alias = getattr(annotation, "__name__", None)
        named = class_name(type(annotation)) == "TypeAliasType" and isinstance(alias, str)
        return cut(str(alias) if named else repr(annotation), _REASON_CHARS)[0]
    except Exception:  # representations are the user's
        return f"a {qualified_name(type(annotation))}"
