"""Shell lines (`!ls`, `files = !ls`) of a shell that has no terminal. Main thread."""

from __future__ import annotations

import subprocess
from typing import Any

from IPython.utils.text import LSString, SList

from ipymcp.installing import Installer
from ipymcp.terminal import shell_program


class ShellLines:
    """The part of the IPython shell that runs them."""

    installer: Installer
    user_ns: dict[str, Any]
    var_expand: Any

    def system(self, cmd: str) -> None:
        """Runs a shell line with our descriptors; `_exit_code` is its status, negative for a signal."""
        expanded = self.installer.check(self.var_expand(cmd, depth=1))
        self._note_status(cmd, subprocess.call(expanded, shell=True, executable=shell_program()))

    system_raw = system_piped = system

    def getoutput(self, cmd: str, split: bool = True, depth: int = 0) -> Any:
        """The output of a shell line, both streams together. An interruption ends it and is not swallowed."""
        expanded = self.installer.check(self.var_expand(cmd, depth=depth + 1))
        output, errors = subprocess.PIPE, subprocess.STDOUT
        done = subprocess.run(expanded, shell=True, executable=shell_program(), stdout=output, stderr=errors)
        text = done.stdout.decode("utf-8", "backslashreplace").replace("\r\n", "\n")
        self._note_status(cmd, done.returncode)
        return SList(text.splitlines()) if split else LSString(text)

    def _note_status(self, cmd: str, status: int) -> None:
        status = 128 - status if status > 128 else status
        self.user_ns["_exit_code"] = status
        self.installer.refresh()
        if getattr(self, "system_raise_on_error", False) and status:
            raise subprocess.CalledProcessError(status, cmd)
