"""The request loop. Main thread of the server process; a reply for every request, whatever user code raises."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ipymcp.channel import Channel, ChannelClosedError, RequestError, decode, encode
from ipymcp.embedding import embedding
from ipymcp.eventloop import EventLoop
from ipymcp.forks import ForkGuard
from ipymcp.handlers import guard
from ipymcp.interrupts import Interrupts, default_handlers
from ipymcp.questions import Questions
from ipymcp.starting import StartError, start
from ipymcp.streams import StandardStreams

if TYPE_CHECKING:
    from ipymcp.kernel import Kernel

Operation = Callable[[dict[str, Any]], Any]


class Server:
    """Everything of the process: channel, loop, streams, and after `start` the kernel."""

    def __init__(self, descriptor: int) -> None:
        self._channel = Channel(descriptor)
        self._interrupts = Interrupts()
        self._event_loop = EventLoop(self._interrupts)
        self._questions = Questions(self._channel, self._interrupts)
        self._streams = StandardStreams(self._questions)
        self._forks = ForkGuard(self._channel, self._event_loop, self._streams)
        self._kernel: Kernel | None = None
        self._operations: dict[str, Operation] = {"start": self._start}

    def serve(self) -> None:
        """Answers requests until the other side ends the stream."""
        default_handlers()
        guard(self._interrupts)
        self._prepare()
        with suppress(ChannelClosedError):
            while self._serve_one():
                pass
        self._event_loop.close()
        self._streams.retire()

    def _serve_one(self) -> bool:
        if self._channel.fileno() >= 0:
            self._event_loop.wait_readable(self._channel.fileno())
        self._forks.leave_if_child(None)
        try:
            request = self._channel.receive()
        except RequestError as error:
            self._channel.send({"id": error.number, "fault": _fault(error)})
            return True
        if request is None:
            return False
        if "lend" in request:
            self._lend()
        elif "answer" not in request:  # to a question that was given up
            self._channel.deliver(_encoded(self._answered(request)))
        return True

    def _lend(self) -> None:
        """Has the embedding process use this thread until it is needed here."""
        if embedding is not None:
            embedding.lend(self._serve_lent, self._event_loop.awaited())

    def _serve_lent(self, frame: bytes) -> tuple[bytes, int]:
        """The reply to a request that comes on the lent thread, and the descriptor for which this thread waits then."""
        self._channel.emit = embedding.emit
        try:
            reply = self._answered(decode(frame))
            return _encoded(reply), self._event_loop.awaited()
        except RequestError as error:
            return encode({"id": error.number, "fault": _fault(error)}), -1
        finally:
            self._channel.emit = None

    def _answered(self, request: dict[str, Any]) -> dict[str, Any]:
        reply = self._reply(request)
        self._forks.leave_if_child(_error_of(reply))
        return reply

    def _prepare(self) -> None:
        """Repairs what user code may have broken, before each request."""
        self._interrupts.install()
        self._streams.restore()
        self._event_loop.establish()
        if self._kernel is not None:
            self._kernel.shell.restore_main()

    def _reply(self, request: dict[str, Any]) -> dict[str, Any]:
        number = request.get("id")
        try:
            self._prepare()
            self._questions.begin(request)
            operation = self._operations.get(request["op"])
            if operation is None:
                raise RequestError(0, f"operation {request['op']!r} is unknown, or comes before start")
            reply = {"id": number, "value": operation(request.get("args") or {})}
            reply["interrupted"] = self._interrupts.raised > 0
            if self._kernel is not None:
                reply["bindings"] = self._kernel.watched.changes(self._kernel, request.get("tools"))
            return reply
        except BaseException as error:  # nothing that an operation raises may end the loop
            return {"id": number, "fault": _fault(error)}
        finally:
            self._questions.end()
            self._streams.restore_builtins()
            self._streams.flush()

    def _start(self, args: dict[str, Any]) -> dict[str, Any]:
        try:
            self._kernel = start(args, self._interrupts, self._event_loop, self._streams)
        except StartError as error:
            return {"failure": {"phase": error.phase, "message": str(error)}}
        from ipymcp.operations import table

        self._operations = table(self._kernel)
        return {}


def _encoded(reply: dict[str, Any]) -> bytes:
    try:
        return encode(reply)
    except (TypeError, ValueError, RecursionError, MemoryError) as error:
        return encode({"id": reply["id"], "fault": _fault(error)})


def _fault(error: BaseException) -> dict[str, str]:
    try:
        return {"type": type(error).__name__, "message": str(error)[:2000]}
    except BaseException:  # an exception of the user's that cannot be shown
        return {"type": type(error).__name__, "message": ""}


def _error_of(reply: dict[str, Any]) -> dict[str, Any] | None:
    value = reply.get("value", {})
    error: dict[str, Any] | None = value.get("error") or reply.get("fault")
    return error
