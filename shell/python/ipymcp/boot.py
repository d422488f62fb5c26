"""The entry: `main` is called once, on CPython's main thread, with the descriptor of our end of the socket.

It returns when the other side ends the stream; the interpreter then finalizes, and `atexit` handlers run.
"""

from __future__ import annotations

import os
import sys
from _json import encode_basestring_ascii as quoted

from ipymcp.sockets import open_socket


def main(descriptor: int) -> None:
    """Serves requests on the descriptor until its stream ends."""
    _say_hello(descriptor)
    path = list(sys.path)
    # What PYTHONPATH puts in front of the standard library is meant for the user's code, not for what we import.
    standard = os.path.dirname(os.__file__)
    sys.path[:] = path[path.index(standard) if standard in path else 0 :]
    import warnings

    from ipymcp.separate import separate

    separate()
    with warnings.catch_warnings():
        # PYTHONWARNINGS=error is meant for the user's code, too.
        warnings.simplefilter("ignore")
        from ipymcp.server import Server
    sys.path[:] = path
    Server(descriptor).serve()


def _say_hello(descriptor: int) -> None:
    """Tells that CPython is up, which is when the client is answered.

    What serves requests is imported afterwards: asyncio alone takes longer than all before it.
    """
    version = sys.version.split()[0]
    members = {"event": "hello", "version": version, "executable": sys.executable, "prefix": sys.prefix}
    frame = ("{" + ",".join(f"{quoted(name)}:{quoted(value)}" for name, value in members.items()) + "}").encode()
    channel = open_socket(descriptor)
    channel.sendall(len(frame).to_bytes(8, "big") + frame)
    channel.detach()
