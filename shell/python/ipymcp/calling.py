"""The `call_function` operation. Main thread; the whole operation can be interrupted."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable
from typing import Any

from ipymcp.describing import readable_signature
from ipymcp.display import Displays
from ipymcp.errors import Fields, failure, refusal
from ipymcp.kernel import Answer, Kernel
from ipymcp.libraries import show_figures
from ipymcp.names import AttributeAccessError, NameNotFoundError, name_problem, resolve
from ipymcp.representation import representation
from ipymcp.text import cut
from ipymcp.translation import NotJsonError, translate
from ipymcp.typenames import lookup, qualified_name


def blank(kernel: Kernel, args: dict[str, Any]) -> Answer:
    """The answer of a call that did nothing."""
    name = args.get("name")
    shown, was_cut = cut(name if isinstance(name, str) else "", kernel.limits.text_chars)
    return {"ok": False, "name": shown, "result": None, "error": None, "truncated": False, "name_truncated": was_cut}


def call_function(kernel: Kernel, args: dict[str, Any]) -> Answer:
    """Calls what a dotted name stands for with keyword arguments."""
    answer = blank(kernel, args)
    function, error = _find(kernel, args)
    if error is not None:
        return answer | {"error": error}
    return call(kernel, answer, function, args["arguments"])


def call(kernel: Kernel, answer: Answer, function: Any, arguments: dict[str, Any]) -> Answer:
    """Calls a function with keyword arguments and completes the answer with how that went."""
    value, error = _call(kernel, function, arguments)
    if error is None:
        try:
            answer["result"], answer["truncated"] = translate(value, kernel.limits)
            answer["ok"] = True
        except NotJsonError:
            shown, _ = representation(value, kernel.limits.repr_chars)
            said = f"the call returned a {qualified_name(type(value))}, which has no JSON form: {shown}"
            error = refusal("result_not_json", said, kernel.limits)
    answer["error"] = error
    show_figures()
    kernel.shell.print_shown()
    displays: Displays = kernel.shell.display_pub.end()
    answer["truncated"] |= displays.cut
    return answer | displays.answer() if displays.shown else answer


def _find(kernel: Kernel, args: dict[str, Any]) -> tuple[Any, Fields | None]:
    name, arguments = args.get("name"), args.get("arguments")
    problem = name_problem(name, kernel.limits.text_chars)
    if problem is not None:
        return None, refusal("invalid_name", problem, kernel.limits)
    if not isinstance(arguments, dict):
        return None, refusal("invalid_arguments", "the arguments must be a JSON object", kernel.limits)
    try:
        function = resolve(kernel.namespace, str(name))
    except NameNotFoundError as error:
        return None, refusal("name_not_found", str(error), kernel.limits)
    except AttributeAccessError as error:
        return None, refusal("name_not_found", str(error), kernel.limits, error.__cause__)
    if not callable(function):
        said = f"{cut(str(name), 200)[0]} is a {qualified_name(type(function))}, which cannot be called"
        return None, refusal("not_callable", said, kernel.limits)
    return function, None


def _call(kernel: Kernel, function: Any, arguments: dict[str, Any]) -> tuple[Any, Fields | None]:
    signature = readable_signature(function)
    if signature is not None:
        try:
            signature.bind(**arguments)
        except TypeError as error:
            return None, refusal("argument_binding_error", str(error), kernel.limits, error)
    try:
        kernel.foundation.committed = True
        with kernel.shell.builtin_trap:
            return _awaited(kernel, function(**arguments)), None
    except BaseException as error:  # user code may raise anything, SystemExit and KeyboardInterrupt included
        # Without a signature, a TypeError from no deeper than the call itself is all that tells of a wrong argument.
        refused = signature is None and type(error) is TypeError and _raised_by_call(error)
        code = "argument_binding_error" if refused else "callable_error"
        return None, failure(code, error, kernel.limits, hint=kernel.shell.hint(error))


def _raised_by_call(error: BaseException) -> bool:
    return error.__traceback__ is not None and error.__traceback__.tb_next is None


def _awaited(kernel: Kernel, value: Any) -> Any:
    """The value, or what it gives when awaited on the loop."""
    if lookup(type(value), "__await__") is None and not inspect.iscoroutine(value):
        return value
    return kernel.event_loop.run(_outcome(value))


async def _outcome(awaitable: Awaitable[Any]) -> Any:
    return await awaitable
