"""What was displayed so far, in a file: for answers that are given while the code runs. Any thread that displays.

Nobody has to be asked, or to wait, where the main thread is busy: the embedding process reads the file whose name has
the number of the request that runs. It is drawn ten times a second at most: drawing takes much longer than displaying.
"""

from __future__ import annotations

import os

# Names of their own: user code may replace those in the modules, and the thread is none that threading lists.
from _thread import RLock, allocate_lock, start_new_thread
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any

from ipymcp.bundles import Bundle
from ipymcp.channel import encode
from ipymcp.payloads import PayloadFiles

_INTERVAL_SECONDS = 0.1


@dataclass(slots=True)
class Snapshot:
    """What there is to draw; `omitted` says that there is more than is kept."""

    bundles: list[Bundle]
    cut: bool
    omitted: bool


class Sketches:
    """The file of one process; a forked child has none. What cannot be drawn is missing until the code has ended."""

    def __init__(self, directory: str, request: Callable[[], Any], files: PayloadFiles) -> None:
        self._directory = directory
        self._request = request
        self._files = files
        self._process = os.getpid()
        # Reentrant: signal handlers and finalizers may display while something is drawn; that is drawn later.
        self._lock = RLock()
        self._drawing = False
        self._snapshot: Callable[[], Snapshot] | None = None
        self._path = ""  # of the file, where it may be there
        self._drawn: set[str] = set()  # payloads that the file names
        self._released: set[str] = set()  # payloads to delete once the file does not name them
        self._last = float("-inf")
        # Held while a thread waits for its time to draw; released to send it away.
        self._waiting: Any = None

    def begin(self, snapshot: Callable[[], Snapshot]) -> None:
        """Has an operation's displays drawn, from now to `end`."""
        if os.getpid() != self._process:
            return
        with self._lock:
            self._snapshot = snapshot

    def end(self) -> None:
        """Takes the file away; nothing is drawn any more."""
        if os.getpid() != self._process:
            return
        with self._lock:
            self._snapshot = None
            self._send_away()
            if self._path:
                with suppress(Exception):
                    os.unlink(self._path)
            self._path = ""
            self._files.remove(self._released)
            self._drawn, self._released = set(), set()

    def changed(self, at_once: bool = True) -> None:
        """Draws where the last drawing is long enough ago, and later otherwise."""
        if os.getpid() != self._process:
            return
        with self._lock:
            if self._snapshot is None:
                return
            if at_once and not self._drawing and monotonic() - self._last >= _INTERVAL_SECONDS:
                self._draw(self._snapshot)
            elif self._waiting is None:
                self._wait()

    def release(self, payloads: Iterable[str]) -> None:
        """Deletes payloads that are not displayed any more; what the file names, once it is drawn without it."""
        names = set(payloads)
        if not names or os.getpid() != self._process:
            self._files.remove(names)
            return
        with self._lock:
            # What is being drawn may name any of them.
            kept = names if self._drawing else names & self._drawn
            self._released |= kept
            self._files.remove(names - kept)

    def _draw(self, snapshot: Callable[[], Snapshot]) -> None:
        self._send_away()
        self._path = self._path or os.path.join(self._directory, f"sketch-{self._request()}.json")
        self._drawing = True
        try:
            # Whatever is raised, by an audit hook for one, is not the fault of the code that displays.
            with suppress(Exception):
                shown = snapshot()
                self._write(shown)
                self._drawn = {name for bundle in shown.bundles for name in bundle.files.values()}
                self._files.remove(self._released - self._drawn)
                self._released &= self._drawn
        finally:
            self._drawing, self._last = False, monotonic()

    def _write(self, shown: Snapshot) -> None:
        """Writes the file at once or not at all; one thread at a time, so that they may share the draft."""
        displays = [{"data": it.data, "metadata": it.metadata, "files": it.files} for it in shown.bundles]
        content = encode({"displays": displays, "cut": shown.cut, "omitted": shown.omitted})
        draft = self._path + ".new"
        try:
            with open(draft, "wb") as file:
                file.write(content)
            os.replace(draft, self._path)
        except BaseException:
            with suppress(OSError):
                os.unlink(draft)
            raise

    def _wait(self) -> None:
        """Has a thread draw in time; where there can be none, the next display that comes later than that draws."""
        waiting = allocate_lock()
        waiting.acquire()
        with suppress(Exception):
            start_new_thread(self._draw_later, (waiting,))
            self._waiting = waiting

    def _draw_later(self, waiting: Any) -> None:
        with suppress(BaseException):
            if waiting.acquire(timeout=_INTERVAL_SECONDS):
                return
            with self._lock:
                if self._waiting is waiting and self._snapshot is not None:
                    self._draw(self._snapshot)

    def _send_away(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.release()
