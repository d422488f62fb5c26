"""Tells cells that are plain Python from those that IPython's input transformers may change. Main thread.

The transformers tokenize every cell several times, which takes longer than to run a short one. What is plain here comes
out of them as it went in, so it need not go in; in doubt a cell is not plain.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from IPython.core.autocall import IPyAutocall
from IPython.core.macro import Macro

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

# Magics, shell lines, help; unusual white space and line ends; prompts; quoting escapes; indentation of the whole.
_SUSPICIOUS = re.compile(r"[%!?]|[^\S \t\n]|>>>|\.\.\.|In \[|^\s*[,;/]|\A\s", re.MULTILINE)
# Line ends for `str.splitlines` that are none for Python.
UNUSUAL_LINE_ENDS = re.compile("[\x1c-\x1e\x85\u2028\u2029]")
_FIRST_WORD = re.compile(r"[^\W\d]\w*")
_ASSIGNS = re.compile(r"\s*=(?!=)")


class PlainCells:
    """Knows the transformers that the shell started with: with others, no cell is plain."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self._at_start = self._transformers()

    def holds(self, cell: str) -> bool:
        """Whether IPython's transformers would leave the cell as it is."""
        if _SUSPICIOUS.search(cell):
            return False
        return ("\n" in cell.rstrip("\n") or self._is_plain_line(cell)) and self._transformers() == self._at_start

    def _is_plain_line(self, line: str) -> bool:
        """The same for a single line, which may also begin with a magic's bare name, or call by its name alone."""
        shell, found = self._shell, _FIRST_WORD.match(line)
        if found is None:
            return not shell.autocall
        if _ASSIGNS.match(line, found.end()):
            return True  # IPython would call `exit`, and run a macro, instead of binding the name
        word = found[0]
        if shell.autocall or line.startswith(".", found.end()):
            return False
        magics = shell.magics_manager.magics
        kind = type(shell.user_ns.get(word))
        return word not in magics["line"] and word not in magics["cell"] and not issubclass(kind, (IPyAutocall, Macro))

    def _transformers(self) -> tuple[list[object], ...]:
        inputs, prefilter = self._shell.input_transformer_manager, self._shell.prefilter_manager
        lists = inputs.cleanup_transforms, inputs.line_transforms, inputs.token_transformers
        return tuple(
            map(list, (*lists, prefilter.transformers, prefilter.checkers, self._shell.input_transformers_post))
        )
