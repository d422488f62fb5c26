"""Frames over the socket to the embedding process: an 8-byte big-endian length and that many bytes of UTF-8 JSON.

Main thread of the server process only. A forked child never uses it: `abandon` closes its copy of the descriptor.
Text is escaped a last time here, so that no lone surrogate leaves whatever a caller forgot.
"""

from __future__ import annotations

import json
import re
import struct
import sys
from collections.abc import Callable
from typing import Any

from ipymcp.sockets import open_socket

_HEADER = struct.Struct(">Q")
_SURROGATE = re.compile("[\ud800-\udfff]")
_READ_BYTES = 1 << 20
# Objects of their own: user code may replace json.dumps and json.loads.
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
_SCAN: Any = vars(json.JSONDecoder())["scan_once"]
_ID = re.compile(rb'\A\s*\{\s*"id"\s*:\s*(\d+)')


class RequestError(Exception):
    """A frame that is no request; `number` is the id it seems to have, 0 if none."""

    def __init__(self, number: int, message: str) -> None:
        super().__init__(message)
        self.number = number


class ChannelClosedError(Exception):
    """The other side is gone, or this is a child that gave its end up."""


class Channel:
    """One end of the stream, which blocks; interruptions by signals are retried by Python itself."""

    def __init__(self, descriptor: int) -> None:
        self._socket = open_socket(descriptor)
        # Of the frame that is being read: an exception of another thread must not lose it.
        self._pieces = bytearray()
        # Takes frames instead of the socket while a request is served on the lent thread.
        self.emit: Callable[[bytes], object] | None = None

    def fileno(self) -> int:
        """The descriptor, -1 when abandoned."""
        return self._socket.fileno()

    def receive(self) -> dict[str, Any] | None:
        """The next request, None at the end of the stream.

        Raises `RequestError` for a frame that is none, and `ChannelClosedError`.
        """
        if not self._fill(_HEADER.size):
            return None
        whole = _HEADER.size + _HEADER.unpack_from(self._pieces)[0]
        if not self._fill(whole):
            return None
        frame, self._pieces = bytes(memoryview(self._pieces)[_HEADER.size :]), bytearray()
        return decode(frame)

    def send(self, message: dict[str, Any]) -> None:
        """Sends one message. Raises `ChannelClosedError`."""
        self.deliver(encode(message))

    def deliver(self, frame: bytes) -> None:
        """Sends one message that is encoded already. Raises `ChannelClosedError`."""
        if self.emit is not None:
            self.emit(frame)
            return
        try:
            self._socket.sendall(_HEADER.pack(len(frame)) + frame)
        except OSError as error:
            raise ChannelClosedError from error

    def abandon(self) -> None:
        """Closes this process's copy of the descriptor, leaving the stream to the process that forked this one."""
        self.emit = None
        self._socket.close()

    def _fill(self, size: int) -> bool:
        """Reads until so many bytes of the frame are there; False at the end of the stream."""
        pieces = self._pieces
        while (before := len(pieces)) < size:
            try:
                pieces += self._socket.recv(min(size - len(pieces), _READ_BYTES))
            except OSError as error:
                raise ChannelClosedError from error
            if len(pieces) == before:
                return False
        return True


def encode(message: Any) -> bytes:
    """A message, or any JSON value, as UTF-8 JSON, integers in full whatever the interpreter's conversion limit is."""
    text: str = _unlimited(lambda: _ENCODER.encode(message))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub(lambda found: f"\\\\u{ord(found[0]):04x}", text).encode()


def decode(frame: bytes) -> dict[str, Any]:
    """The request in a frame."""
    try:
        request = _unlimited(lambda: _parse(frame.decode().strip()))
    except (ValueError, RecursionError) as error:
        found = _ID.match(frame)
        raise RequestError(int(found[1]) if found else 0, f"{type(error).__name__}: {error}") from error
    if not isinstance(request, dict):
        raise RequestError(0, f"the frame holds a {type(request).__name__}, not an object")
    return request


def _parse(text: str) -> Any:
    # The C function beneath the decoder: nothing of Python's that user code may have replaced comes in between.
    try:
        value, end = _SCAN(text, 0)
    except StopIteration:
        raise ValueError("no JSON value") from None
    if end != len(text):
        raise ValueError(f"more than one JSON value, the second at {end}")
    return value


def _unlimited(convert: Any) -> Any:
    """The result of a conversion, with the limit on the length of integers lifted only if it has to be."""
    try:
        return convert()
    except ValueError:
        allowed = sys.get_int_max_str_digits()
        if allowed == 0:
            raise
        sys.set_int_max_str_digits(0)
        try:
            return convert()
        finally:
            sys.set_int_max_str_digits(allowed)
