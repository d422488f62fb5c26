"""Tells what is not as it was at the start, and puts it back. Main thread; `foundation` says when.

The functions that are made here use no global names: user code may have taken those away as well.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from types import ModuleType
from typing import Any

_LEAST = 1000
# The types of what the shell and its parts set to something else now and then.
_CHANGING = (type(None), str, int, bool, float, tuple)

# What is not as it was, what puts it back, and what is in its place.
Fault = tuple[str, Callable[[], object], Any]
Watch = Callable[[], Iterator[Fault]]


def repairer(*watches: Watch) -> Callable[[bool, bool], list[str]]:
    """The function that names what is not as it was, and puts it back if told so.

    With `of_cells` it leaves alone what a module has put there: libraries replace functions of others for good reasons.
    """
    is_of_module = _make_is_of_module()

    def repair(put_back: bool, of_cells: bool) -> list[str]:
        names = []
        for watch in watches:
            for name, put_it_back, found in watch():
                try:
                    if of_cells and is_of_module(found):
                        continue
                    if put_back:
                        put_it_back()
                    names.append(name)
                except BaseException:  # noqa: S112 - a class that does not change, or one of the user's that objects
                    continue
        return names

    return repair


def _make_is_of_module() -> Callable[[Any], bool]:
    module_type, of_cells = ModuleType, (None, "__main__", "builtins")

    def is_of_module(found: Any) -> bool:
        """Whether it is a module, or code of one that is imported from a file."""
        defined_in = getattr(found, "__module__", None)
        return issubclass(type(found), module_type) or (type(defined_in) is str and defined_in not in of_cells)

    return is_of_module


def holders(things: Iterable[tuple[str, Any]]) -> Watch:
    """What modules, classes and other objects held; and what hides methods in them that lie beneath."""
    # Copies of dictionaries share their keys: this is made while the first cell may be waiting.
    kept = [(name, thing, vars(thing), vars(thing).copy()) for name, thing in things]
    difference, hidden, put, take = _difference, _hidden, _put, _take

    def faults() -> Iterator[Fault]:
        for where, thing, now, at_start in kept:
            for name in difference(where, now, at_start):
                yield f"{where}.{name}", put(thing, name, at_start[name]), now.get(name)
            if len(now) > len(at_start):
                for name in hidden(thing, now, at_start):
                    yield f"{where}.{name}", take(thing, name), now.get(name)

    return faults


def table(where: str, now: dict[str, Any]) -> Watch:
    """What a dictionary held."""
    at_start, difference, partial_ = dict(now), _difference, partial

    def faults() -> Iterator[Fault]:
        for name in difference(where, now, at_start):
            yield f"{where}.{name}", partial_(now.__setitem__, name, at_start[name]), now.get(name)

    return faults


def _make_difference() -> Callable[[str, Mapping[str, Any], Mapping[str, Any]], Iterator[str]]:
    missing, module_type = object(), ModuleType
    trapped = ("sys.displayhook", "builtins.exit", "builtins.quit")  # IPython's while a cell runs
    unset = (type(None),)
    changing = _CHANGING

    def is_renewed(found: Any, value: Any) -> bool:
        """Whether a reload put it there: then it has the same names, or its class has."""
        if not hasattr(value, "__qualname__"):
            found, value = type(found), type(value)
        try:
            return bool((found.__module__, found.__qualname__) == (value.__module__, value.__qualname__))
        except BaseException:  # an object of the user's may raise anything
            return False

    def difference(where: str, now: Mapping[str, Any], at_start: Mapping[str, Any]) -> Iterator[str]:
        for name, value in at_start.items():
            found = now.get(name, missing)
            if found is value or f"{where}.{name}" in trapped:
                continue
            # For these, another one of the same type will not do.
            firm = issubclass(type(value), module_type)
            firm = firm or (where == "sys" and name in ("modules", "meta_path", "path_hooks"))
            may_change = changing if where.startswith("get_ipython()") else unset
            strange = type(found) is not type(value) and type(value) not in may_change
            if found is missing or firm or ((callable(value) or strange) and not is_renewed(found, value)):
                yield name

    return difference


def _make_hidden() -> Callable[[Any, Mapping[str, Any], Mapping[str, Any]], list[str]]:
    changing, missing = _CHANGING, object()

    def hides(owner: Any, name: str, value: Any) -> bool:
        """Whether an attribute takes the place of one of the object's class, or of the class's bases."""
        if not issubclass(type(owner), type):
            beneath = getattr(type(owner), name, missing)
            other = type(beneath) is not type(value) and type(beneath) not in changing
            return beneath is not missing and (callable(beneath) or other)
        if name.startswith("__") and callable(value):  # it may go before everything
            return True
        return any(callable(getattr(each, name, None)) for each in owner.__mro__[1:-1])

    def hidden(thing: Any, now: Mapping[str, Any], at_start: Mapping[str, Any]) -> list[str]:
        return [name for name, value in list(now.items()) if name not in at_start and hides(thing, name, value)]

    return hidden


def _make_put() -> Callable[[Any, str, Any], Callable[[], object]]:
    partial_ = partial

    def put(thing: Any, name: str, value: Any) -> Callable[[], object]:
        if issubclass(type(thing), type):
            return partial_(type.__setattr__, thing, name, value)
        return partial_(vars(thing).__setitem__, name, value)

    return put


def _make_take() -> Callable[[Any, str], Callable[[], object]]:
    partial_ = partial

    def take(thing: Any, name: str) -> Callable[[], object]:
        if issubclass(type(thing), type):
            return partial_(type.__delattr__, thing, name)
        return partial_(vars(thing).__delitem__, name)

    return take


_difference, _hidden, _put, _take = _make_difference(), _make_hidden(), _make_put(), _make_take()


def loaded(modules: Mapping[str, ModuleType], packages: frozenset[str]) -> Watch:
    """Entries of `sys.modules`."""
    known, partial_ = sys.modules, partial

    def is_hollow(module: Any) -> bool:
        try:
            return module is None or all(name.startswith("__") for name in vars(module))
        except BaseException:  # one of the user's that objects
            return True

    def faults() -> Iterator[Fault]:
        for name, module in modules.items():
            if known.get(name) is not module:
                yield f"sys.modules[{name!r}]", partial_(known.__setitem__, name, module), known.get(name)
        for name, now in list(known.items()):  # those that were imported later
            if name not in modules and name.partition(".")[0] in packages and is_hollow(now):
                yield f"sys.modules[{name!r}]", partial_(known.pop, name), None

    return faults


def order(name: str, find: Callable[[], Any], *, only: bool = False) -> Watch:
    """The items of a list; none of code in a cell may stand before them, and with `only` nothing beside them."""

    def is_ours(it: Any) -> bool:
        return type(it).__module__.startswith("ipymcp.")

    at_start = [it for it in find() if not is_ours(it)]  # those that are come first, and go by themselves

    def precedes(now: list[Any]) -> bool:
        for it in now:
            if any(it is known for known in at_start):
                return False
            if "__main__" in (type(it).__module__, getattr(it, "__module__", None)):
                return True
        return False

    def faults() -> Iterator[Fault]:
        now = find()
        if type(now) is not list:  # known already, and to be put back itself
            return
        others = [it for it in now if not any(it is known for known in at_start)]
        if len(now) - len(others) < len(at_start) or (only and others) or precedes(now):
            others = [] if only else others
            whole = [*filter(is_ours, others), *at_start, *(it for it in others if not is_ours(it))]
            yield name, lambda: now.__setitem__(slice(None), whole), None

    return faults


def path() -> Watch:
    """Entries of `sys.path`; where they stand is up to user code."""
    at_start, holder = list(sys.path), vars(sys)

    def faults() -> Iterator[Fault]:
        now = holder["path"]
        gone = [entry for entry in at_start if entry not in now]
        if gone:
            yield "sys.path", lambda: now.extend(gone), None

    return faults


def recursion() -> Watch:
    """The recursion limit, which our own code needs as well."""
    get, put, least = sys.getrecursionlimit, sys.setrecursionlimit, _LEAST

    def faults() -> Iterator[Fault]:
        if get() < least:
            yield "sys.setrecursionlimit()", lambda: put(least), None

    return faults
