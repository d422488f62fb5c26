"""What this package stands on, put back where user code has broken it. Main thread.

User code may replace functions of the standard library and of IPython, take modules away, or hide methods of the
shell, and mostly means to. So nothing is put back, nor looked for, before the server's own code fails. Then everything
is put back that was there at the start, stderr says in one line what that was, and what failed is done once more.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from operator import is_
from types import ModuleType, TracebackType
from typing import Any, TypeVar

from ipymcp import repairs
from ipymcp.channel import ChannelClosedError
from ipymcp.frames import is_library, is_machinery
from ipymcp.raised import is_a, traceback_of

T = TypeVar("T")

_PACKAGES = sys.stdlib_module_names | {"IPython", "ipymcp", "traitlets"}
_OF_SHELL = ("IPython.", "ipymcp.")
_SHELL = "get_ipython()"
_IMMUTABLE = 1 << 8  # of a type, in C
_FRAMES = 1000  # of a traceback that are looked at
_SAID = 5  # names in the line on stderr


class Foundation:
    """Knows nothing, and repairs nothing, before `lay`."""

    def __init__(self) -> None:
        # Whether code of the request has run, which may not run twice.
        self.committed = False
        self.laid = False
        self._builtins: dict[str, Any] = {}
        self._passed = (KeyboardInterrupt, ChannelClosedError)
        self._repair: Callable[[bool, bool], list[str]] = lambda _put_back, _of_cells: []

    def lay(self, shell: Any) -> None:
        """Remembers what there is now: modules, their classes, the shell, and what imports go by."""
        self.laid = True
        self._builtins = dict(vars(builtins))
        modules = {name: module for name, module in list(sys.modules.items()) if _is_ours(name, module)}
        self._repair = repairs.repairer(
            repairs.holders((*modules.items(), *_classes(modules), *_parts(shell).items())),
            repairs.table(_SHELL, shell._trait_values),
            repairs.table(f"{_SHELL}.magics_manager.magics", shell.magics_manager.magics),
            repairs.loaded(modules, _PACKAGES),
            *(repairs.order(f"sys.{name}", partial(vars(sys).get, name)) for name in ("meta_path", "path_hooks")),
            repairs.path(),
            *(repairs.order(f"{_SHELL}.{name}", find, only=True) for name, find in _transformers(shell).items()),
            repairs.recursion(),
        )

    def attempt(self, work: Callable[..., T], *arguments: Any) -> T:
        """Calls our own code that will run the request's; once more where it fails before that for what is broken."""
        self.committed = False
        try:
            return work(*arguments)
        except self._passed:
            raise
        except BaseException:
            if self.committed or not self.mend():
                raise
        return work(*arguments)

    def steady(self, work: Callable[..., T], *arguments: Any) -> T:
        """Calls our own code that may be called twice; once more where it fails for what is broken."""
        try:
            return work(*arguments)
        except self._passed:
            raise
        except BaseException:
            if not self.mend():
                raise
        return work(*arguments)

    def mend(self, *, of_cells: bool = False) -> bool:
        """Puts back what is broken, or only what code of cells has broken; whether anything was."""
        names = self._repair(True, of_cells)
        if names:
            with suppress(BaseException):  # the stream may be the user's
                print(f"put back what code of this session had replaced or removed: {_listed(names)}", file=sys.stderr)
        return bool(names)

    def hint(self, error: BaseException) -> str:
        """What to say besides of an error in code of the user's that may come of what is broken."""
        suspicious = is_a(error, ImportError) or _comes_from_machinery(traceback_of(error))
        if not suspicious and self._has_builtins():
            return ""
        names = self._repair(False, True)
        return f"code of this session has replaced or removed {_listed(names)}; reset puts it back" if names else ""

    def _has_builtins(self) -> bool:
        return all(map(is_, map(vars(builtins).get, self._builtins), self._builtins.values()))


def _is_ours(name: str, module: object) -> bool:
    return name.partition(".")[0] in _PACKAGES and name != "__main__" and issubclass(type(module), ModuleType)


def _classes(modules: Mapping[str, ModuleType]) -> Iterator[tuple[str, type]]:
    """The classes that the modules define."""
    for name, module in modules.items():
        for value in list(vars(module).values()):
            if issubclass(type(value), type) and not value.__flags__ & _IMMUTABLE and value.__module__ == name:
                yield f"{name}.{value.__qualname__}", value


def _parts(shell: Any) -> dict[str, Any]:
    """The shell and what it consists of."""
    held = {**shell._trait_values, **vars(shell)}
    parts = {f"{_SHELL}.{name}": it for name, it in held.items() if type(it).__module__.startswith(_OF_SHELL)}
    return {_SHELL: shell} | {name: it for name, it in parts.items() if hasattr(it, "__dict__") and it is not shell}


def _transformers(shell: Any) -> dict[str, Callable[[], list[Any]]]:
    """What changes a cell before it is compiled."""
    inputs = shell.input_transformer_manager
    return {
        "input_transformers_cleanup": lambda: inputs.cleanup_transforms,
        "input_transformers_line": lambda: inputs.line_transforms,
        "input_transformers_token": lambda: inputs.token_transformers,
        "input_transformers_post": lambda: shell.input_transformers_post,
    }


def _comes_from_machinery(traceback: TracebackType | None) -> bool:
    """Whether code of the user's called code of IPython or of ours, and that raised, or what it called."""
    entered = False
    for _ in range(_FRAMES):
        if traceback is None:
            return False
        filename = traceback.tb_frame.f_code.co_filename
        machinery = is_machinery(filename)
        if entered and machinery:
            return True
        entered = entered or not (machinery or is_library(filename))
        traceback = traceback.tb_next
    return False


def _listed(names: list[str]) -> str:
    more = len(names) - _SAID
    return ", ".join(names[:_SAID]) + (f" and {more} more" if more > 0 else "")
