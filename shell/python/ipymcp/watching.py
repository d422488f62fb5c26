"""The callables that dynamic tools stand for, as they were described last. Main thread.

After every operation the other side's tokens are compared with what the names are bound to now. Where nothing has
changed that costs about half a microsecond a name and runs no code of the user's; what has changed is described
again, which can be interrupted. Only names that the other side still watches are kept.

What describes is imported when the first callable is described, to keep the start of the server short.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ipymcp.batches import Batch
    from ipymcp.forms import Neutral
    from ipymcp.kernel import Kernel
    from ipymcp.signatures import Description

_MISSING: Any = object()

# An interruption is meant for the code before; one that comes again and again ends the attempt.
_ATTEMPTS = 3


class Watched:
    """Descriptions by name."""

    def __init__(self) -> None:
        self._known: dict[str, Description] = {}
        self._tokens: dict[str, str] = {}
        self._batch: Batch | None = None

    def changes(self, kernel: Kernel, tokens: dict[str, str] | None) -> list[Neutral]:
        """The bindings of those names whose tokens are no longer right. The tokens are those of before if None."""
        if tokens is not None:
            self._tokens, self._batch = tokens, None
            self._known = {symbol: known for symbol, known in self._known.items() if symbol in tokens}
        if not self._tokens:
            return []
        from ipymcp.batches import Batch

        namespace, batch = kernel.namespace, self._batch
        if batch is not None and batch.holds(namespace):
            suspects = batch.others
        else:
            suspects, self._batch = list(self._tokens), None
        changed = [symbol for symbol in suspects if not self._is_same(kernel, symbol, self._tokens[symbol])]
        found = [self._binding(kernel, symbol, self._tokens[symbol]) for symbol in changed]
        if self._batch is None:
            self._batch = Batch([(symbol, self._right(symbol, token)) for symbol, token in self._tokens.items()])
        return [binding for binding in found if binding is not None]

    def describe(self, kernel: Kernel, symbol: str) -> Neutral:
        """What a name is bound to, described anew."""
        return self._binding(kernel, symbol, None) or {"symbol": symbol, "state": "missing"}

    def current(self, kernel: Kernel, symbol: str, token: str) -> Description | None:
        """The description that the token stands for, if the name still is bound to that."""
        if not self._is_same(kernel, symbol, token) and self._binding(kernel, symbol, token):
            return None
        return self._known[symbol]

    def _right(self, symbol: str, token: str) -> Description | None:
        known = self._known.get(symbol)
        return known if known is not None and known.token == token else None

    def _is_same(self, kernel: Kernel, symbol: str, token: str) -> bool:
        known = self._right(symbol, token)
        if known is None or kernel.namespace.get(symbol, _MISSING) is not known.value:
            return False
        if known.changeable:
            return bool(_interruptible(kernel, known.holds))
        return known.snapshot.holds()

    def _binding(self, kernel: Kernel, symbol: str, token: str | None) -> Neutral | None:
        """The binding of a name; None where it is what the token stands for."""
        from ipymcp.signatures import describe

        value = kernel.namespace.get(symbol, _MISSING)
        if value is _MISSING or not callable(value):
            self._known.pop(symbol, None)
            return {"symbol": symbol, "state": "missing" if value is _MISSING else "not_callable"}
        found = _interruptible(kernel, partial(describe, value)) or _interrupted(value)
        self._known[symbol] = found
        if found.token == token:
            return None
        limit = kernel.limits.description_chars
        neutral = _interruptible(kernel, partial(found.neutral, limit)) or _interrupted(value).neutral(limit)
        return {"symbol": symbol, "state": "callable", "callable": neutral}


def _interruptible(kernel: Kernel, work: Any) -> Any:
    """The result of code of the user's; None where it is interrupted again and again."""
    for _ in range(_ATTEMPTS):
        try:
            return kernel.interrupts.run(work)
        except KeyboardInterrupt:
            continue
    return None


def _interrupted(value: Any) -> Description:
    from ipymcp.signatures import Description
    from ipymcp.snapshots import Snapshot

    description = Description(value, Snapshot([]), problem="describing it was interrupted")
    description.snapshot.volatile = True
    return description
