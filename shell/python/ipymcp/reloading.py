"""The `reload` operation, and the imports of the start. Main thread; it can be interrupted.

A reload always reads the source: a cached byte code that an edit within the same second and of the same size left
valid is deleted first, and none is written, so that the next process compiles the file anew as well. A module that
fails half way through its reload keeps what it had.
"""

from __future__ import annotations

import importlib
import importlib.util
import linecache
import os
import sys
from contextlib import suppress
from types import ModuleType
from typing import Any

from ipymcp.errors import Fields, failure, refusal
from ipymcp.imports import dependency_order
from ipymcp.kernel import Answer, Kernel
from ipymcp.names import SIX, visible
from ipymcp.removing import names_problem
from ipymcp.staleness import Replaced, attributes_of, is_module_named
from ipymcp.text import cut
from ipymcp.tracebacks import message_of

# What serves the namespace cannot be replaced beneath it.
_UNTOUCHABLE = ("__main__", "ipymcp", "IPython", "builtins", "sys")


class PreloadError(Exception):
    """A configured module could not be imported; the message names it and the exception's class."""


def preload(modules: list[str], aliases: dict[str, str]) -> dict[str, tuple[str, ModuleType]]:
    """Imports the configured modules; module name to its binding and itself."""
    loaded: dict[str, tuple[str, ModuleType]] = {}
    for name in modules:
        try:
            loaded[name] = aliases.get(name) or name.rpartition(".")[2], importlib.import_module(name)
        except BaseException as error:  # a module may raise anything when it is imported
            said = message_of(error, 2000)[0]
            raise PreloadError(f"module {name!r} failed to import: {type(error).__name__}: {said}") from error
    return loaded


def blank(_kernel: Kernel, _args: dict[str, Any]) -> Answer:
    """The answer of a reload that did nothing."""
    return {"results": [], "error": None}


def reload(kernel: Kernel, args: dict[str, Any]) -> Answer:
    """Imports or reloads modules, one result for each requested name; what a module imports goes before it."""
    answer = blank(kernel, args)
    problem = names_problem(args.get("modules"), kernel)
    if problem is not None:
        return answer | {"error": refusal("invalid_modules", problem, kernel.limits)}
    order = dependency_order(args["modules"])
    # What one of them imports now, for the first time, is new enough.
    loaded = {name for name in order if name in sys.modules}
    done = {name: _one(kernel, name, name in loaded) for name in order}
    for result, replaced in done.values():
        if replaced is not None:
            _report(kernel, result, replaced, bool(args.get("refresh")))
    answer["results"] = [done[name][0] for name in args["modules"]]
    return answer


def _one(kernel: Kernel, name: str, is_loaded: bool) -> tuple[Fields, Replaced | None]:
    shown, was_cut = cut(name, kernel.limits.text_chars)
    result: Fields = {"module": shown, "ok": False, "binding": None, "error": None, "truncated": was_cut}
    result |= {"stale": [], "refreshed": [], "names_truncated": False}
    if kernel.interrupts.swallowed() is not None:
        said = f"{shown} was not loaded: the reload was interrupted before"
        return result | {"error": refusal("reload_error", said, kernel.limits)}, None
    if not all(part.isidentifier() for part in name.split(".")):
        said = f"{shown!r} is no module name: identifiers with dots between"
        return result | {"error": refusal("invalid_module", said, kernel.limits)}, None
    if name.partition(".")[0] in _UNTOUCHABLE:
        said = f"{name} serves this namespace and cannot be reloaded; start a new process instead"
        return result | {"error": refusal("reload_error", said, kernel.limits)}, None
    before = _held_before(kernel, name)
    kernel.foundation.committed = True
    try:
        module = _fresh(name, is_loaded)
        binding = _bind(kernel, name, module)
    except BaseException as error:  # a module may raise anything when it runs
        return result | {"error": failure("reload_error", error, kernel.limits)}, None
    cells = kernel.shell.own_history.input_hist_parsed
    return result | {"ok": True, "binding": binding}, Replaced(name, module, before, kernel.leftovers.take(name), cells)


def _held_before(kernel: Kernel, name: str) -> dict[Any, Any]:
    """What the module holds before its reload; that of one that was taken out of `sys.modules` and is still bound."""
    known = [sys.modules.get(name), *(value for _, value in visible(kernel.namespace))]
    module = next((value for value in known if is_module_named(value, name)), None)
    return dict(attributes_of(module)) if module is not None else {}


def _report(kernel: Kernel, result: Fields, replaced: Replaced, refresh: bool) -> None:
    """Says which names are out of date, and binds those anew that can be where that is wanted."""
    limits = kernel.limits
    for bound, value in visible(kernel.namespace):
        found = None if kernel.is_protected(bound) else replaced.stale(bound, value)
        if found is None:
            continue
        renew = refresh and found.renewable
        if renew:
            kernel.namespace[bound] = found.renewed
        elif found.attribute:
            kernel.leftovers.note(replaced.name, bound, value, found.attribute)
        said: list[Any] = result["refreshed" if renew else "stale"]
        if len(said) >= limits.results:
            result["names_truncated"] = True
            continue
        shown = cut(bound, limits.text_chars)[0]
        said.append(shown if renew else {"name": shown, "reason": cut(found.reason, limits.text_chars)[0]})


def _fresh(name: str, is_loaded: bool) -> ModuleType:
    """The module, imported or reloaded from its source."""
    importlib.invalidate_caches()
    module = sys.modules.get(name) if is_loaded else None
    if module is None:
        return importlib.import_module(name)
    before = dict(module.__dict__)
    _drop_bytecode(module)
    written, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        return importlib.reload(module)
    except BaseException:
        module.__dict__.clear()
        module.__dict__.update(before)
        sys.modules.setdefault(name, module)
        raise
    finally:
        sys.dont_write_bytecode = written


def _drop_bytecode(module: ModuleType) -> None:
    source = getattr(module, "__file__", None)
    if not isinstance(source, str):  # a namespace package, or a built-in module
        return
    linecache.checkcache(source)
    linecache.cache.pop(source, None)
    for optimization in ("", "1", "2"):
        with suppress(OSError, NotImplementedError):
            os.unlink(importlib.util.cache_from_source(source, optimization=optimization))
    if source.endswith(".py"):
        with suppress(OSError):
            os.unlink(source + "c")


def _bind(kernel: Kernel, name: str, module: ModuleType) -> str:
    """Binds the module, under the name it has already if it has one."""
    configured = kernel.bindings.get(name)
    last = name.rpartition(".")[2]
    if configured is None:
        has = [bound for bound, value in visible(kernel.namespace) if value is module]
        if has:
            return last if last in has else has[0]
        if last in SIX or last in kernel.bindings.values():
            raise NameError(
                f"{last} is a protected name; the module is loaded, bind it with: import {name} as another_name"
            )
    binding = configured or last
    kernel.namespace[binding] = module
    if configured is not None:
        kernel.shell.protected_modules[binding] = module
    return binding
