"""Which IPython serves: the one that the interpreter has, or the bundled one.

Main thread, once, before anything of IPython. The program also runs `main`, in a process of an environment's
interpreter, before it trusts the environment.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import sys
import warnings

# The first that knows the tokenizer of Python 3.12.
_OLDEST = (8, 15)
SUPPORTED = "ipython>=" + ".".join(map(str, _OLDEST))


class UnusableError(Exception):
    """The IPython that was found, if any, cannot serve; `where` is its directory."""

    def __init__(self, reason: str, where: str) -> None:
        super().__init__(reason)
        self.where = where


def main(site: str) -> None:
    """Ends the process where neither the environment's IPython nor, without one, that in `site` can serve."""
    sys.path.append(site)
    try:
        import_ipython(site, environment=True)
    except UnusableError as error:
        sys.exit(str(error))


def import_ipython(site: str, *, environment: bool) -> None:
    """Imports IPython and our modules that need it.

    One that is too old is an error where it belongs to an environment, which was made to contain it; what else is found
    gives way to the bundled one in `site`.
    """
    where = _find()
    if where is None:
        raise UnusableError(f"no IPython is installed for {sys.executable}, and none is bundled", "")
    problem = too_old(where)
    wanted = environment and where.startswith(sys.prefix + os.sep)
    if problem is not None and site and not wanted:
        sys.path.remove(site)
        sys.path.insert(0, site)
        importlib.invalidate_caches()
    elif problem is not None:
        raise UnusableError(problem, where)
    try:
        with warnings.catch_warnings():
            # PYTHONWARNINGS=error is meant for the user's code, not for what we import.
            warnings.simplefilter("ignore")
            importlib.import_module("ipymcp.ipyshell")
    except BaseException as error:  # a broken installation may raise anything
        said = f"IPython {_text(_version(where))} cannot be imported: {type(error).__name__}: {error}"
        raise UnusableError(said, where) from error


def too_old(package: str) -> str | None:
    """What is wrong with the version of the IPython in a directory; None if nothing is, or it cannot be told."""
    found = _version(package)
    if not found or found >= _OLDEST:
        return None
    return f"IPython {_text(found)} is too old, {SUPPORTED} is needed"


def _find() -> str | None:
    """The directory of the IPython that an import would take."""
    spec = importlib.util.find_spec("IPython")
    return None if spec is None or spec.origin is None else os.path.dirname(spec.origin)


def _version(package: str) -> tuple[int, ...]:
    """Major and minor version, read from the source: an old release may not even import here. Empty if unknown."""
    try:
        with open(os.path.join(package, "core", "release.py"), encoding="utf-8") as file:
            text = file.read()
    except OSError:
        return ()
    numbers = [re.search(rf"^_version_{part} *= *(\d+)", text, re.MULTILINE) for part in ("major", "minor")]
    return tuple(int(number[1]) for number in numbers if number)


def _text(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version)) or "of an unknown version"
