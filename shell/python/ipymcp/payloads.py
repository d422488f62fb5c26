"""Binary payloads of displays: their bytes, and the files in which they reach the embedding process. Main thread.

Pixels never travel in a reply: a file costs no memory on the other side until it is read, and may be as large as it is.
"""

from __future__ import annotations

import base64
import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

_TEXT_TYPES = ("text/", "application/json", "application/javascript", "image/svg+xml")
_TEXT_SUFFIXES = ("+json", "+xml")
# Of several images in one bundle, which show the same picture, the first of these goes to the client.
_PREFERRED = ("image/png", "image/jpeg", "image/webp", "image/gif")


def _is_text(mime: str) -> bool:
    return mime.startswith(_TEXT_TYPES) or mime.endswith(_TEXT_SUFFIXES)


def is_visual(mime: str) -> bool:
    """Whether a payload of the type is not there to be read, but to be looked at or listened to."""
    return mime.startswith("image/") or not _is_text(mime)


def content_of(mime: str, payload: Any) -> bytes | None:
    """The bytes of a binary payload; None for one that is text or data. Raises `ValueError` for a broken image."""
    if isinstance(payload, (bytes, bytearray, memoryview)):
        return bytes(payload)
    if not isinstance(payload, str) or _is_text(mime):
        return None
    try:
        return base64.b64decode("".join(payload.split()), validate=True)
    except ValueError:
        if mime.startswith("image/"):
            raise
        return None


def preferred_image(mimes: Iterable[str]) -> str | None:
    """The type of the image to show, where there is one."""
    images = [mime for mime in mimes if mime.startswith("image/")]
    return next((mime for mime in _PREFERRED if mime in images), images[0] if images else None)


class PayloadFiles:
    """Writes to the scratch directory; who takes a reply owns the files that it names."""

    def __init__(self, directory: str) -> None:
        self._directory = directory

    def write(self, content: bytes) -> str:
        """The name of a new file with that content. Raises `OSError`."""
        descriptor, path = tempfile.mkstemp(prefix="payload-", dir=self._directory)
        try:
            with open(descriptor, "wb") as file:
                file.write(content)
        except BaseException:
            os.unlink(path)
            raise
        return os.path.basename(path)

    def remove(self, names: Iterable[str]) -> None:
        """Deletes files that no reply will name."""
        for name in names:
            with suppress(OSError):
                os.unlink(os.path.join(self._directory, name))
