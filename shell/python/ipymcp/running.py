"""How the compiled code of a cell runs: interruptible, and what it raises is an answer. Main thread."""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from ipymcp.eventloop import EventLoop
from ipymcp.expressions import Expression, show
from ipymcp.foundation import Foundation


class CodeRunner(InteractiveShell):
    """The part of the shell that runs code."""

    event_loop: EventLoop
    foundation: Foundation

    def transform_ast(self, node: Any) -> Any:
        """What user code's transformers make of a cell."""
        if isinstance(node, Expression):
            if not self.ast_transformers:
                return node
            node = node.tree()
        return super().transform_ast(node)

    async def run_ast_nodes(
        self,
        nodelist: Any,
        cell_name: str,
        interactivity: str = "last_expr",
        compiler: Any = compile,
        result: Any = None,
    ) -> bool | None:
        """Runs the statements of a cell; whether one failed."""
        if isinstance(nodelist, Expression):
            return self._run(result, eval if interactivity == "none" else show, nodelist.code)
        failed: bool | None = await super().run_ast_nodes(nodelist, cell_name, interactivity, compiler, result)
        return failed

    async def run_code(self, code_obj: Any, result: Any = None, *, async_: bool = False) -> bool:
        """Runs one code object; what it raises goes into `result`, and True comes back."""
        if not async_:
            return self._run(result, exec, code_obj)
        try:
            self.event_loop.interrupts.raise_deferred()
            self.foundation.committed = True
            await eval(code_obj, self.user_global_ns, self.user_ns)
        except BaseException as error:
            return self._failed(result, error)
        return False

    def _run(self, result: Any, runner: Callable[..., Any], code: CodeType) -> bool:
        try:
            self.event_loop.interrupts.raise_deferred()
            self.foundation.committed = True
            self.event_loop.interrupts.run(runner, code, self.user_global_ns, self.user_ns)
        except BaseException as error:
            return self._failed(result, error)
        return False

    def _failed(self, result: Any, error: BaseException) -> bool:
        """Everything user code raises is an answer. Called while that is handled."""
        if result is not None:
            result.error_in_exec = error
        self.showtraceback()
        return True
