"""What in the namespace still belongs to a version of a module that a reload has replaced. Main thread.

It is read from slots of functions, classes and instances: no code of the user's runs. Everything that is looked at
was made before the reload, so what comes from the module and is not in it any more is old.
"""

from __future__ import annotations

import dis
import functools
from dataclasses import dataclass
from functools import cached_property
from types import BuiltinFunctionType, EllipsisType, FunctionType, MethodType, ModuleType, NoneType
from typing import Any

from ipymcp.imports import has_star, imported_names, source_of
from ipymcp.typenames import bases, class_module, qualified_name

_MISSING: Any = object()
# Objects that many names share: that two of them hold the same one does not say where it came from.
_SHARED = (
    *(NoneType, EllipsisType, bool, int, float, complex, str, bytes, tuple, frozenset),
    *(BuiltinFunctionType, ModuleType),
)
_OLD = "from before the reload"
# Partials of partials, wrappers of wrappers, and so on, that are looked through.
_DEPTH = 5
_module_attributes: Any = vars(ModuleType)["__dict__"]
_partial_function: Any = vars(functools.partial)["func"]
_CACHED: Any = type(functools.lru_cache(lambda: None))


@dataclass(slots=True)
class Stale:
    """Why a name is out of date, and, where `renewable`, the object that it should be bound to now."""

    reason: str
    renewable: bool = False
    renewed: Any = None
    attribute: str = ""  # of the module, that the name was imported from; empty for what was not


class Leftovers:
    """Names that a reload has reported and nobody has bound anew since: the next one does not know its values."""

    def __init__(self) -> None:
        self._of: dict[str, dict[str, tuple[Any, str]]] = {}

    def note(self, module: str, bound: str, value: Any, attribute: str) -> None:
        """The name is still bound to a value that it was imported from the attribute with."""
        self._of.setdefault(module, {})[bound] = value, attribute

    def take(self, module: str) -> dict[str, tuple[Any, str]]:
        """What was noted of the module's names, which is forgotten."""
        return self._of.pop(module, {})

    def prune(self, namespace: dict[Any, Any]) -> None:
        """Forgets names that are bound to something else by now, so that nothing lives on for their sake."""
        for module, names in list(self._of.items()):
            kept = {name: noted for name, noted in names.items() if namespace.get(name, _MISSING) is noted[0]}
            if kept:
                self._of[module] = kept
            else:
                del self._of[module]


class Replaced:
    """A module after a reload.

    `before` is what it held until then, `left` what is left of versions before that, `cells` what the session has run.
    """

    def __init__(
        self,
        name: str,
        module: ModuleType,
        before: dict[str, Any],
        left: dict[str, tuple[Any, str]],
        cells: list[str],
    ) -> None:
        self.name = name
        self._left = left
        self._module = module
        self._before = {key: value for key, value in before.items() if type(key) is str and key[:2] != "__"}
        self._globals = attributes_of(module)
        self._now = dict(self._globals)
        self._cells = cells
        self._current = {id(value) for value in self._now.values()}
        self._attributes: dict[int, list[str]] = {}
        for attribute, value in self._before.items():
            self._attributes.setdefault(id(value), []).append(attribute)

    def stale(self, bound: str, value: Any) -> Stale | None:
        """Why a name that is bound to the value is out of date; None if it is not."""
        if is_module_named(value, self.name):
            if value is self._module:
                return None
            clause = self.name if bound == self.name else f"{self.name} as {bound}"
            return Stale(f"the module object {_OLD}; renew it with: import {clause}", True, self._module)
        attribute = self._imported_attribute(bound, value)
        if attribute is None:
            origin = self._origin(bound, value, _DEPTH)
            return Stale(origin) if origin else None
        now = self._now.get(attribute, _MISSING)
        if now is _MISSING or (now is value and not self._defines(attribute)):
            said = f"{self.name} no longer defines {attribute}; this is the one {_OLD}"
            return Stale(said, attribute=attribute)
        if now is value:
            return None
        clause = attribute if attribute == bound else f"{attribute} as {bound}"
        said = f"{self.name}.{attribute} {_OLD}; renew it with: from {self.name} import {clause}"
        return Stale(said, True, now, attribute)

    def _imported_attribute(self, bound: str, value: Any) -> str | None:
        """The module's attribute that a name was imported from."""
        noted, of_before = self._left.get(bound, (_MISSING, ""))
        if noted is value and (not self._is_shared(value) or self._imported_by_cells.get(bound) == of_before):
            return of_before
        attributes = self._attributes.get(id(value), [])
        if attributes and self._is_shared(value):
            attribute = self._imported_by_cells.get(bound)
            return attribute if attribute in attributes else None
        if attributes:
            return bound if bound in attributes else attributes[0]
        # Of a version older still: known by its own name.
        own = _own_name(value)
        return own if self._is_old(value) and own in self._now else None

    def _is_shared(self, value: Any) -> bool:
        if issubclass(type(value), (FunctionType, type)):
            return not self._owns(value)
        return issubclass(type(value), _SHARED)

    def _owns(self, value: Any) -> bool:
        if issubclass(type(value), type):
            return class_module(value) == self.name
        if type(value) is not FunctionType:
            return False
        return value.__globals__ is self._globals or _name_in(value.__globals__) == self.name

    def _is_old(self, value: Any) -> bool:
        return self._owns(value) and id(value) not in self._current

    def _origin(self, bound: str, value: Any, depth: int) -> str:
        """What an object has to do with the old version; empty where nothing."""
        if not depth:
            return ""
        if type(value) is FunctionType and self._is_old(value):
            return f"the function {self.name}.{value.__qualname__} {_OLD}"
        if type(value) is MethodType:
            return _joined("bound to", self._origin("", value.__self__, depth - 1))
        if issubclass(type(value), functools.partial):
            return _joined("calls", self._origin("", _partial_function.__get__(value), depth - 1))
        if type(value) is FunctionType or type(value) is _CACHED:
            return _joined("wraps", self._origin("", value.__dict__.get("__wrapped__"), depth - 1))
        if issubclass(type(value), type):
            old = self._old_base(value)
            return old and (f"the class {old} {_OLD}" if self._owns(value) else f"a subclass of {old} {_OLD}")
        old = self._old_base(type(value))
        if not old:
            return ""
        is_checked = bound and old.removeprefix(f"{self.name}.") in self._now
        return f"an instance of {old} {_OLD}" + (f": isinstance({bound}, {old}) is False now" if is_checked else "")

    def _old_base(self, cls: type) -> str:
        """The nearest class of the old version among a class and its bases."""
        return next((qualified_name(base) for base in bases(cls) if self._is_old(base)), "")

    def _defines(self, attribute: str) -> bool:
        """Whether the module's source still binds a name; what cannot be told counts as yes."""
        return self._stored is None or attribute in self._stored

    @cached_property
    def _stored(self) -> set[str] | None:
        source = source_of(self._module)
        if source is None or has_star(source):
            return None
        code = compile(source, self.name, "exec", dont_inherit=True)
        stores = (each for each in dis.get_instructions(code) if each.opname in ("STORE_NAME", "STORE_GLOBAL"))
        return {each.argval for each in stores}

    @cached_property
    def _imported_by_cells(self) -> dict[str, str]:
        return imported_names(self._cells, self.name, [name for name in self._before if name[0] != "_"])


def attributes_of(module: ModuleType) -> dict[Any, Any]:
    """The module's own dictionary, whatever a subclass says of it."""
    attributes: dict[Any, Any] = _module_attributes.__get__(module)
    return attributes


def is_module_named(value: Any, name: str) -> bool:
    """Whether an object is a module of that name."""
    return issubclass(type(value), ModuleType) and _name_in(attributes_of(value)) == name


def _name_in(attributes: dict[Any, Any]) -> str:
    name = dict.get(attributes, "__name__")
    return name if type(name) is str else ""


def _own_name(value: Any) -> str:
    if type(value) is FunctionType:
        return value.__qualname__
    if not issubclass(type(value), type):
        return ""
    return qualified_name(value).removeprefix(f"{class_module(value)}.")


def _joined(how: str, origin: str) -> str:
    return origin and f"{how} {origin}"
