"""What IPython leaves to the terminal it runs in, for a server that has none. Main thread."""

from __future__ import annotations

import os
from typing import Any

from IPython.core.inputtransformer2 import leading_empty_lines


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


def no_editor(_shell: Any, filename: str, linenum: int | None = None, wait: bool = True) -> None:
    """An editor that is not there."""
    raise EOFError("the editor cannot open: this server has no terminal; write the file with %%writefile instead")
