"""The request loop. Main thread of the server process; a reply for every request, whatever user code raises."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ipymcp import spectators
from ipymcp.channel import Channel, ChannelClosedError, RequestError, decode, encode
from ipymcp.embedding import embedding
from ipymcp.eventloop import EventLoop
from ipymcp.forks import ForkGuard
from ipymcp.foundation import Foundation
from ipymcp.handlers import guard
from ipymcp.interrupts import Interrupts, default_handlers
from ipymcp.questions import Questions
from ipymcp.starting import StartError, start
from ipymcp.streams import StandardStreams

if TYPE_CHECKING:
    from ipymcp.kernel import Kernel

# Failures in a row from which the request loop recovers.
_MOST_FAILURES = 100

Operation = Callable[[dict[str, Any]], Any]


class Server:
    """Everything of the process: channel, loop, streams, and after `start` the kernel."""

    def __init__(self, descriptor: int) -> None:
        self._channel = Channel(descriptor)
        self._interrupts = Interrupts()
        self._foundation = Foundation()
        # Bound: user code may replace what the class holds.
        self._steady, self._mend = self._foundation.steady, self._foundation.mend
        self._event_loop = EventLoop(self._interrupts)
        self._event_loop.mend = self._mend
        self._questions = Questions(self._channel, self._interrupts)
        self._streams = StandardStreams(self._questions)
        self._forks = ForkGuard(self._channel, self._event_loop, self._streams)
        self._endings = (ChannelClosedError,)
        self._unanswered: Any = None  # the id of the request that is being answered
        self._taken: bytes | None = None  # the last request that came on the lent thread
        self._kernel: Kernel | None = None
        self._operations: dict[str, Operation] = {"start": self._start}

    def serve(self) -> None:
        """Answers requests until the other side ends the stream."""
        default_handlers()
        guard(self._interrupts)
        spectators.guard(self._interrupts)
        self._prepare()
        with suppress(ChannelClosedError):
            while self._go_on():
                pass
        self._event_loop.close()
        self._streams.retire()

    def _go_on(self) -> bool:
        """Serves one request, whatever code of the user's or another thread throws at this one meanwhile."""
        for _ in range(_MOST_FAILURES):
            try:
                return self._steady(self._serve_one)
            except self._endings:
                raise
            except BaseException:
                self._recover()
        return self._serve_one()

    def _recover(self) -> None:
        """Mends what is broken. What another thread throws meanwhile changes nothing."""
        try:
            self._mend()
        except BaseException:
            return

    def _serve_one(self) -> bool:
        if self._unanswered is not None:
            self._forks.leave_if_child(None)
            self._channel.send(_lost(self._unanswered))
            self._unanswered = None
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
            self._unanswered = request.get("id")
            self._steady(self._channel.deliver, self._reply_frame(request))
            self._unanswered = None
        if self._kernel is not None and not self._foundation.laid:
            self._foundation.lay(self._kernel.shell)  # now that the other side need not wait for it
        return True

    def _lend(self) -> None:
        """Has the embedding process use this thread until it is needed here."""
        if embedding is not None:
            embedding.lend(self._serve_lent, self._stand_by, self._event_loop.awaited())

    def _stand_by(self, descriptor: int) -> None:
        """Lets background tasks go on until the embedding process has finished an answer."""
        self._event_loop.wait_readable(descriptor)
        self._forks.leave_if_child(None)

    def _serve_lent(self, frame: bytes) -> tuple[bytes, int]:
        """The reply to a request that comes on the lent thread, and the descriptor for which this thread waits then.

        The same frame again says that the reply did not arrive.
        """
        before, self._taken = self._taken, frame
        if before is frame:
            return encode(_lost(decode(frame).get("id"))), self._event_loop.awaited()
        self._channel.emit = embedding.emit
        try:
            return self._lent_reply(frame), self._event_loop.awaited()
        finally:
            self._channel.emit = None

    def _lent_reply(self, frame: bytes) -> bytes:
        try:
            return self._reply_frame(self._steady(decode, frame))
        except RequestError as error:
            return encode({"id": error.number, "fault": _fault(error)})
        except BaseException:
            self._forks.leave_if_child(None)
            self._recover()
            return encode(_lost(decode(frame).get("id")))

    def _reply_frame(self, request: dict[str, Any]) -> bytes:
        reply = self._reply(request)
        self._forks.leave_if_child(_error_of(reply))
        return self._steady(_encoded, reply)

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
            self._steady(self._prepare)
            self._questions.begin(request)
            operation = self._operations.get(request["op"])
            if operation is None:
                raise RequestError(0, f"operation {request['op']!r} is unknown, or comes before start")
            reply = {"id": number, "value": operation(request.get("args") or {})}
            reply["interrupted"] = self._interrupts.raised > 0 and _error_of(reply) is not None
            if self._kernel is not None:
                changes = self._kernel.watched.changes
                reply["bindings"] = self._steady(changes, self._kernel, request.get("tools"))
            return reply
        except BaseException as error:  # nothing that an operation raises may end the loop
            self._recover()
            return {"id": number, "fault": _fault(error)}
        finally:
            self._questions.end()
            self._streams.flush()

    def _start(self, args: dict[str, Any]) -> dict[str, Any]:
        try:
            self._kernel = start(args, self._interrupts, self._event_loop, self._streams, self._foundation)
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


def _lost(number: Any) -> dict[str, Any]:
    """The reply to a request whose own was lost."""
    said = "the code destroyed what answers requests, which was put back; what it did besides stays"
    return {"id": number, "fault": {"type": "RuntimeError", "message": said}}


def _fault(error: BaseException) -> dict[str, str]:
    try:
        return {"type": type(error).__name__, "message": str(error)[:2000]}
    except BaseException:  # an exception of the user's that cannot be shown
        return {"type": type(error).__name__, "message": ""}


def _error_of(reply: dict[str, Any]) -> dict[str, Any] | None:
    value = reply.get("value", {})
    error: dict[str, Any] | None = value.get("error") or reply.get("fault")
    return error
