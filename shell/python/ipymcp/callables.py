"""What a callable is made of: the chain of functions behind it, and its kind. Main thread.

The chain runs through bound methods, `functools.partial`, `functools.wraps`, `__call__` of objects, and the
constructors of classes: metaclass `__call__`, `__new__`, `__init__`. Cycles end it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator
from types import FunctionType, MethodType
from typing import Any

from ipymcp.resolving import MISSING
from ipymcp.typenames import lookup

_MOST_LINKS = 1000
_CONSTRUCTORS = ("__new__", "__init__")


def chain(value: Any) -> list[Any]:
    """The callable and everything that it leads to, each once, nearest first."""
    found: list[Any] = []
    seen: set[int] = set()
    waiting = [value]
    while waiting and len(found) < _MOST_LINKS:
        current = waiting.pop(0)
        if id(current) in seen:
            continue
        seen.add(id(current))
        found.append(current)
        waiting += _next(current)
    return found


def attributes(value: Any) -> Any:
    """The object's own attributes, a live dictionary or view; an empty dictionary where it has none."""
    try:
        own = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return own if isinstance(own, dict) or issubclass(type(value), type) else {}


def _next(value: Any) -> Iterator[Any]:
    cls = type(value)
    if cls is FunctionType:
        pass
    elif cls is MethodType or issubclass(cls, (staticmethod, classmethod)):
        yield value.__func__
    elif issubclass(cls, functools.partial):
        yield functools.partial.func.__get__(value)
    elif issubclass(cls, type):
        yield from _constructors(value)
        return  # a class's __wrapped__ is an attribute like any other
    elif isinstance(lookup(cls, "__call__"), (FunctionType, MethodType, functools.partial)) or not _is_builtin(cls):
        call = lookup(cls, "__call__")
        if call is not None:
            yield call
    wrapped = attributes(value).get("__wrapped__", MISSING)
    if wrapped is not MISSING:
        yield wrapped


def _is_builtin(cls: type) -> bool:
    """Whether a class is none of Python code, so that its instances have the slot of C for `__call__`."""
    return type.__getattribute__(cls, "__module__") in ("builtins", "functools")


def _constructors(cls: type) -> Iterator[Any]:
    call = lookup(type(cls), "__call__")
    if call is not type.__dict__["__call__"]:
        yield call
    for name in _CONSTRUCTORS:
        constructor = lookup(cls, name)
        if constructor is not object.__dict__[name]:
            yield constructor


def kind_of_call(links: list[Any]) -> str:
    """`plain`, or what a call of the callable gives in place of a finished value."""
    for link in links:
        if inspect.iscoroutinefunction(link):
            return "coroutine"
        if inspect.isasyncgenfunction(link):
            return "async_generator"
        if inspect.isgeneratorfunction(link):
            return "generator"
    return "plain"
