"""What modules import, read from their source: nothing here runs a module. Main thread."""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from types import ModuleType

from ipymcp.compiling import outside_functions


def dependency_order(names: list[str]) -> list[str]:
    """Each name once: loaded modules after those of them that they import, then the others as given."""
    distinct = dict.fromkeys(names)
    loaded = [name for name in distinct if name in sys.modules]
    imports = {name: set(_imports(name)) for name in loaded} if len(loaded) > 1 else {}
    ordered: dict[str, None] = {}
    entered: set[str] = set()

    def visit(name: str) -> None:
        if name in entered:  # done, or one of a circle, which has no order
            return
        entered.add(name)
        for other in loaded:
            if other in imports.get(name, ()):
                visit(other)
        ordered[name] = None

    for name in loaded:
        visit(name)
    return list(ordered | distinct)


def source_of(module: ModuleType) -> str | None:
    """The source text as it is now; None where there is none to read."""
    spec = getattr(module, "__spec__", None)
    try:
        return spec.loader.get_source(spec.name) or None  # type: ignore[union-attr]
    except Exception:  # no source, or one that cannot be read: what the reload itself then says
        return None


def has_star(source: str) -> bool:
    """Whether a source that runs has an `import *`, after which its names are unknown."""
    clauses = (node.names for node in _nodes(source) if isinstance(node, ast.ImportFrom))
    return any(alias.name == "*" for aliases in clauses for alias in aliases)


def imported_names(cells: list[str], module: str, public: list[str]) -> dict[str, str]:
    """The names that cells imported from a module and bound to nothing else since, and the attributes they stand for.

    `public` is what an `import *` binds.
    """
    found: dict[str, str] = {}
    for cell in cells:
        for node in _nodes(cell) if found or module in cell else ():
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.pop(node.id, None)
            for base, alias in _from_clauses([node], ""):
                if base == module and alias.name == "*":
                    found.update(zip(public, public, strict=True))
                elif base == module:
                    found[alias.asname or alias.name] = alias.name
    return found


def _imports(name: str) -> Iterator[str]:
    module = sys.modules[name]
    nodes = list(_nodes(source_of(module) or ""))
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
    spec = getattr(module, "__spec__", None)
    for base, alias in _from_clauses(nodes, spec.parent if spec else ""):
        submodule = f"{base}.{alias.name}"
        yield submodule if submodule in sys.modules else base


def _from_clauses(nodes: Iterable[ast.AST], package: str) -> Iterator[tuple[str, ast.alias]]:
    """The clauses of `from … import`, each with the module's absolute name."""
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            with suppress(ImportError):  # beyond the top of the package
                base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
                yield from ((base, alias) for alias in node.names)


def _nodes(source: str) -> Iterator[ast.AST]:
    """What runs of a source, statement by statement; nothing where it does not parse: the reload itself says so."""
    with suppress(SyntaxError, ValueError, MemoryError, RecursionError):
        for statement in ast.parse(source).body:
            yield from outside_functions(statement)
