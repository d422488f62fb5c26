"""IPython's events, whose callbacks can be interrupted as the cell can: one of them draws figures. Main thread."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from IPython.core.events import EventManager, available_events

if TYPE_CHECKING:
    from ipymcp.ipyshell import NamespaceShell


class Callbacks(EventManager):
    """Takes over what was registered already."""

    def __init__(self, shell: NamespaceShell, registered: dict[str, list[Any]]) -> None:
        super().__init__(shell, available_events)
        self.callbacks = registered

    def trigger(self, event: str, *args: Any, **kwargs: Any) -> None:
        """Calls what is registered for the event."""
        if not self.callbacks[event]:
            return
        interrupts = self.shell.event_loop.interrupts
        before = interrupts.raised
        try:
            interrupts.run(partial(super().trigger, event, *args, **kwargs))
        except BaseException:  # IPython passes on what is no Exception
            self.shell.showtraceback(sys.exc_info())
        if interrupts.raised == before:
            return
        # IPython shows what a callback raises and goes on.
        if event.startswith("pre_"):
            interrupts.defer()  # the cell was meant
        else:
            interrupts.done()
