"""The `start` operation: paths, preloads, IPython, the shell. Main thread, once.

The order is that of the client contract: library paths, then preloads, then the shell. IPython itself is imported
before the library paths come first in `sys.path`, so that what they hold cannot replace the standard library beneath
it.
"""

from __future__ import annotations

import faulthandler
import importlib.util
import os
import re
import sys
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ipymcp.eventloop import EventLoop
from ipymcp.interrupts import Interrupts
from ipymcp.limits import Limits
from ipymcp.streams import StandardStreams
from ipymcp.text import cut

if TYPE_CHECKING:
    from ipymcp.ipyshell import NamespaceShell
    from ipymcp.kernel import Kernel

_OLDEST = (9, 0)


class StartError(Exception):
    """The namespace cannot be served; `phase` is one of the client contract's."""

    def __init__(self, phase: str, message: str) -> None:
        super().__init__(message)
        self.phase = phase


def start(args: dict[str, Any], interrupts: Interrupts, event_loop: EventLoop, streams: StandardStreams) -> Kernel:
    """Builds the namespace. Raises `StartError`."""
    limits = Limits(**args["limits"])
    # The file is a descriptor that the embedding process keeps open.
    with suppress(OSError, ValueError):
        faulthandler.enable(file=args["log_fd"])
    sys.argv = [""]
    if args["site"]:
        sys.path.append(args["site"])
    with warnings.catch_warnings():
        # PYTHONWARNINGS=error is meant for the user's code, not for what we import.
        warnings.simplefilter("ignore")
        _import_ipython(args["site"], args["environment"])
    from ipymcp import installing

    installing.activate()
    sys.path[:0] = args["library_paths"] or []
    # The working directory, last: what lies in it replaces nothing.
    sys.path.append("")
    shell, bindings = _build(args, limits, event_loop)
    from ipymcp.kernel import Kernel

    return Kernel(limits, shell, interrupts, event_loop, streams, bindings)


def _build(args: dict[str, Any], limits: Limits, event_loop: EventLoop) -> tuple[NamespaceShell, dict[str, str]]:
    from ipymcp import pools, reloading
    from ipymcp.ipyshell import make_shell

    try:
        loaded = reloading.preload(args["preload_modules"] or [], args["module_aliases"] or {})
    except reloading.PreloadError as error:
        raise StartError("preload", cut(str(error), limits.text_chars)[0]) from error
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            shell = make_shell(limits, event_loop, dict(loaded.values()), args["scratch"])
            pools.install(shell.user_module)
    except BaseException as error:  # whatever it is, the other side has to hear of it
        said = f"the IPython shell could not be made: {type(error).__name__}: {error}"
        raise StartError("shell", cut(said, limits.text_chars)[0]) from error
    return shell, {name: binding for name, (binding, _) in loaded.items()}


def _import_ipython(site: str, environment: bool) -> None:
    """Imports IPython and our modules that need it, or says which one was found and what to do.

    One that is too old is an error in an environment, which was made to contain it; what an interpreter happens to have
    installed gives way to the bundled one.
    """
    spec = importlib.util.find_spec("IPython")
    if spec is None or spec.origin is None:
        raise StartError(
            "shell", f"no IPython is installed for {sys.executable} and none is bundled; install IPython 9 there"
        )
    where = os.path.dirname(spec.origin)
    found = _version(where)
    advice = f"upgrade it (pip install 'ipython>=9'), or remove it so that the one in {site or 'the program'} is used"
    if found is not None and found < _OLDEST and site and not environment:
        sys.path.remove(site)
        sys.path.insert(0, site)
        importlib.invalidate_caches()
    elif found is not None and found < _OLDEST:
        version = ".".join(map(str, found))
        raise StartError("shell", f"IPython {version} in {where} is too old, 9.0 or newer is needed; {advice}")
    try:
        importlib.import_module("ipymcp.ipyshell")
    except BaseException as error:  # a broken installation may raise anything
        said = f"IPython in {where} could not be imported: {type(error).__name__}: {error}"
        raise StartError("shell", f"{said}; repair it, {advice}") from error


def _version(package: str) -> tuple[int, ...] | None:
    """Major and minor version, read from the source: an old release may not even import here."""
    try:
        with open(os.path.join(package, "core", "release.py"), encoding="utf-8") as file:
            text = file.read()
    except OSError:
        return None
    numbers = [re.search(rf"^_version_{part} *= *(\d+)", text, re.MULTILINE) for part in ("major", "minor")]
    return tuple(int(number[1]) for number in numbers if number)
