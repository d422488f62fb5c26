"""The `remove` and `reset` operations. Main thread; what is decided is decided before the first name goes."""

from __future__ import annotations

from typing import Any

from ipymcp.errors import failure, refusal
from ipymcp.kernel import Answer, Kernel
from ipymcp.text import cut
from ipymcp.typenames import class_name


def remove_blank(_kernel: Kernel, _args: dict[str, Any]) -> Answer:
    """The answer of a remove that did nothing."""
    return {"ok": False, "removed": [], "refused": [], "unknown": [], "error": None}


def remove(kernel: Kernel, args: dict[str, Any]) -> Answer:
    """Deletes names; each requested name comes back once, in exactly one list."""
    answer = remove_blank(kernel, args)
    problem = names_problem(args.get("names"), kernel)
    if problem is not None:
        return answer | {"error": refusal("invalid_names", problem, kernel.limits)}
    namespace = kernel.namespace
    for name in dict.fromkeys(args["names"]):
        shown = cut(name, kernel.limits.text_chars)[0]
        if kernel.is_protected(name):
            answer["refused"].append(shown)
        elif name in namespace:
            del namespace[name]
            answer["removed"].append(shown)
        else:
            answer["unknown"].append(shown)
    return answer | {"ok": True}


def names_problem(names: object, kernel: Kernel) -> str | None:
    """Why a value is no list of names; None if it is one."""
    most, longest = kernel.limits.results, kernel.limits.text_chars
    if not isinstance(names, list) or not names:
        return "the names must be a list with at least one string"
    if len(names) > most:
        return f"{len(names)} names in one request; at most {most} are taken"
    for index, name in enumerate(names):
        if not isinstance(name, str):
            return f"name {index} is a {class_name(type(name))}, not a string"
        if len(name) > longest:
            return f"name {index} has {len(name)} characters; at most {longest} are looked up"
    return None


def reset_blank(kernel: Kernel, _args: dict[str, Any]) -> Answer:
    """The answer of a reset that did nothing."""
    return {"ok": False, "removed": [], "execution_count": kernel.count, "error": None}


def reset(kernel: Kernel, args: dict[str, Any]) -> Answer:
    """Removes every unprotected name and restores the protected bindings; either all of it or nothing."""
    answer = reset_blank(kernel, args)
    kernel.foundation.mend(of_cells=True)
    namespace = kernel.namespace
    before = dict(namespace)
    try:
        going = [key for key in namespace if not _stays(kernel, key)]
        rebound = kernel.shell.own_bindings | kernel.shell.protected_modules
        for key in going:
            del namespace[key]
        namespace.update(rebound)
    except BaseException as error:  # whatever it is, nothing may be half done
        namespace.clear()
        namespace.update(before)
        return answer | {"error": failure("reset_rebind_error", error, kernel.limits)}
    kernel.shell.lifetimes.note_reset(going, kernel.count)
    kernel.shell.compile.forget_futures()
    names = sorted(str.__str__(key) for key in going if issubclass(type(key), str))
    return answer | {"ok": True, "removed": [cut(name, kernel.limits.text_chars)[0] for name in names]}


def _stays(kernel: Kernel, key: Any) -> bool:
    return issubclass(type(key), str) and kernel.is_protected(str.__str__(key))
