"""The builtin module of the embedding process (internal/cpython/module.c). Main thread only."""

from collections.abc import Callable
from io import TextIOWrapper
from types import FunctionType
from typing import Any

def lend(serve: Callable[[bytes], tuple[bytes, int]], stand_by: Callable[[int], None], descriptor: int, /) -> None:
    """Lets the embedding process use this thread, until the descriptor is readable or something else needs it.

    It calls `serve` with the bytes of each request, and gets those of the reply, and the descriptor to wait for next;
    -1: this thread has something to do. While it finishes an answer that takes long, it calls `stand_by` with a
    descriptor that is readable at the end.
    """

def collect(stream_class: type[TextIOWrapper], stream: TextIOWrapper, /) -> Callable[[str], int]:
    """A `write` for a UTF-8 stream of the class over descriptor 1: what is small is collected at once."""

def are_unchanged(
    functions: list[FunctionType], parts: list[Any], annotations: list[dict[str, Any]], items: list[Any], /
) -> bool:
    """Whether functions have these parts, five each, and annotations these keys and values, by identity."""

def emit(frame: bytes, /) -> None:
    """Passes on what comes before the reply."""
