"""The operations `describe` and `call_tool` of dynamic tools. Main thread; both can be interrupted."""

from __future__ import annotations

from typing import Any

from ipymcp import calling
from ipymcp.errors import refusal
from ipymcp.kernel import Answer, Kernel


def describe_blank(_kernel: Kernel, _args: dict[str, Any]) -> Answer:
    """The answer of a description that failed."""
    return {"binding": None, "error": None}


def describe(kernel: Kernel, args: dict[str, Any]) -> Answer:
    """What a top-level name is bound to."""
    return describe_blank(kernel, args) | {"binding": kernel.watched.describe(kernel, args["symbol"])}


def call_blank(kernel: Kernel, args: dict[str, Any]) -> Answer:
    """The answer of a call that did nothing."""
    return calling.blank(kernel, args) | {"changed": False}


def call_tool(kernel: Kernel, args: dict[str, Any]) -> Answer:
    """Calls the binding that the arguments were validated for, which the token stands for, or nothing.

    `changed` says that the name is bound to something else by now: the reply has the new binding, and nothing was
    called. The arguments are JSON text, so that numbers are converted from what the client wrote.
    """
    from ipymcp.converting import MisfitError, converted

    answer = call_blank(kernel, args)
    description = kernel.watched.current(kernel, args["symbol"], args["token"])
    if description is None:
        return answer | {"changed": True}
    try:
        arguments = converted(description, args["arguments"])
    except MisfitError as error:
        said = f"the arguments do not fit the schema: {error.pointer()}: {error}"
        return answer | {"error": refusal("invalid_arguments", said, kernel.limits, error.__cause__)}
    return calling.call(kernel, answer, description.value, arguments)
