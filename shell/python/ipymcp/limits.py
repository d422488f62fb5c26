"""The bounds that the embedding process sends with `start`; read-only afterwards, any thread may read them.

All of them count Unicode code points or items. There are no defaults: the one source of the numbers is the other
side.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Each field is a positive integer."""

    text_chars: int
    repr_chars: int
    traceback_chars: int
    results: int
    display_items: int
    json_depth: int
    description_chars: int
