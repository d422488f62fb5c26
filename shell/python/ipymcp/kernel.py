"""The state of the running namespace that operations share. Main thread; made once, by the `start` operation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ipymcp.eventloop import EventLoop
from ipymcp.foundation import Foundation
from ipymcp.interrupts import Interrupts
from ipymcp.ipyshell import NamespaceShell
from ipymcp.limits import Limits
from ipymcp.names import SIX
from ipymcp.staleness import Leftovers
from ipymcp.streams import StandardStreams
from ipymcp.watching import Watched

Answer = dict[str, Any]


@dataclass(slots=True)
class Kernel:
    """`count` is the number of the last execution; `bindings` maps configured modules to their protected names."""

    limits: Limits
    shell: NamespaceShell
    interrupts: Interrupts
    event_loop: EventLoop
    streams: StandardStreams
    foundation: Foundation
    bindings: dict[str, str]
    count: int = 0
    watched: Watched = field(default_factory=Watched)
    leftovers: Leftovers = field(default_factory=Leftovers)

    @property
    def namespace(self) -> dict[Any, Any]:
        """The live namespace itself."""
        namespace: dict[Any, Any] = self.shell.own_module.__dict__
        return namespace

    def is_protected(self, name: str) -> bool:
        """Whether neither remove nor reset takes the name away."""
        return name.startswith("_") or name in SIX or name in self.bindings.values()
