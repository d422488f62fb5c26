"""Gives the modules of this package builtins of their own, so that user code may replace those of everybody else.

Called by `boot` before it imports them. A function finds builtins in what its module had as `__builtins__` when it was
defined.
"""

from __future__ import annotations

import builtins
import os
import sys

# The import system itself; `importlib` would take a while to import.
from _frozen_importlib_external import SOURCE_SUFFIXES, FileFinder, SourceFileLoader
from types import ModuleType


def separate() -> None:
    """From now on, modules beside this one are imported so."""
    own = dict(vars(builtins))

    class Loader(SourceFileLoader):
        """Runs a module with builtins that nobody else has."""

        def exec_module(self, module: ModuleType) -> None:
            vars(module)["__builtins__"] = own
            super().exec_module(module)

    directory = os.path.dirname(__file__)
    sys.path_importer_cache[directory] = FileFinder(directory, (Loader, SOURCE_SUFFIXES))
