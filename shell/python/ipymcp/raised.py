"""What an exception holds, read from the slots of the built-in classes.

A class of the user's may define anything over them. Pure functions, any thread; they run no user code.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any


def slot(error: BaseException, name: str, owner: type[BaseException] = BaseException) -> Any:
    """An attribute as the built-in class `owner`, of which the exception has to be one, keeps it."""
    return vars(owner)[name].__get__(error)


def is_a(error: BaseException, *classes: type[BaseException]) -> bool:
    """`isinstance`, without asking the exception for its class."""
    return issubclass(type(error), classes)


def traceback_of(error: BaseException) -> TracebackType | None:
    """The exception's `__traceback__`."""
    found: TracebackType | None = slot(error, "__traceback__")
    return found


def notes_of(error: BaseException) -> list[Any]:
    """What `add_note` added, and what user code put in its place if that is a list."""
    notes: Any = dict.get(slot(error, "__dict__"), "__notes__")
    return list(notes) if type(notes) in (list, tuple) else []
