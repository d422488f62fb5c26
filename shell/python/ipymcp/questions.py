"""Questions of user code to a person. The embedding process puts them to the client, where that can be asked.

Main thread. A question is a frame of its own while its request runs, and so is its answer. The number of the question
tells a late answer, to one that was given up, from the one that is waited for.
"""

from __future__ import annotations

from contextlib import suppress

# By name: user code may replace what the modules hold.
from select import POLLIN, poll
from threading import get_ident
from typing import Any

from ipymcp.channel import Channel, ChannelClosedError
from ipymcp.interrupts import Interrupts
from ipymcp.raised import slot

_ADVICE = "put the value into a variable instead"


class UnansweredError(Exception):
    """There is no answer; the message says why, in words that follow the name of the function that asked."""


class Questions:
    """One question at a time, and only while a request runs whose client can be asked."""

    def __init__(self, channel: Channel, interrupts: Interrupts) -> None:
        self._channel = channel
        self._interrupts = interrupts
        self._thread = get_ident()
        # The id of the request that runs, None between requests.
        self._request: Any = None
        self._can_ask = False
        self._last = 0
        self._open = False
        self._refusal: Exception | None = None

    def begin(self, request: dict[str, Any]) -> None:
        """A request runs from now on."""
        self._can_ask = request.get("can_ask") is True
        self._request = request.get("id")
        self._refusal = None

    def end(self) -> None:
        """No request runs."""
        self._request = None

    @property
    def request(self) -> Any:
        """The id of the request that runs, None between requests."""
        return self._request

    def require(self, function: str, refusal: type[Exception] = EOFError) -> None:
        """Raises where the function that wants to ask can ask nobody now."""
        obstacle = self._obstacle()
        if obstacle is not None:
            raise self.refused(refusal(f"{function}() {obstacle}"))

    def refused(self, error: Exception) -> Exception:
        """Takes note of the last refusal."""
        self._refusal = error
        return error

    def hint(self, error: BaseException) -> str:
        """The refusal that an exception is raised in the place of, without a word of it (`click.Abort`)."""
        hides = slot(error, "__suppress_context__") and slot(error, "__context__") is self._refusal
        return str(self._refusal) if hides and self._refusal is not None else ""

    def _obstacle(self) -> str | None:
        if self._channel.fileno() < 0:
            return "cannot ask from a child process; ask in the session and hand the answer over"
        if get_ident() != self._thread:
            return "cannot ask from a thread; ask in the main thread and hand the answer over"
        if self._request is None:
            return "cannot ask between two calls; ask in a call and hand the answer over"
        if not self._can_ask:
            return f"cannot ask: the client offers no elicitation for this call; {_ADVICE}"
        if self._open:
            return "cannot ask while another question is open"
        return None

    def ask(self, prompt: str, *, secret: bool) -> str:
        """The answer of a person; nothing may be in the way. Raises `UnansweredError`.

        An interruption, and what a signal handler of user code raises, ends the wait for it.
        """
        return self._interrupts.shield(self._ask, prompt, secret)

    def _ask(self, prompt: str, secret: bool) -> str:
        self._open = True
        self._last += 1
        try:
            return self._exchange({"number": self._last, "prompt": prompt, "secret": secret})
        except ChannelClosedError:
            raise UnansweredError("got no answer: the server ends") from None
        finally:
            self._open = False

    def _exchange(self, question: dict[str, Any]) -> str:
        self._channel.send({"id": self._request, "ask": question})
        try:
            answer = self._answer(question["number"])
        except BaseException:
            with suppress(ChannelClosedError):
                self._channel.send({"id": self._request, "withdraw": question["number"]})
            raise
        if "refusal" in answer:
            raise UnansweredError(answer["refusal"])
        text: str = answer["text"]
        return text

    def _answer(self, number: int) -> dict[str, Any]:
        readable = poll()
        readable.register(self._channel.fileno(), POLLIN)
        while True:
            self._interrupts.run(readable.poll)
            frame = self._channel.receive()
            if frame is None:
                raise ChannelClosedError
            answer: dict[str, Any] = frame["answer"]
            if answer["number"] == number:
                return answer
