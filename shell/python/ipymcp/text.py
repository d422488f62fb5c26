"""Text that may go on the wire: lone surrogates made visible, lengths bounded. Pure functions, any thread."""

from __future__ import annotations

import re

ELLIPSIS = "…"
_LAST_LINE_CHARS = 80  # beyond, it is no note about the whole
# Control sequences of terminals (ECMA-48): CSI, strings (OSC, DCS, SOS, PM, APC) up to their end, single escapes.
_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]{0,64}[ -/]{0,8}[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]{0,4096}(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]{0,2}[0-~]?|[\x80-\x9f]"
)


def plain(text: str) -> str:
    """The text without the control sequences of terminals."""
    return text if text.isascii() and "\x1b" not in text else _SEQUENCE.sub("", text)


def escape(text: str) -> str:
    """The text with each lone surrogate as six visible characters (`\\udcaf`); everything else as it is."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()
    return text


def cut(text: str, limit: int) -> tuple[str, bool]:
    """At most `limit` characters, the last one an ellipsis where something was cut; and whether it was."""
    # Escaping only grows a text, so one character beyond the limit is enough to know.
    visible = escape(text[: limit + 1])
    if len(visible) <= limit:
        return visible, False
    return visible[: limit - 1] + ELLIPSIS, True


def cut_before_last_line(text: str, limit: int) -> str:
    """At most `limit` characters; where something was cut, a short last line stays: tables state their shape there."""
    end = escape(text[max(text.rfind("\n"), 0) :])
    if len(text) <= limit or len(end) > min(_LAST_LINE_CHARS, limit // 2):
        return cut(text, limit)[0]
    return cut(text, limit - len(end))[0] + end


def head_and_tail(text: str, limit: int) -> tuple[str, bool]:
    """Both ends of a text around a marker line that is not counted; and whether something was cut."""
    visible = escape(text)
    omitted = len(visible) - limit
    if omitted <= 0:
        return visible, False
    head, tail = visible[: limit - limit // 2], visible[len(visible) - limit // 2 :]
    return f"{head}\n… {omitted} characters omitted (of {len(visible)}) …\n{tail}", True
