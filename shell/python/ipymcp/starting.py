"""The `start` operation: paths, preloads, IPython, the shell. Main thread, once.

The order is that of the client contract: library paths, then preloads, then the shell. IPython itself is imported
before the library paths come first in `sys.path`, so that what they hold cannot replace the standard library beneath
it.
"""

from __future__ import annotations

import faulthandler
import sys
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ipymcp import choosing
from ipymcp.eventloop import EventLoop
from ipymcp.foundation import Foundation
from ipymcp.interrupts import Interrupts
from ipymcp.limits import Limits
from ipymcp.questions import Questions
from ipymcp.streams import StandardStreams
from ipymcp.text import cut

if TYPE_CHECKING:
    from ipymcp.ipyshell import NamespaceShell
    from ipymcp.kernel import Kernel


class StartError(Exception):
    """The namespace cannot be served; `phase` is one of the client contract's."""

    def __init__(self, phase: str, message: str) -> None:
        super().__init__(message)
        self.phase = phase


def start(
    args: dict[str, Any],
    interrupts: Interrupts,
    event_loop: EventLoop,
    streams: StandardStreams,
    foundation: Foundation,
) -> Kernel:
    """Builds the namespace. Raises `StartError`."""
    limits = Limits(**args["limits"])
    # The file is a descriptor that the embedding process keeps open.
    with suppress(OSError, ValueError):
        faulthandler.enable(file=args["log_fd"])
        # The stack of this thread, also while C code keeps the GIL from everybody.
        faulthandler.register(args["stack_signal"], file=args["stack_fd"], all_threads=False)
    sys.argv = [""]
    if args["site"]:
        sys.path.append(args["site"])
    _import_ipython(args["site"], args["environment"])
    from ipymcp import childwatchers, installing, libraries

    installing.activate()
    libraries.adapt()
    childwatchers.provide()
    sys.path[:0] = args["library_paths"] or []
    # The working directory, last: what lies in it replaces nothing.
    sys.path.append("")
    shell, bindings = _build(args, limits, event_loop, streams.questions, foundation)
    from ipymcp.kernel import Kernel

    return Kernel(limits, shell, interrupts, event_loop, streams, foundation, bindings)


def _build(
    args: dict[str, Any], limits: Limits, event_loop: EventLoop, questions: Questions, foundation: Foundation
) -> tuple[NamespaceShell, dict[str, str]]:
    from ipymcp import pools, reloading
    from ipymcp.ipyshell import NamespaceShell, make_shell
    from ipymcp.terminal import refuse_shells

    try:
        loaded = reloading.preload(args["preload_modules"] or [], args["module_aliases"] or {})
    except reloading.PreloadError as error:
        raise StartError("preload", cut(str(error), limits.text_chars)[0]) from error
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            NamespaceShell.foundation = foundation
            shell = make_shell(limits, event_loop, questions, dict(loaded.values()), args["scratch"])
            pools.install(shell.user_module)
            refuse_shells()
    except BaseException as error:  # whatever it is, the other side has to hear of it
        said = f"the IPython shell could not be made: {type(error).__name__}: {error}"
        raise StartError("shell", cut(said, limits.text_chars)[0]) from error
    return shell, {name: binding for name, (binding, _) in loaded.items()}


def _import_ipython(site: str, environment: bool) -> None:
    try:
        choosing.import_ipython(site, environment=environment)
    except choosing.UnusableError as error:
        reason = f"{sys.executable} cannot serve: {error}"
        if error.where:
            reason += f" (found in {error.where})"
        advice = f"install IPython there (uv pip install --python {sys.executable} '{choosing.SUPPORTED}')"
        if site:
            advice += ", or uninstall it, and the bundled one is used"
        raise StartError("shell", f"{reason}; {advice}") from error
