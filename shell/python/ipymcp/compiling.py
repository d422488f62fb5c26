"""Compiles cells: as a whole before anything of them runs, under names that a person can read. Main thread."""

from __future__ import annotations

import ast
import sys
import warnings
from typing import Any

from IPython.core.compilerop import CachingCompiler

from ipymcp.expressions import compiled
from ipymcp.sources import DEFINES, Sources
from ipymcp.text import escape

# The flag of that name in CPython's C API and in `codeop`, the same number in every version.
_ALLOW_INCOMPLETE_INPUT = 0x4000
# Characters of a cell that the compiler can take however it is nested.
_SHORT = 200
# What `%time` and `%timeit` call the code that they compile.
_OF_MAGICS = frozenset({"<timed eval>", "<timed exec>", "<magic-timeit>"})
# Calls that need a running loop, and calls that refuse one.
_NEED_LOOP = frozenset({"create_task", "get_running_loop", "current_task"})
_REFUSE_LOOP = frozenset({"run", "run_until_complete", "run_forever", "Runner"})


class CellCompiler(CachingCompiler):
    """IPython's compiler, with `Cell [n]` for the name and a trial of the whole cell."""

    flags: int  # of `codeop.Compile`

    def __init__(self) -> None:
        super().__init__()
        # Meant for a prompt that asks for more lines: it hides what is wrong with an unclosed bracket.
        self.flags &= ~_ALLOW_INCOMPLETE_INPUT
        self._flags_at_start = self.flags
        self._sources = Sources(self._filename_map)
        # The number of the execution that runs.
        self.running = sys.maxsize
        self._cell = ""
        # Of the cell as it was sent, from the magic on where it is one's.
        self._lines: list[str] = []
        # The code that a magic has parsed and is about to compile.
        self._parsed = ""

    def forget_futures(self) -> None:
        """Takes back what `from __future__ import` statements of cells have turned on."""
        self.flags = self._flags_at_start

    def get_code_name(self, raw_code: str, transformed_code: str, number: int) -> str:
        """`Cell [n]`, n being the execution count, on which IPython counts before a cell runs another (`%%capture`)."""
        return f"Cell [{number}]" if number <= self.running else f"Cell [{self.running}], inner"

    def cache(self, transformed_code: str, number: int = 0, raw_code: str | None = None) -> str:
        """Keeps the source of a cell for tracebacks and `inspect`, and lets that of old cells go."""
        sent = transformed_code if raw_code is None else raw_code
        is_magic = sent.lstrip().startswith("%%")
        if is_magic:
            sent = sent.lstrip()
        self._lines = sent.splitlines()
        # `inspect` wants Python where something is defined; a reader wants what was sent.
        if is_magic or (not _defines(sent) and len(self._lines) == len(transformed_code.splitlines())):
            transformed_code = sent
        name: str = super().cache(transformed_code, number, raw_code)
        self._cell = name
        self._sources.add(name)
        return name

    def __call__(self, source: Any, filename: str, symbol: str, *flags: Any) -> Any:
        """Compiles; the code of a magic as the part of the cell that it is, where it stands there."""
        before = self._lines_before() if filename in _OF_MAGICS else None
        if before is not None:
            source, filename = ast.increment_lineno(source, before), self._cell
        code = super().__call__(source, filename, symbol, *flags)
        if filename == self._cell:
            self._sources.note(filename, code)
        return code

    def _lines_before(self) -> int | None:
        """How many lines of the cell come before what a magic has parsed; None where that is no part of it."""
        frame = sys._getframe(1)
        while frame.f_code.co_filename != self._cell:
            if frame.f_back is None:
                return None
            frame = frame.f_back
        called = frame.f_lineno
        code = self._parsed.rstrip()
        if self._lines[called : called + code.count("\n") + 1] == code.split("\n"):
            return called
        return called - 1 if code in "".join(self._lines[called - 1 : called]) else None

    def ast_parse(self, source: str, filename: str = "<unknown>", symbol: str = "exec") -> Any:
        """Parses a cell; raises what compiling all of it would, so that nothing runs before a late error.

        A cell that is an expression comes back as an `Expression`.
        """
        expression = compiled(source, filename, self.flags) if filename == self._cell else None
        if expression is not None:
            self._sources.note(filename, expression.code)
            return expression
        try:
            tree: ast.AST = super().ast_parse(source, filename, symbol)
            if filename != self._cell:
                self._parsed = source
            if isinstance(tree, ast.Module) and len(tree.body) == 1 and len(source) <= _SHORT:
                return tree  # compiled as a whole anyway, and not nested too deeply for that
            whole: Any = source
            if isinstance(tree, ast.Module) and any(_is_lone_surrogate_text(node) for node in tree.body):
                # CPython 3.13 and newer cannot compile such a string as a docstring, which a first or single one is.
                whole = ast.Module([node for node in tree.body if not _is_lone_surrogate_text(node)], tree.type_ignores)
                tree.body = [*(node for node in tree.body[:-1] if node in whole.body), tree.body[-1]]
            with warnings.catch_warnings():
                # The statements are compiled again one by one, and warn then.
                warnings.simplefilter("ignore")
                compile(whole, filename, symbol, self.flags | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        except RecursionError as error:
            raise SyntaxError("the code is nested too deeply to compile", (filename, None, None, None)) from error
        return tree


def _defines(source: str) -> bool:
    return any(word in source for word in DEFINES)


def _is_lone_surrogate_text(node: ast.stmt) -> bool:
    """Whether a statement is nothing but a string with a lone surrogate."""
    value = node.value.value if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) else None
    return isinstance(value, str) and escape(value) != value


def needs_loop(source: str) -> bool:
    """Whether a cell calls, outside of functions, what only works while a loop runs (`asyncio.create_task`).

    A cell that also starts a loop itself (`asyncio.run`) does not: that works only while none runs.
    """
    if not any(name in source for name in _NEED_LOOP):
        return False
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    called = {_called(node) for statement in tree.body for node in outside_functions(statement)}
    started = {_called(node) for node in ast.walk(tree) if _called(node)}
    return bool(called & _NEED_LOOP) and not started & _REFUSE_LOOP


def outside_functions(node: ast.AST) -> list[ast.AST]:
    """The nodes of a statement that run when it does."""
    found: list[ast.AST] = []
    waiting = [node]
    while waiting:
        current = waiting.pop()
        if isinstance(current, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        found.append(current)
        waiting.extend(ast.iter_child_nodes(current))
    return found


def _called(node: ast.AST) -> str:
    if not isinstance(node, ast.Call):
        return ""
    function: Any = node.func
    if isinstance(function, ast.Name):
        return function.id
    if not isinstance(function, ast.Attribute):
        return ""
    # `subprocess.run` and the like start no loop.
    of_asyncio = isinstance(function.value, ast.Name) and function.value.id == "asyncio"
    return function.attr if function.attr != "run" or of_asyncio else ""
