"""The table of operations that a started server answers. Main thread.

Each is run so that it can be interrupted and nothing it raises gets out: then its own empty answer carries the error.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ipymcp import browsing, calling, execution, reloading, removing, toolcalls
from ipymcp.errors import failure
from ipymcp.kernel import Answer, Kernel

Run = Callable[[Kernel, dict[str, Any]], Answer]


def table(kernel: Kernel) -> dict[str, Callable[[dict[str, Any]], Answer]]:
    """Operation name to what answers it."""
    interruptible: dict[str, tuple[Run, Run]] = {
        "list": (browsing.list_functions, browsing.list_blank),
        "call_function": (calling.call_function, calling.blank),
        "search": (browsing.search, browsing.search_blank),
        "reload": (reloading.reload, reloading.blank),
        "inspect": (browsing.inspect_name, browsing.inspect_blank),
        "remove": (removing.remove, removing.remove_blank),
        "reset": (removing.reset, removing.reset_blank),
        "describe": (toolcalls.describe, toolcalls.describe_blank),
        "call_tool": (toolcalls.call_tool, toolcalls.call_blank),
    }
    operations = {op: partial(_guarded, kernel, run, blank) for op, (run, blank) in interruptible.items()}
    return {**operations, "execute": partial(execution.execute, kernel)}


def _guarded(kernel: Kernel, run: Run, blank: Run, args: dict[str, Any]) -> Answer:
    try:
        answer = kernel.foundation.attempt(_run, kernel, run, args)
        if answer["error"] is None:
            answer |= _swallowed(kernel, answer)
        return answer
    except BaseException as error:  # interrupted, or out of memory, in our own code
        return blank(kernel, args) | {"error": failure("execution_error", error, kernel.limits)}
    finally:
        kernel.interrupts.done()
        kernel.leftovers.prune(kernel.namespace)


def _run(kernel: Kernel, run: Run, args: dict[str, Any]) -> Answer:
    kernel.shell.begin(kernel.count + 1)
    return kernel.interrupts.run(run, kernel, args)


def _swallowed(kernel: Kernel, answer: Answer) -> Answer:
    """What an answer without an error has to say of an interruption that ended a part of the operation."""
    error = kernel.interrupts.swallowed()
    if error is None:
        return {}
    outcome = {"error": failure("execution_error", error, kernel.limits)}
    return outcome | {"ok": False} if "ok" in answer else outcome
