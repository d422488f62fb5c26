"""What IPython leaves to the terminal it runs in, for a server that has none. Main thread."""

from __future__ import annotations

import os
from typing import Any

import IPython
from IPython.core.inputtransformer2 import leading_empty_lines
from IPython.core.magics.execution import ExecutionMagics

from ipymcp.importing import after_import
from ipymcp.prompts import NO_COMMANDS


def before_cell_magic(lines: list[str]) -> list[str]:
    """Drops leading blank lines where a cell magic follows, which has to be the first line."""
    stripped: list[str] = leading_empty_lines(lines)
    return stripped if stripped and stripped[0].lstrip().startswith("%%") else lines


def shell_program() -> str:
    """The program that runs shell lines: the user's shell where there is one."""
    chosen = os.environ.get("SHELL") or "/bin/sh"
    return chosen if os.access(chosen, os.X_OK) else "/bin/sh"


def print_page(_shell: Any, data: Any, start: int = 0, screen_lines: int = 0) -> None:
    """A pager that prints."""
    text = data.get("text/plain", "") if isinstance(data, dict) else data
    print("\n".join(str(text).split("\n")[start:]))


def refuse_shells() -> None:
    """Makes IPython's own interactive shells, which would also take the place of this one, raise at once."""
    vars(IPython).update(embed=_no_shell, start_ipython=_no_shell)
    after_import("IPython.terminal.embed", lambda module: vars(module).update(embed=_no_shell))
    # It reads the terminal without `input`.
    after_import("IPython.terminal.debugger", lambda module: setattr(module.TerminalPdb, "__init__", _no_debugger))
    # `%debug` of a statement and `%run -d`, which show what the debugger raises as if it were the statement's.
    ExecutionMagics._run_with_debugger = _no_debugger


def _no_debugger(*_arguments: Any, **_options: Any) -> None:
    raise EOFError(f"the debugger {NO_COMMANDS}")


def _no_shell(*_arguments: Any, **_options: Any) -> None:
    raise EOFError("IPython cannot open a shell in this one: this server has no terminal; send cells instead")


def no_editor(_shell: Any, filename: str, linenum: int | None = None, wait: bool = True) -> None:
    """An editor that is not there."""
    raise EOFError("the editor cannot open: this server has no terminal; write the file with %%writefile instead")
