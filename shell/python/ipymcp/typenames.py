"""Names of types that a metaclass cannot falsify: read from `type`'s own slots.

Never through an overridden attribute. Pure functions, any thread. They run no user code.
"""

from __future__ import annotations

from typing import Any

_NAME: Any = type.__dict__["__name__"]
_QUALNAME: Any = type.__dict__["__qualname__"]
_MODULE: Any = type.__dict__["__module__"]
_MRO: Any = type.__dict__["__mro__"]


def class_name(cls: type) -> str:
    """The class's `__name__`."""
    return str(_NAME.__get__(cls))


def class_module(cls: type) -> str:
    """The class's `__module__`, or an empty string where that is no string."""
    try:
        module = _MODULE.__get__(cls)
    except AttributeError:
        return ""
    return str.__str__(module) if issubclass(type(module), str) else ""


def qualified_name(cls: type) -> str:
    """`module.QualName`."""
    module, name = class_module(cls), str(_QUALNAME.__get__(cls))
    return f"{module}.{name}" if module else name


def bases(cls: type) -> tuple[type, ...]:
    """The method resolution order."""
    return tuple(_MRO.__get__(cls))


def lookup(cls: type, attribute: str) -> Any:
    """What the class or the nearest of its bases has under that name in its own dictionary, unbound, or None."""
    for base in bases(cls):
        members = type.__getattribute__(base, "__dict__")
        if attribute in members:
            return members[attribute]
    return None
