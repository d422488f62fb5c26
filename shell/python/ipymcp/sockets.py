"""Our end of the stream to the embedding process. Imported before anything else: it has to cost nothing."""

from __future__ import annotations

# Not module socket, whose methods user code may replace.
import _socket


def open_socket(descriptor: int) -> _socket.socket:
    """The descriptor as a socket that blocks, whatever default for sockets there is."""
    default = _socket.getdefaulttimeout()
    _socket.setdefaulttimeout(None)
    try:
        return _socket.socket(fileno=descriptor)
    finally:
        _socket.setdefaulttimeout(default)
