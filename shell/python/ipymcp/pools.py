"""Functions and classes of cells in `multiprocessing`, shipped by value.

A worker needs no importable `__main__` then. `install` runs on the server's main thread; the hook on whichever
thread pickles; `load` in the worker, where this module must import without IPython. In the worker a shipped function
gets the worker's `__main__` for its globals: functions and classes it refers to are put there (the newest win), data
only where the worker has none of that name, so that what an initializer set stays. A result that is an instance of a
shipped class travels back by reference and is an instance of the namespace's own class. Data that a function refers
to travels with every task, also to forked workers; pass large data to an initializer instead.
"""

from __future__ import annotations

import io
import os
import pickle
import sys
from types import FunctionType, ModuleType
from typing import Any

from ipymcp.importing import after_import


def install(main: ModuleType) -> None:
    """Makes what `main` defines travel by value, from now or from when `multiprocessing` is first imported."""
    after_import("multiprocessing.reduction", lambda reduction: _patch(reduction, main))


def _patch(reduction: ModuleType, main: ModuleType) -> None:
    server = os.getpid()

    def reducer_override(_pickler: object, value: Any) -> Any:
        if not isinstance(value, (FunctionType, type)) or os.getpid() != server:
            return NotImplemented
        if value.__module__ != "__main__" or sys.modules.get("__main__") is not main:
            return NotImplemented
        if isinstance(value, FunctionType) and value.__globals__ is not main.__dict__:
            return NotImplemented
        return load, (dump(value),)

    reduction.ForkingPickler.reducer_override = reducer_override


class _MainGlobals(dict[str, Any]):
    """Stands, in a pickle, for the `__main__` dictionary of the process that loads it."""

    def __reduce__(self) -> Any:
        return _main_globals, ()


def _main_globals() -> dict[str, Any]:
    return sys.modules["__main__"].__dict__


def dump(value: Any) -> bytes:
    """A function or class of `__main__` by value, with the globals that it refers to."""
    import cloudpickle

    buffer = io.BytesIO()
    pickler = cloudpickle.Pickler(buffer, protocol=pickle.DEFAULT_PROTOCOL)
    pickler.globals_ref[id(_main_globals())] = _MainGlobals(__name__="__main__")
    pickler.dump(value)
    return buffer.getvalue()


def load(payload: bytes) -> Any:
    """The function or class, at home in this process's `__main__`."""
    main = _main_globals()
    before = dict(main)
    value = pickle.loads(payload)
    for name, own in before.items():
        if not isinstance(own, (FunctionType, type)):
            main[name] = own
    for part in value.__mro__ if isinstance(value, type) else (value,):
        if part.__module__ == "__main__" and part.__qualname__.isidentifier():
            main[part.__qualname__] = part
    return value
