"""Child processes of coroutines before Python 3.14, where a loop asks the policy for who waits for them. Main thread.

The policy of another kind of loop (uvloop's) has nobody, because its own loops need nobody; the server's loop stays
Python's own whatever policy user code sets.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from functools import partial
from typing import Any


def provide() -> None:
    """Call it once, before user code."""
    if sys.version_info < (3, 14):
        events: Any = asyncio.events
        events.get_child_watcher = partial(_watcher, events.get_child_watcher, asyncio.ThreadedChildWatcher())


def _watcher(of_the_policy: Callable[[], Any], otherwise: Any) -> Any:
    try:
        return of_the_policy()
    except NotImplementedError:
        return otherwise
