"""The `list`, `search` and `inspect` operations: they look and change nothing. Main thread; they can be interrupted."""

from __future__ import annotations

from typing import Any

from ipymcp import describing
from ipymcp.errors import Fields, failure, refusal
from ipymcp.kernel import Answer, Kernel
from ipymcp.names import AttributeAccessError, NameNotFoundError, name_problem, resolve, visible
from ipymcp.representation import ReprError, represent, representation
from ipymcp.text import cut
from ipymcp.typenames import class_name, qualified_name


def list_blank(_kernel: Kernel, _args: dict[str, Any]) -> Answer:
    """The answer of a list with nothing in it."""
    return {"functions": [], "truncated": False, "error": None}


def list_functions(kernel: Kernel, args: dict[str, Any]) -> Answer:
    """The visible callables, sorted by name."""
    answer = list_blank(kernel, args)
    callables = [(name, value) for name, value in visible(kernel.namespace) if callable(value)]
    answer["functions"] = [_listed(kernel, name, value) for name, value in callables[: kernel.limits.results]]
    answer["truncated"] = len(callables) > kernel.limits.results
    return answer


def _listed(kernel: Kernel, name: str, value: Any) -> Fields:
    limits = kernel.limits
    entry: Fields = {"name": cut(name, limits.text_chars)[0]}
    signature = describing.signature_of(value)
    _with_cuts(
        entry,
        signature=(signature, limits.text_chars),
        module=(describing.module_of(value), limits.text_chars),
        description=(describing.description_of(value), limits.description_chars),
    )
    kernel.interrupts.pass_on()
    return entry


def _with_cuts(entry: Fields, **texts: tuple[str, int]) -> Fields:
    """The entry with each text cut to its bound, and `truncated` saying which were."""
    flags: Fields = {}
    for field, (text, limit) in texts.items():
        entry[field], flags[field] = cut(text, limit)
    entry["truncated"] = flags
    return entry


def search_blank(_kernel: Kernel, _args: dict[str, Any]) -> Answer:
    """The answer of a search that found nothing."""
    return {"results": [], "truncated": False, "error": None}


def search(kernel: Kernel, args: dict[str, Any]) -> Answer:
    """Visible names that contain the query whatever the case, or the one that equals it."""
    answer = search_blank(kernel, args)
    query = args.get("query")
    problem = name_problem(query, kernel.limits.text_chars)
    if problem is not None:
        answer["error"] = refusal("invalid_query", problem.replace("the name", "the query", 1), kernel.limits)
        return answer
    wanted = str(query)
    limit = min(max(int(args.get("limit", 50)), 1), kernel.limits.results)
    if args.get("exact"):
        found = [(name, value) for name, value in visible(kernel.namespace) if name == wanted]
    else:
        folded = wanted.casefold()
        found = [(name, value) for name, value in visible(kernel.namespace) if folded in name.casefold()]
    answer["results"] = [_found(kernel, name, value) for name, value in found[:limit]]
    answer["truncated"] = len(found) > limit
    return answer


def _found(kernel: Kernel, name: str, value: Any) -> Fields:
    limits = kernel.limits
    shown, shown_cut = representation(value, limits.repr_chars)
    entry = _with_cuts(
        {"name": cut(name, limits.text_chars)[0], "kind": describing.kind_of(value)},
        qualified_type=(qualified_name(type(value)), limits.text_chars),
        description=(describing.description_of(value), limits.description_chars),
    )
    entry["representation"] = shown
    entry["truncated"]["representation"] = shown_cut
    kernel.interrupts.pass_on()
    return entry


def inspect_blank(kernel: Kernel, args: dict[str, Any]) -> Answer:
    """The answer of an inspection that found nothing."""
    name = args.get("name")
    fields = ("kind", "qualified_type", "signature", "module", "documentation", "representation")
    flags = ("qualified_type", "signature", "module", "documentation", "representation")
    shown, _ = cut(name if isinstance(name, str) else "", kernel.limits.text_chars)
    answer: Answer = {"ok": False, "name": shown, **dict.fromkeys(fields), "callable": False}
    return answer | {"truncated": dict.fromkeys(flags, False), "error": None}


def inspect_name(kernel: Kernel, args: dict[str, Any]) -> Answer:
    """Describes what a dotted name stands for."""
    answer = inspect_blank(kernel, args)
    name = args.get("name")
    problem = name_problem(name, kernel.limits.text_chars)
    if problem is not None:
        return answer | {"error": refusal("invalid_name", problem, kernel.limits)}
    try:
        value = resolve(kernel.namespace, str(name))
    except NameNotFoundError as error:
        return answer | {"error": refusal("name_not_found", str(error), kernel.limits)}
    except AttributeAccessError as error:
        cause = error.__cause__ or error
        return answer | {"error": failure("attribute_access_error", cause, kernel.limits, f"{error}: ")}
    try:
        _describe(kernel, answer, value)
    except ReprError as error:
        return answer | {"error": failure("representation_error", error.cause, kernel.limits, f"{error}: ")}
    except BaseException as error:  # descriptions are the user's and may raise anything
        said = f"describing a {class_name(type(value))} failed: "
        return answer | {"error": failure("inspection_error", error, kernel.limits, said)}
    return answer | {"ok": True}


def _describe(kernel: Kernel, answer: Answer, value: Any) -> None:
    limits, truncated = kernel.limits, answer["truncated"]
    answer["kind"], answer["callable"] = describing.kind_of(value), callable(value)
    texts = {"qualified_type": qualified_name(type(value)), "module": describing.module_of(value)}
    if answer["callable"]:
        texts["signature"] = describing.signature_of(value)
    for field, text in texts.items():
        answer[field], truncated[field] = cut(text, limits.text_chars)
    documentation = describing.documentation_of(value)
    answer["documentation"], truncated["documentation"] = cut(documentation, limits.text_chars)
    answer["documentation"] = answer["documentation"] or None
    answer["module"] = answer["module"] or None
    answer["representation"], truncated["representation"] = represent(value, limits.repr_chars)
