"""Names of the namespace: which are visible, which are protected, what a dotted path stands for. Main thread.

Names are plain dictionary keys: never normalised, never evaluated.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ipymcp.text import cut, escape
from ipymcp.typenames import class_name

SIX = frozenset({"In", "Out", "get_ipython", "exit", "quit", "open"})


class NameNotFoundError(Exception):
    """No object has that name."""


class AttributeAccessError(Exception):
    """An attribute of the path exists, but reading it raised; the cause is what it raised."""


def visible(namespace: dict[Any, Any]) -> Iterator[tuple[str, Any]]:
    """The visible names and their values, sorted by name."""
    found = [(str.__str__(key), value) for key, value in list(namespace.items()) if _is_visible(key)]
    return iter(sorted(found, key=lambda item: item[0]))


def _is_visible(key: Any) -> bool:
    return issubclass(type(key), str) and not str.startswith(key, "_") and str.__str__(key) not in SIX


def name_problem(name: object, limit: int) -> str | None:
    """Why something cannot be a (dotted) name at all; None if it can."""
    if not isinstance(name, str):
        return f"the name must be a string, not {class_name(type(name))}"
    if not name.strip():
        return "the name is empty"
    if len(name) > limit:
        return f"the name has {len(name)} characters; at most {limit} are looked up"
    if "\0" in name:
        return "the name contains a NUL character"
    return None


def resolve(namespace: dict[Any, Any], name: str) -> Any:
    """What a dotted path stands for: a key of the namespace, then attributes."""
    first, *rest = name.split(".")
    for part in (first, *rest):
        if not part or part.startswith("__"):
            raise NameNotFoundError(_not_found(name, f"{part} is hidden" if part else "a part of the path is empty"))
    if first not in namespace:
        raise NameNotFoundError(_not_found(name, "" if name == first else f"{first} does not exist"))
    value, path = namespace[first], first
    for part in rest:
        try:
            value = getattr(value, part)
        except AttributeError as error:
            raise NameNotFoundError(_not_found(name, f"{path} has no {part}")) from error
        except BaseException as error:  # a property of the user's may raise anything
            said = f"reading {cut(f'{path}.{part}', 200)[0]} raised {class_name(type(error))}"
            raise AttributeAccessError(said) from error
        path = f"{path}.{part}"
    return value


def _not_found(name: str, reason: str) -> str:
    because = f": {cut(reason, 200)[0]}" if reason else ""
    return f"no object is named {escape(cut(name, 200)[0])}{because}; search finds names"
