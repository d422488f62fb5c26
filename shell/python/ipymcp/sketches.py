"""What was displayed so far, in files: for answers that are given while the code runs. Any thread that displays.

Each bundle has a file of its own, so that nobody has to be asked, or to wait, where the main thread is busy. The
embedding process reads those whose names begin with the number of the request that runs.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from typing import Any

from ipymcp.bundles import Bundle
from ipymcp.channel import encode


class Sketches:
    """The files of one process; a forked child has none. What cannot be written is missing until the code has ended."""

    def __init__(self, directory: str, request: Callable[[], Any]) -> None:
        self._directory = directory
        self._request = request
        self._process = os.getpid()
        self._numbers = count()

    def add(self) -> str:
        """The path of a new file, behind all that there are; it is not there yet."""
        name = f"sketch-{self._request()}-{next(self._numbers):012d}.json"
        return os.path.join(self._directory, name)

    def draw(self, path: str, bundle: Bundle, omitted: bool) -> None:
        """Writes a bundle, at once or not at all; `omitted` says that there are more than are kept."""
        if os.getpid() != self._process:
            return
        fields = {"data": bundle.data, "metadata": bundle.metadata, "files": bundle.files}
        fields |= {"cut": bundle.cut or omitted, "omitted": omitted}
        draft = path + ".new"
        with suppress(OSError):
            with open(draft, "wb") as file:
                file.write(encode(fields))
            os.replace(draft, path)

    def remove(self, path: str) -> None:
        """Deletes a file."""
        if os.getpid() == self._process:
            with suppress(OSError):
                os.unlink(path)
