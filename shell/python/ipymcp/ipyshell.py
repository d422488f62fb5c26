"""The IPython shell of the server.

Main thread. It writes nothing to disk but in its scratch directory, and prints nothing that belongs in the answer.
"""

from __future__ import annotations

import builtins
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from types import ModuleType
from typing import Any

from IPython.core import events
from IPython.core.error import StdinNotImplementedError
from IPython.core.inputtransformer2 import leading_empty_lines
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.profiledir import ProfileDir
from traitlets import Type
from traitlets.config import Config

from ipymcp.callbacks import Callbacks
from ipymcp.compiling import CellCompiler, needs_loop
from ipymcp.display import CollectingPublisher, RecordingHook
from ipymcp.eventloop import EventLoop
from ipymcp.formatting import ValueFormatter
from ipymcp.foundation import Foundation
from ipymcp.frames import is_machinery
from ipymcp.history import KEPT_EXECUTIONS, MemoryHistory
from ipymcp.installing import Installer
from ipymcp.lifetimes import Lifetimes
from ipymcp.limits import Limits
from ipymcp.names import SIX
from ipymcp.payloads import PayloadFiles
from ipymcp.plaincells import UNUSUAL_LINE_ENDS, PlainCells
from ipymcp.prompts import NO_COMMANDS
from ipymcp.questions import Questions
from ipymcp.raised import traceback_of
from ipymcp.running import CodeRunner
from ipymcp.shelllines import ShellLines
from ipymcp.sketches import Sketches
from ipymcp.terminal import before_cell_magic, no_editor, print_page
from ipymcp.tracebacks import format_traceback

# What every `__main__` module has, and what `multiprocessing` and `inspect` read from it.
_MAIN_ATTRIBUTES = {"__name__": "__main__", "__doc__": None, "__package__": None, "__loader__": None, "__spec__": None}

# Methods that user code could hide behind attributes of the instance, and that run the next cell.
_RUNNERS = ("run_cell", "run_cell_async", "run_ast_nodes", "run_code", "transform_cell", "transform_ast")


class NamespaceShell(ShellLines, CodeRunner, InteractiveShell):
    """One per process. `limits`, `event_loop` and `questions` are set by `make_shell` before anything runs."""

    displayhook_class = Type(RecordingHook)
    display_pub_class = Type(CollectingPublisher)
    compiler_class = Type(CellCompiler)

    # Plain attributes in the place of traits, which are slow; nothing of IPython observes them.
    history_manager: Any = None
    builtin_trap: Any = None
    display_trap: Any = None
    execution_count = 1
    last_execution_succeeded = True
    last_execution_result: Any = None

    limits: Limits
    event_loop: EventLoop
    questions: Questions
    foundation: Foundation
    plain_cells: PlainCells
    lifetimes: Lifetimes
    # That of the execution that runs: IPython counts on before its end.
    number: int
    # What IPython would have shown since `begin`: the exception, and whether it ended what the cell asked for.
    shown: list[tuple[BaseException, bool]]
    depth: int  # of cells that run each other
    own_module: ModuleType
    user_module: Any
    protected_modules: dict[str, ModuleType]
    own_bindings: dict[str, Any]
    own_history: MemoryHistory
    own_formatter: ValueFormatter
    events: Any

    def begin(self, number: int) -> None:
        """Starts an execution: its number, nothing displayed, and no trap left open by an interruption."""
        self.execution_count = self.number = self.compile.running = number
        self.shown, self.depth = [], 0
        for name in _RUNNERS:
            self.__dict__.pop(name, None)
        if self.history_manager is not self.own_history:
            self.history_manager = self.own_history
        self.display_formatter = self.own_formatter
        self.display_pub.begin()
        for trap, leave in ((self.builtin_trap, "deactivate"), (self.display_trap, "unset")):
            if trap._nested_level:
                trap._nested_level = 0
                getattr(trap, leave)()

    def restore_main(self) -> None:
        """Makes the namespace `__main__` again, with what a module needs."""
        self.user_module = self.own_module
        self.user_ns = namespace = self.own_module.__dict__
        for name, value in _MAIN_ATTRIBUTES.items():
            namespace.setdefault(name, value)
        namespace["__builtins__"] = builtins
        sys.modules["__main__"] = self.own_module

    # -- What IPython does at the start and in %reset

    def init_history(self) -> None:
        self.own_history = MemoryHistory(shell=self, parent=self, enabled=False)
        self.history_manager = self.own_history
        self.configurables.append(self.own_history)

    def init_events(self) -> None:
        super().init_events()
        self.events = Callbacks(self, self.events.callbacks)

    def init_display_formatter(self) -> None:
        self.own_formatter = ValueFormatter(self.limits.text_chars, parent=self)
        self.display_formatter = self.own_formatter
        self.configurables.append(self.own_formatter)

    def init_virtualenv(self) -> None:
        """Leaves sys.path alone: the embedding process chose the environment."""

    def init_instance_attrs(self) -> None:
        """Works in a directory that was deleted, too."""
        try:
            super().init_instance_attrs()
        except FileNotFoundError:
            self.starting_dir = os.sep

    def init_prefilter(self) -> None:
        """Keeps leading blank lines, so that line numbers are those of the code that was sent."""
        super().init_prefilter()
        transforms = self.input_transformer_manager.cleanup_transforms
        transforms[:] = [before_cell_magic if each is leading_empty_lines else each for each in transforms]
        self.plain_cells = PlainCells(self)

    def reset(self, new_session: bool = True, aggressive: bool = False) -> None:
        """Empties the namespace; the count goes on."""
        before = list(self.user_ns)
        super().reset(new_session=False, aggressive=aggressive)
        self.restore_main()
        self.user_ns.update(self.own_bindings | self.protected_modules)
        self.lifetimes.note_reset([name for name in before if name not in self.user_ns], self.number)

    def hint(self, error: BaseException) -> str:
        """What to say besides of an error: that a name is gone, or that nobody could be asked."""
        cells = self.own_history.input_hist_parsed[1:-1]
        return self.lifetimes.hint(error, self.user_module.__dict__, cells) or self.questions.hint(error)

    # -- How a cell runs

    def run_cell(self, *args: Any, **kwargs: Any) -> Any:
        """Runs a cell. Where user code runs it in a cell, its failure is shown, and ends nothing but itself.

        An interruption is meant for both. A magic that runs what stands below it (`%%capture`) fails with that.
        """
        before, self.depth = len(self.shown), self.depth + 1
        result = self.displayhook.exec_result
        called_by_user = self.depth > 1 and not is_machinery(sys._getframe(1).f_code.co_filename)
        try:
            return super().run_cell(*args, **kwargs)
        finally:
            self.depth -= 1
            if self.depth:
                self.displayhook.exec_result = result
            if called_by_user:
                self.shown[before:] = [(error, False) for error, _ in self.shown[before:]]
                self.event_loop.interrupts.pass_on()

    def transform_cell(self, raw_cell: str) -> str:
        """The Python of a cell."""
        if self.plain_cells.holds(raw_cell):
            return raw_cell if raw_cell.endswith("\n") else raw_cell + "\n"
        with warnings.catch_warnings() if UNUSUAL_LINE_ENDS.search(raw_cell) else nullcontext():
            # IPython takes the parts of such a line for lines without end.
            warnings.filterwarnings("ignore", "`make_tokens_by_line`")
            return str(super().transform_cell(raw_cell))

    def should_run_async(self, raw_cell: str, *, transformed_cell: str | None = None, **options: Any) -> bool:
        """Whether the cell needs the loop; compiles it only where it may."""
        cell = transformed_cell or raw_cell
        if needs_loop(cell):
            return True
        if "await" not in cell and "async" not in cell:
            return False
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return bool(super().should_run_async(raw_cell, transformed_cell=cell, **options))

    @contextmanager
    def _tee(self, channel: str) -> Iterator[None]:
        """Keeps no copy of what is printed."""
        yield

    def _format_exception_for_storage(self, exception: Any, *_: Any, **__: Any) -> dict[str, Any]:
        return {}

    # -- What IPython would show

    def showtraceback(self, exc_tuple: Any = None, *_: Any, **__: Any) -> None:
        """Remembers the exception that is handled now or given; with neither (`%tb`), prints the last one."""
        current = exc_tuple[1] if exc_tuple else sys.exc_info()[1]
        if current is None:
            last = getattr(sys, "last_value", None)
            print(self.text_of(last) if last else "No traceback available to show.")
            return
        sys.last_type, sys.last_value, sys.last_traceback = type(current), current, traceback_of(current)
        if sys.version_info >= (3, 12):
            sys.last_exc = current
        # A callback of IPython's events that fails is shown, and the cell runs all the same.
        of_a_callback = sys._getframe(1).f_code.co_filename == events.__file__
        self.shown.append((current, exc_tuple is None and not of_a_callback))

    def showsyntaxerror(self, *_: Any, **__: Any) -> None:
        """The same for code that does not compile."""
        self.showtraceback()

    def show_usage_error(self, exc: BaseException) -> None:
        """The same for a magic that was used wrongly."""
        self.showtraceback((type(exc), exc, traceback_of(exc)))

    def print_shown(self, ended_by: BaseException | None = None) -> None:
        """Prints, to stderr, failures that ended nothing (a rich representation that raises) and are not the answer."""
        for error, ends in self.shown:
            if not ends and error is not ended_by:
                with suppress(BaseException):  # what it says of itself is user code
                    print(self.text_of(error), file=sys.stderr)

    def text_of(self, error: BaseException) -> str:
        """The bounded plain traceback of an exception."""
        return format_traceback(error, self.limits.traceback_chars)[0]

    # -- What a person at a terminal would do

    def ask_exit(self) -> None:
        """`exit` and `quit` raise, as `sys.exit` does."""
        raise SystemExit

    def ask_yes_no(self, prompt: str, default: Any = None, interrupt: Any = None) -> bool:
        """The answer of a person; callers know what to do where nobody can be asked."""
        self.questions.require("ask_yes_no", StdinNotImplementedError)
        return bool(super().ask_yes_no(prompt, default, interrupt))

    def debugger(self, force: bool = False) -> None:
        """There is nobody to command a debugger."""
        if force:
            raise EOFError(f"the debugger {NO_COMMANDS}")

    def enable_gui(self, gui: str | None = None) -> None:
        """No GUI event loop is run."""


def make_shell(
    limits: Limits, event_loop: EventLoop, questions: Questions, modules: dict[str, ModuleType], scratch: str
) -> NamespaceShell:
    """The process's one shell, on a fresh `__main__`; `modules` are the protected bindings."""
    NamespaceShell.limits = limits
    NamespaceShell.event_loop = event_loop
    NamespaceShell.questions = questions
    NamespaceShell.installer, NamespaceShell.lifetimes = Installer(), Lifetimes()
    NamespaceShell.protected_modules, NamespaceShell.own_module = modules, ModuleType("__main__")
    NamespaceShell.shown = []
    CollectingPublisher.limits = limits
    CollectingPublisher.files = PayloadFiles(scratch)
    CollectingPublisher.sketches = Sketches(scratch, lambda: questions.request, CollectingPublisher.files)
    directory = os.path.join(scratch, "ipython")
    profile = ProfileDir.create_profile_dir(os.path.join(directory, "profile_default"))
    shell: NamespaceShell = NamespaceShell.instance(
        ipython_dir=directory,
        profile_dir=profile,
        user_module=NamespaceShell.own_module,
        config=Config(),
        colors="nocolor",
        cache_size=KEPT_EXECUTIONS,
        loop_runner=event_loop.run,
        show_rewritten_input=False,
    )
    shell.installer.register(shell)
    shell.set_hook("show_in_pager", print_page, 0)
    shell.set_hook("editor", no_editor, 0)
    NamespaceShell.own_bindings = {name: shell.user_ns[name] for name in SIX}
    shell.user_ns.update(modules)
    shell.restore_main()
    return shell
