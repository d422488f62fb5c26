"""Libraries whose defaults suit a notebook or a terminal: set for a reader who is a model when they are first imported.

What user code sets itself comes later and wins. Nothing reaches child processes, which may lack our backend.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from types import ModuleType

from ipymcp.importing import after_import

_INLINE_BACKEND = "module://matplotlib_inline.backend_inline"
# Rows are not wrapped, and as many columns are shown as in a notebook; the last line always says the shape. HTML would
# only say the same once more.
_PANDAS_OPTIONS = {
    "display.expand_frame_repr": False,
    "display.max_columns": 20,
    "display.notebook_repr_html": False,
    "display.show_dimensions": True,
}


def adapt() -> None:
    """Call it once, before anything of the user's is imported."""
    after_import("matplotlib", _show_inline)
    after_import("pandas", _show_wide)
    after_import("curses", _refuse_screens)


def show_figures() -> None:
    """Displays and closes open figures, as at the end of a cell."""
    backend = sys.modules.get("matplotlib_inline.backend_inline")
    if backend is not None:
        backend.flush_figures()


def _show_inline(matplotlib: ModuleType) -> None:
    if not os.environ.get("MPLBACKEND"):
        with suppress(Exception):  # a module of the user's may have the name
            matplotlib.rcParams["backend"] = _INLINE_BACKEND


def _refuse_screens(curses: ModuleType) -> None:
    # The library would fail half way, or succeed and write where nobody looks.
    vars(curses)["initscr"] = _no_screen


def _no_screen() -> None:
    raise OSError("curses cannot open a screen: this server has no terminal")


def _show_wide(pandas: ModuleType) -> None:
    for name, value in _PANDAS_OPTIONS.items():
        with suppress(Exception):  # the same, and old versions lack some
            pandas.set_option(name, value)
