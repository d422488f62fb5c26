"""Describing callables: kinds, chains, problems, docstrings."""

from __future__ import annotations

import functools
import inspect
import json
from typing import Any

import pytest

from ipymcp.docparameters import parameter_texts
from ipymcp.signatures import describe

_LIMIT = 1024


def define(code: str) -> dict[str, Any]:
    namespace: dict[str, Any] = {"functools": functools, "inspect": inspect, "__name__": "__main__"}
    exec(code, namespace)
    return namespace


def described(code: str) -> Any:
    """The description of what the code binds to `f`."""
    return describe(define(code)["f"]).neutral(_LIMIT)


def parameters(code: str) -> list[tuple[str, str, Any]]:
    return [(p["name"], p["kind"], (p["annotation"] or {}).get("kind")) for p in described(code)["parameters"]]


_WRAP = """
def wrap(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs): return f(*args, **kwargs)
    return wrapper
"""


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("def f(): return 1", "plain"),
        ("f = lambda: 1", "plain"),
        ("async def f(): ...", "coroutine"),
        ("def f(): yield", "generator"),
        ("async def f(): yield", "async_generator"),
        (_WRAP + "@wrap\nasync def f(): ...", "coroutine"),
        (_WRAP + "@wrap\n@wrap\ndef f(): yield", "generator"),
        ("async def g(a): ...\nf = functools.partial(functools.partial(g, 1))", "coroutine"),
        (_WRAP + "@wrap\nasync def g(): yield\nf = functools.partial(g)", "async_generator"),
        ("class C:\n async def __call__(self): ...\nf = C()", "coroutine"),
        ("class C:\n def __call__(self): yield\nf = functools.partial(C())", "generator"),
        ("class C:\n async def m(self): ...\nf = C().m", "coroutine"),
        ("class C:\n @staticmethod\n async def m(): ...\nf = C.m", "coroutine"),
        ("class C:\n @classmethod\n def m(cls): yield\nf = C.m", "generator"),
        ("class C:\n async def __call__(self): ...\nf = C", "plain"),
        ("class M(type):\n async def __call__(cls): ...\nclass f(metaclass=M): ...", "coroutine"),
        ("import contextlib\n@contextlib.contextmanager\ndef f(): yield", "generator"),
        ("@functools.lru_cache\ndef f(): return 1", "plain"),
        ("@functools.lru_cache\nasync def f(): return 1", "coroutine"),
    ],
)
def test_kinds(code: str, kind: str) -> None:
    assert described(code)["callable_kind"] == kind


@pytest.mark.parametrize(
    ("code", "want"),
    [
        ("def f(a: int, /, b: str, *c: int, d: 'float', **e: bool): ...", None),
        (_WRAP + "@wrap\ndef f(a: int): ...", [("a", "positional_or_keyword", "int")]),
        ("def g(a: int, b: str): ...\nf = functools.partial(g, 1)", [("b", "positional_or_keyword", "str")]),
        ("class f:\n def __init__(self, a: int): ...", [("a", "positional_or_keyword", "int")]),
        ("class f:\n def __new__(cls, a: 'int'): ...", [("a", "positional_or_keyword", "int")]),
        (
            "class M(type):\n def __call__(cls, b: str): ...\nclass f(metaclass=M):\n def __init__(self, a: int): ...",
            [("b", "positional_or_keyword", "str")],
        ),
        ("class C:\n def __call__(self, a: 'int'): ...\nf = C()", [("a", "positional_or_keyword", "int")]),
        ("class C:\n def m(self, a: int): ...\nf = C().m", [("a", "positional_or_keyword", "int")]),
        ("def f(a: 'Missing'): ...", [("a", "positional_or_keyword", "unsupported")]),
        ("def f(a: int) -> 'Missing': ...", [("a", "positional_or_keyword", "int")]),
        ("def f(a): ...", [("a", "positional_or_keyword", None)]),
        (
            "def f(a: int): ...\nf.__signature__ = inspect.Signature([inspect.Parameter('b', 3, annotation='int')])",
            [("b", "keyword_only", "int")],
        ),
        ("from dataclasses import dataclass\n@dataclass\nclass f:\n a: 'int'", [("a", "positional_or_keyword", "int")]),
    ],
)
def test_parameters(code: str, want: Any) -> None:
    found = parameters(code)
    if want is None:
        kinds = "positional_only positional_or_keyword var_positional keyword_only var_keyword"
        assert " ".join(kind for _, kind, _ in found) == kinds
        assert [annotation for *_, annotation in found] == ["int", "str", "int", "float", "bool"]
    else:
        assert found == want


def test_annotations_resolve_where_the_function_was_written() -> None:
    home = define("class Local: ...\nLocal = int\ndef g(a: 'Local'): ...")
    here = {"g": home["g"], "functools": functools, "Local": str}
    exec(_WRAP + "f = wrap(g)", here)
    (parameter,) = describe(here["f"]).neutral(_LIMIT)["parameters"]
    assert parameter["annotation"] == {"kind": "int"}


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("f = dict.fromkeys", ""),
        ("f = print", ""),
        ("f = type('X', (), {})", ""),
        ("f = dict", "inspect.signature found none"),
        ("def f(): ...\nf.__wrapped__ = f", "wrapper loop"),
        ("def f(): ...\ndef g(): ...\nf.__wrapped__, g.__wrapped__ = g, f", "wrapper loop"),
        ("def f(): ...\nf.__signature__ = 5", "inspect.signature failed"),
        (
            "class C:\n def __call__(self): ...\n @property\n def __signature__(self): raise SystemExit(1)\nf = C()",
            "SystemExit",
        ),
        (
            "class M(type):\n def __call__(cls): ...\nclass C(metaclass=M):\n __signature__ = 7\nf = C",
            "inspect.signature failed",
        ),
    ],
)
def test_problems(code: str, problem: str) -> None:
    found = described(code)
    assert problem in found["problem"]
    assert bool(found["problem"]) == bool(problem)


def test_hostile_defaults_and_annotations_are_no_failures() -> None:
    found = described("""
class Bad:
    __class__ = property(lambda self: 1 / 0)
    def __eq__(self, other): raise SystemExit
    def __repr__(self): raise KeyError
    __hash__ = None
def f(a: int = Bad(), b: Bad() = 1, c: [] = 2, d: {} = 3, e: ... = 4): ...
""")
    assert found["problem"] == ""
    kinds = [p["annotation"]["kind"] for p in found["parameters"]]
    assert kinds == ["int", *["unsupported"] * 4]
    assert found["parameters"][0]["default_problem"] == "a __main__.Bad is not JSON"


def test_docstrings_are_bounded_and_of_the_function() -> None:
    assert described('def g(a: int):\n "Doc."\nf = functools.partial(g)')["docstring"] == "Doc."
    assert described('class f:\n "Of the class."\n def __init__(self): "no"')["docstring"] == "Of the class."
    long = described(f"def f(): ...\nf.__doc__ = {'x' * 100_000!r}")
    assert len(long["docstring"]) == _LIMIT + 1
    assert described("def f(): ...\nf.__doc__ = '\\udcaf'")["docstring"] == "\\udcaf"


_STYLES = {
    "google": "Sum.\n\nArgs:\n    a (int): The first\n        of them.\n    b: Second.\n\nReturns:\n    int: sum\n",
    "numpy": "Sum.\n\nParameters\n----------\na : int\n    The first\n    of them.\nb\n    Second.\n",
    "rest": "Sum.\n\n:param int a: The first\n    of them.\n:param b: Second.\n:returns: sum\n",
    "epydoc": "Sum.\n\n@param a: The first\n    of them.\n@type a: int\n@param b: Second.\n@return: sum\n",
}


@pytest.mark.parametrize("style", _STYLES)
def test_descriptions_of_parameters(style: str) -> None:
    assert parameter_texts(_STYLES[style]) == {"a": "The first of them.", "b": "Second."}


@pytest.mark.parametrize(
    "text",
    ["", "Sum of a and b.", "Args:", ":param", "Parameters\n----------", "Args:\n" * 20_000, ":parameters a" * 9_000],
)
def test_docstrings_without_descriptions(text: str) -> None:
    assert parameter_texts(text) == {}


def test_descriptions_come_from_the_constructor_and_belong_to_no_token() -> None:
    code = 'class f:\n "A class."\n def __init__(self, a: int):\n  """Make it.\n\n  Args:\n      a: {}\n  """'
    first, second = described(code.format("one")), described(code.format("two"))
    assert first["parameters"][0]["description"] == "one"
    assert first["token"] == second["token"] != described("def f(a: float): ...")["token"]


def test_tokens_tell_defaults_of_other_types_apart() -> None:
    tokens = {
        described(f"def f(a: float = {default}): ...")["token"] for default in ("1", "1.0", "True", "'1'", "None")
    }
    assert len(tokens) == 5
    assert described("def f(a: float): ...")["token"] not in tokens


def test_three_hundred_parameters() -> None:
    found = described(f"def f({', '.join(f'a{i}: int = {i}' for i in range(300))}): ...")
    assert len(found["parameters"]) == 300
    assert len(json.dumps(found)) < 64_000
