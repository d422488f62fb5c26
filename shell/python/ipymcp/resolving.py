"""Annotations as they are meant: strings and forward references are evaluated where they were written.

Main thread: evaluating runs user code. What an evaluation looked at is recorded, so that a later look at the same
places tells whether it would give the same.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import sys
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

MISSING: Any = object()
# A place and what it held: a dictionary (or a live view of one), a key, the value or MISSING.
Lookup = tuple[Mapping[Any, Any], str, Any]


@dataclass(frozen=True, slots=True)
class Scope:
    """Where names of an annotation are looked up: `inner` (a class's own) before `outer` (a module's)."""

    outer: dict[str, Any]
    inner: Mapping[str, Any] | None = None


def scope_of_module(name: object, inner: Mapping[str, Any] | None = None) -> Scope:
    """The scope of an imported module, empty where there is none."""
    module = sys.modules.get(name) if isinstance(name, str) else None
    return Scope(module.__dict__ if isinstance(module, ModuleType) else {}, inner)


def scope_of_class(cls: type) -> Scope:
    """The scope of a class's body."""
    return scope_of_module(getattr(cls, "__module__", None), vars(cls))


def class_annotations(cls: type) -> dict[str, Any]:
    """A class's own annotations; what does not resolve stays a string or a forward reference."""
    if sys.version_info >= (3, 14):
        from annotationlib import Format, get_annotations

        return dict(get_annotations(cls, format=Format.FORWARDREF))
    return dict(inspect.get_annotations(cls))


def reference_text(annotation: Any) -> str | None:
    """The text of a string or a forward reference; None for what needs no resolving."""
    if issubclass(type(annotation), str):
        return str.__str__(annotation)
    if type(annotation) is typing.ForwardRef:
        return annotation.__forward_arg__
    return None


def resolve(annotation: Any, text: str, scope: Scope, seen: list[Lookup]) -> Any:
    """What a reference stands for; the lookups are added to `seen`. Raises what evaluating it raises."""
    module = getattr(annotation, "__forward_module__", None)
    if module is not None and not isinstance(module, ModuleType):
        scope = scope_of_module(module, scope.inner)
    if not isinstance(annotation, str) and hasattr(annotation, "evaluate"):
        try:
            return annotation.evaluate()
        except NameError:
            return annotation.evaluate(globals=scope.outer, locals=dict(scope.inner or {}))
    tree = ast.parse(text.strip(), "<annotation>", "eval")
    value = eval(compile(tree, "<annotation>", "eval"), scope.outer, dict(scope.inner or {}))
    seen += _lookups(tree, scope)
    return value


def _lookups(tree: ast.Expression, scope: Scope) -> list[Lookup]:
    """Every name and every attribute of a module that the expression mentions."""
    found: list[Lookup] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            _look_up_name(node.id, scope, found)
        elif isinstance(node, ast.Attribute):
            owner = _value(node.value, scope)
            if isinstance(owner, (ModuleType, type)):
                members = vars(owner)
                found.append((members, node.attr, members.get(node.attr, MISSING)))
    return found


def _look_up_name(name: str, scope: Scope, found: list[Lookup]) -> Any:
    for place in (scope.inner, scope.outer, vars(builtins)):
        if place is None:
            continue
        value = place.get(name, MISSING)
        found.append((place, name, value))
        if value is not MISSING:
            return value
    return MISSING


def _value(node: ast.expr, scope: Scope) -> Any:
    """What a dotted name stands for; MISSING for any other expression."""
    if isinstance(node, ast.Name):
        return _look_up_name(node.id, scope, [])
    if isinstance(node, ast.Attribute):
        owner = _value(node.value, scope)
        return MISSING if owner is MISSING else getattr(owner, node.attr, MISSING)
    return MISSING
