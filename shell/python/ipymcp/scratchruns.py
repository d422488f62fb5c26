"""Runs that leave no name behind. Main thread; nothing here is interrupted.

A scratch run executes in the namespace itself, so that its code, the functions that it calls and `__main__` find what
they would find in any run. Afterwards every name is bound to what it was bound to before, whoever bound it anew in the
meantime, a background thread included. Objects that the run has changed stay changed.

Functions of the run may live on in threads and tasks. Names that the run made are gone from their globals then; they
find them in their builtins, which are of the run's own and remember.
"""

from __future__ import annotations

import builtins
from types import TracebackType
from typing import Any

from ipymcp.ipyshell import NamespaceShell

_MISSING: Any = object()


class ScratchRun:
    """A context that takes back what was bound in it: names, `In`, `Out`, the last values of IPython, futures."""

    def __init__(self, shell: NamespaceShell) -> None:
        history, hook = shell.own_history, shell.displayhook
        self._namespace: dict[Any, Any] = shell.user_module.__dict__
        self._before = dict(self._namespace)
        self._inputs = [(inputs, list(inputs)) for inputs in (history.input_hist_parsed, history.input_hist_raw)]
        self._tables = [(table, dict(table)) for table in (history.output_hist, shell.user_ns_hidden)]
        lasts = (
            (hook, ("_", "__", "___")),
            (history, ("_i", "_ii", "_iii", "_i00")),
            (shell.compile, ("flags",)),  # what imports from `__future__` turn on
        )
        self._lasts = [(owner, name, getattr(owner, name)) for owner, names in lasts for name in names]
        self._builtins = _RunBuiltins()

    def __enter__(self) -> None:
        self._namespace["__builtins__"] = self._builtins

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        namespace, before = self._namespace, self._before
        # Remembered before they go: a thread that looks a name up finds it at any moment.
        self._builtins.made = {name: value for name, value in list(namespace.items()) if name not in before}
        for name in self._builtins.made:
            namespace.pop(name, None)
        for name, value in before.items():
            if namespace.get(name, _MISSING) is not value:
                namespace[name] = value
        for inputs, kept in self._inputs:
            inputs[:] = kept
        for table, kept_entries in self._tables:
            table.clear()
            table.update(kept_entries)
        for owner, name, value in self._lasts:
            setattr(owner, name, value)


class _RunBuiltins(dict[str, Any]):
    """The `__builtins__` of a scratch run: the real ones as they are at any moment, and what the run has made.

    CPython reads them through `__getitem__`, at some places as a plain dictionary; then it finds a copy.
    """

    def __init__(self) -> None:
        super().__init__(vars(builtins))
        self.made: dict[Any, Any] = {}

    def __getitem__(self, name: str) -> Any:
        value = self.made.get(name, _MISSING)
        return vars(builtins)[name] if value is _MISSING else value

    def __getattr__(self, name: str) -> Any:
        """Elsewhere in `__main__` they are a module."""
        return getattr(builtins, name)
