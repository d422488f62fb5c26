"""Describes a callable in the neutral form that package dyntools reads. Main thread: it runs code of the user's."""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import sys
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

from ipymcp import describing
from ipymcp.callables import attributes, chain, kind_of_call
from ipymcp.docparameters import parameter_texts
from ipymcp.formbuilder import FormBuilder
from ipymcp.forms import Form, Neutral
from ipymcp.plainjson import DefaultError
from ipymcp.resolving import Scope, scope_of_module
from ipymcp.snapshots import Snapshot
from ipymcp.text import cut, escape
from ipymcp.tracebacks import message_of
from ipymcp.typenames import class_name

_KINDS = {
    inspect.Parameter.POSITIONAL_ONLY: "positional_only",
    inspect.Parameter.POSITIONAL_OR_KEYWORD: "positional_or_keyword",
    inspect.Parameter.VAR_POSITIONAL: "var_positional",
    inspect.Parameter.KEYWORD_ONLY: "keyword_only",
    inspect.Parameter.VAR_KEYWORD: "var_keyword",
}
_REASON_CHARS = 300
_TOKEN_CHARS = 16
# Defaults of these types are what they are; others may be changed in place.
_CONSTANT = (type(None), bool, int, float, complex, str, bytes)


@dataclass(slots=True)
class Description:
    """A described callable. `forms` has a form for every annotated parameter."""

    value: Any
    snapshot: Snapshot
    kind: str = "plain"
    problem: str = ""
    parameters: list[Neutral] = field(default_factory=list)
    forms: dict[str, Form] = field(default_factory=dict)
    changeable: list[tuple[Form | None, Any, str]] = field(default_factory=list)
    token: str = ""

    def holds(self) -> bool:
        """Whether the callable still is what was described; runs code of the user's only for changeable defaults."""
        return self.snapshot.holds() and all(_text_of(form, value) == text for form, value, text in self.changeable)

    def neutral(self, limit: int) -> Neutral:
        """The neutral form, with texts of which nobody keeps more than `limit` characters."""
        docstring = documentation_of(self.value)
        texts = _texts_of(self.value, docstring)
        parameters = []
        for parameter in self.parameters:
            text = texts.get(parameter["name"], "")
            parameters.append(parameter | ({"description": escape(text[: limit + 1])} if text else {}))
        return {
            "callable_kind": self.kind,
            "token": self.token,
            "docstring": escape(docstring[: limit + 1]),
            "problem": self.problem,
            "parameters": parameters,
        }


def describe(value: Any) -> Description:
    """Describes a callable; what goes wrong is its problem. Only an interruption gets out."""
    links = chain(value)
    description = Description(value, Snapshot(links))
    try:
        _fill(description, links)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # signatures, annotations and defaults are the user's
        said = message_of(error, _REASON_CHARS)[0]
        description.problem = cut(f"reading it raised {class_name(type(error))}: {said}", _REASON_CHARS)[0]
        description.parameters = []
    signature = [description.kind, description.problem, description.parameters]
    text = json.dumps(signature, sort_keys=True, separators=(",", ":"))
    description.token = hashlib.sha256(text.encode()).hexdigest()[:_TOKEN_CHARS]
    return description


def _fill(description: Description, links: list[Any]) -> None:
    description.kind = kind_of_call(links)
    try:
        signature = _signature(description.value)
    except (ValueError, TypeError) as error:
        # A signature that is none of a builtin's is worth its reason.
        own = any(type(link) is FunctionType or "__signature__" in attributes(link) for link in links)
        said = message_of(error, _REASON_CHARS)[0]
        description.problem = f"inspect.signature failed: {said}" if own else "inspect.signature found none"
        return
    builder = FormBuilder()
    for parameter in signature.parameters.values():
        description.parameters.append(_parameter(description, builder, parameter, links))
    description.snapshot.watch(builder.seen)


def _signature(value: Any) -> inspect.Signature:
    """The signature, with what does not resolve as strings or forward references."""
    if sys.version_info >= (3, 14):
        from annotationlib import Format

        return inspect.signature(value, annotation_format=Format.FORWARDREF)
    return inspect.signature(value)


def _parameter(
    description: Description, builder: FormBuilder, parameter: inspect.Parameter, links: list[Any]
) -> Neutral:
    neutral: Neutral = {"name": parameter.name, "kind": _KINDS[parameter.kind], "annotation": None}
    form: Form | None = None
    if parameter.annotation is not inspect.Parameter.empty:
        form = builder.form(parameter.annotation, _scope_of(parameter, links))
        description.forms[parameter.name] = form
        neutral["annotation"] = form.neutral()
    default = parameter.default
    if default is inspect.Parameter.empty:
        return neutral
    try:
        neutral["default"] = _encode(form, default)
    except DefaultError as error:
        neutral["default_problem"] = cut(str(error), _REASON_CHARS)[0]
    if not _is_constant(default):
        description.changeable.append((form, default, _text_of(form, default)))
    return neutral


def _scope_of(parameter: inspect.Parameter, links: list[Any]) -> Scope:
    """Where the names of an annotation are looked up: the module of the function that has it.

    That is the innermost of those that have it: `functools.wraps` hands the annotations on.
    """
    functions = [link for link in reversed(links) if type(link) is FunctionType]
    for function in functions:
        if _own_annotation(function, parameter.name) is parameter.annotation:
            return Scope(function.__globals__)
    if functions:
        return Scope(functions[0].__globals__)
    return scope_of_module(describing.module_of(links[0]))


def _own_annotation(function: Any, name: str) -> Any:
    try:
        return function.__annotations__.get(name)
    except Exception:  # CPython 3.14 evaluates them here
        return None


def _encode(form: Form | None, default: Any) -> Any:
    return Form().encode(default) if form is None else form.encode(default)


def _text_of(form: Form | None, default: Any) -> str:
    """What a default is in JSON, or why it is nothing there: what would show that it changed."""
    try:
        return json.dumps(_encode(form, default))
    except DefaultError as error:
        return f"\0{error}"


def _is_constant(value: Any) -> bool:
    return type(value) in _CONSTANT or (type(value) is tuple and all(map(_is_constant, value)))


def documentation_of(value: Any) -> str:
    """The docstring; that of the function where the callable is a partial of one."""
    while isinstance(value, functools.partial) and "__doc__" not in attributes(value):
        value = value.func
    return describing.description_of(value)


def _texts_of(value: Any, docstring: str) -> dict[str, str]:
    """Descriptions of parameters; those of a class may be with its constructor."""
    texts = parameter_texts(docstring)
    if not texts and isinstance(value, type):
        texts = parameter_texts(describing.description_of(value.__init__))  # type: ignore[misc]
    return texts
