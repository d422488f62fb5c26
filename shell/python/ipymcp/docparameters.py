"""Descriptions of parameters in a docstring: Google, NumPy, reST and Epydoc style. Pure function, any thread.

The library that reads them is imported when the first docstring needs it; where it is missing or a docstring confuses
it, there are no descriptions.
"""

from __future__ import annotations

import re

# What a description of parameters cannot do without; most docstrings have none of it.
_MARKS = re.compile(
    r"^\s*(?:(?:Args|Arguments|Parameters|Params|Keyword Args|Keyword Arguments|Other Parameters|Attributes)\s*:?\s*$"
    r"|[:@](?:param|parameter|arg|argument|key|keyword|type)\b)",
    re.MULTILINE,
)
# Docstrings are read up to here.
_MOST_CHARS = 16 << 10


def parameter_texts(docstring: str) -> dict[str, str]:
    """Name to description, on one line each."""
    text = docstring[:_MOST_CHARS]
    if not _MARKS.search(text):
        return {}
    try:
        from docstring_parser import parse

        parsed = parse(text).params
    except Exception:  # it meets text that follows no rule
        return {}
    texts: dict[str, str] = {}
    for parameter in parsed:
        description = " ".join((parameter.description or "").split())
        for name in parameter.arg_name.split(","):
            if description:
                texts.setdefault(name.strip().lstrip("*"), description)
    return texts
