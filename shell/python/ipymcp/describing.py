"""Kinds, signatures and documentation of live objects.

Main thread: all of it may run user code; only `documentation_of` raises what that raises.
"""

from __future__ import annotations

import inspect
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from ipymcp.typenames import class_module

NO_SIGNATURE = "(...)"


def kind_of(value: Any) -> str:
    """`module`, `type`, `function`, `callable` or `variable`."""
    cls = type(value)
    if issubclass(cls, ModuleType):
        return "module"
    if issubclass(cls, type):
        return "type"
    if issubclass(cls, (FunctionType, BuiltinFunctionType, MethodType)):
        return "function"
    return "callable" if callable(value) else "variable"


def readable_signature(function: Any) -> inspect.Signature | None:
    """The signature, None where there is none or reading it fails."""
    try:
        return inspect.signature(function)
    except BaseException:  # __signature__, __wrapped__ and annotations are the user's
        return _unevaluated_signature(function)


def _unevaluated_signature(function: Any) -> inspect.Signature | None:
    """The signature where only its annotations cannot be evaluated (CPython 3.14 evaluates them when asked)."""
    try:
        from annotationlib import Format  # type: ignore[import-not-found,unused-ignore]

        return inspect.signature(function, annotation_format=Format.STRING)  # type: ignore[call-arg,unused-ignore]
    except BaseException:  # the same
        return None


def signature_of(function: Any) -> str:
    """The signature as text, `(...)` where none can be read."""
    signature = readable_signature(function)
    if signature is None:
        return NO_SIGNATURE
    try:
        return str(signature)
    except BaseException:  # defaults have representations of the user's
        return NO_SIGNATURE


def module_of(value: Any) -> str:
    """The module that an object says it comes from, an empty string where it says none."""
    try:
        module = getattr(value, "__module__", None)
    except BaseException:  # attributes may be properties of the user's
        return ""
    return str.__str__(module) if isinstance(module, str) else ""


def documentation_of(value: Any) -> str:
    """The cleaned docstring; an empty string where there is none. Raises what the user's own `__doc__` raises."""
    if kind_of(value) == "variable" and class_module(type(value)) == "builtins":
        # What an int or a list is needs no telling.
        return ""
    text = inspect.getdoc(value)
    return str.__str__(text) if isinstance(text, str) else ""


def description_of(value: Any) -> str:
    """The same, and an empty string where reading it fails."""
    try:
        return documentation_of(value)
    except BaseException:  # as said above
        return ""
