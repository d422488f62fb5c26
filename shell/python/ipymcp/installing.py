"""Packages that user code installs: `%pip`, `%uv`, `!uv pip`. Main thread.

They act on the virtual environment that this interpreter runs as, by the uv program, and can be imported at once.
Without an environment they are refused: the bundled interpreter is shared by all servers.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import shlex
import shutil
import site
import sys
from typing import TYPE_CHECKING

from IPython.core.error import UsageError

from ipymcp import choosing

if TYPE_CHECKING:
    from ipymcp.ipyshell import NamespaceShell

_REFUSAL = (
    "packages cannot be installed: this namespace has no environment of its own. Set "
    "IPYTHON_MCP_ENVIRONMENT_WORKSPACE (an absolute directory) and IPYTHON_MCP_ACTIVE_ENVIRONMENT (a name) "
    "for the server, and start it again"
)
_NO_UV = "the program uv was not found on PATH; install it (pip install uv), or install packages before the start"

# A shell line that changes packages, and what says that it means another environment than this one.
_UV_PIP = re.compile(r"(?:^|[\s;&|(/])uv\s+pip\s+(?:install|uninstall|sync)\b")
_ELSEWHERE = re.compile(r"(?:^|\s)(?:--python|-p|--target|-t|--prefix|--system|--help|-h)\b")

# What would make uv act on another environment than VIRTUAL_ENV.
_MISLEADING = ("UV_PYTHON", "UV_SYSTEM_PYTHON", "UV_TARGET", "UV_PREFIX")


def in_environment() -> bool:
    """Whether this interpreter runs as a virtual environment's."""
    return sys.prefix != sys.base_prefix


def activate() -> None:
    """Makes child processes find the environment, as its activation script would. Call it before user code runs."""
    if not in_environment():
        return
    os.environ["VIRTUAL_ENV"] = sys.prefix
    for name in _MISLEADING:
        os.environ.pop(name, None)
    programs = os.path.join(sys.prefix, "bin")
    rest = [folder for folder in os.environ.get("PATH", os.defpath).split(os.pathsep) if folder != programs]
    os.environ["PATH"] = os.pathsep.join([programs, *rest])


class InstallError(Exception):
    """A command of `%pip` or `%uv` failed; what it said is in the streams."""


class Installer:
    """Knows what is installed, to see what is new. One per shell."""

    def __init__(self) -> None:
        self._folders = site.getsitepackages() if in_environment() else []
        self._changed = {folder: _changed(folder) for folder in self._folders}
        self._path_files = {folder: _path_files(folder) for folder in self._folders}

    def register(self, shell: NamespaceShell) -> None:
        """Defines the magics."""
        shell.register_magic_function(lambda line: _run(shell, "%pip", _pip_command(line)), "line", "pip")
        shell.register_magic_function(lambda line: _run(shell, "%uv", f"{_quoted(_uv())} {line}"), "line", "uv")

    def check(self, command: str) -> str:
        """Returns a shell line that may run; raises `UsageError` for one that would install into nowhere."""
        if not in_environment() and _UV_PIP.search(command) and not _ELSEWHERE.search(command):
            raise UsageError(_REFUSAL)
        return command

    def refresh(self) -> None:
        """Makes what was installed since the last time importable. Cheap where nothing was."""
        for folder in self._folders:
            changed = _changed(folder)
            if changed == self._changed[folder]:
                continue
            self._changed[folder] = changed
            importlib.invalidate_caches()
            present = _path_files(folder)
            new, self._path_files[folder] = sorted(present - self._path_files[folder]), present
            for name in new:
                _add_path_file(folder, name)
            _warn(folder)


def _changed(folder: str) -> int:
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return 0


def _path_files(folder: str) -> set[str]:
    """The `.pth` files of a directory: what editable installs consist of."""
    try:
        return {name for name in os.listdir(folder) if name.endswith(".pth")}
    except OSError:
        return set()


def _add_path_file(folder: str, name: str) -> None:
    """Does what the start does with a `.pth` file; what it adds comes right after its directory."""
    before = list(sys.path)
    site.addpackage(folder, name, None)
    added = [entry for entry in sys.path if entry not in before]
    if added and folder in before:
        rest = [entry for entry in sys.path if entry not in added]
        after = rest.index(folder) + 1
        sys.path[:] = rest[:after] + added + rest[after:]


def _warn(folder: str) -> None:
    problem = choosing.too_old(os.path.join(folder, "IPython"))
    if problem is not None:
        advice = f"%pip install '{choosing.SUPPORTED}' repairs it"
        print(f"warning: {problem}, and the next start may fail; {advice}", file=sys.stderr)


def _run(shell: NamespaceShell, magic: str, command: str) -> None:
    """Runs what a magic stands for; unlike a shell line, it raises where that fails."""
    shell.system(command)
    status = shell.user_ns["_exit_code"]
    if status:
        raise InstallError(f"{magic} failed with exit status {status}; its output says why")


def _pip_command(line: str) -> str:
    if not in_environment():
        raise UsageError(_REFUSAL)
    command, _, rest = line.strip().partition(" ")
    python = _quoted(sys.executable)
    if _find_uv() is None and importlib.util.find_spec("pip") is not None:
        return f"{python} -m pip {line}"
    if not command or command.startswith("-"):
        return f"{_quoted(_uv())} pip {line}"
    return f"{_quoted(_uv())} pip {command} --no-config --python {python} {rest}"


def _uv() -> str:
    found = _find_uv()
    if found is None:
        raise UsageError(_NO_UV)
    return found


def _find_uv() -> str | None:
    """The program, on PATH or where its installers put it."""
    folders = [os.environ.get("PATH", os.defpath)]
    folders += [os.path.join(os.path.expanduser("~"), *parts) for parts in ((".local", "bin"), (".cargo", "bin"))]
    return shutil.which("uv", path=os.pathsep.join(folders))


def _quoted(program: str) -> str:
    return shlex.quote(program)
