"""Cells that are one expression on one line, the most frequent short ones. Main thread.

They are compiled as they are. A tree of Python objects, which IPython makes of every cell for its transformers and for
the choice of what is displayed, costs more than to run one.
"""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import dataclass
from types import CodeType
from typing import Any

# Characters of a cell that is tried; a longer one may take long to fail.
_LONGEST = 1000
# No statement, as far as can be seen: in doubt a cell is compiled as every other. An escape may warn, twice then.
_LIKELY = re.compile(
    r"""(?!\s|(?:assert|class|def|del|for|from|global|if|import|match|nonlocal|pass|raise|return|try|type|while|with)\b)
    [^=(\n]*(?:\([^\n]*)?\n?\Z""",
    re.VERBOSE,
)
_UNLIKELY = re.compile(r"[;\\]|\ba(?:wait|sync)\b")


@dataclass(slots=True)
class Expression:
    """Stands where IPython passes on the tree of a cell, and the list of its statements."""

    code: CodeType
    source: str
    filename: str

    @property
    def body(self) -> Expression:
        """The statements."""
        return self

    def tree(self) -> ast.AST:
        """The tree after all."""
        return ast.parse(self.source, self.filename)


def compiled(source: str, filename: str, flags: int) -> Expression | None:
    """The cell if it is an expression, else None. Never fails."""
    if len(source) > _LONGEST or not _LIKELY.match(source) or _UNLIKELY.search(source):
        return None
    try:
        return Expression(compile(source, filename, "eval", flags, dont_inherit=True), source, filename)
    except Exception:  # told by whoever compiles it as a cell
        return None


def show(code: CodeType, global_names: dict[str, Any], local_names: dict[str, Any]) -> None:
    """Evaluates an expression and displays its value."""
    sys.displayhook(eval(code, global_names, local_names))
