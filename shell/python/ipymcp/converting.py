"""The arguments of a dynamic tool's call, from JSON text to what the annotations promise.

Main thread: converting runs constructors of the user's. Imported by the first call of a tool.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from ipymcp.forms import MisfitError
from ipymcp.signatures import Description

__all__ = ["MisfitError", "converted"]


def converted(description: Description, text: str) -> dict[str, Any]:
    """The arguments by name. Raises `MisfitError`; the other side has checked the text against the schema."""
    arguments: dict[str, Any] = {}
    for name, value in json.loads(text, parse_float=Decimal).items():
        try:
            arguments[name] = description.forms[name].convert(value)
        except MisfitError as error:
            raise error.inside(name) from error.__cause__
    return arguments
