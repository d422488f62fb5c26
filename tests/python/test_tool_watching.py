"""The token of a callable's state: what changes it, what does not, and that looking is cheap and runs nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import pytest

from ipymcp.kernel import Kernel
from ipymcp.watching import Watched

_BEFORE = """
import functools, enum
from dataclasses import dataclass
from typing import Annotated
def f(a: int, b: str = "x", *, c: float = 1.0): return a
def listed(a: list[int] = [], b: dict[str, int] = {}): ...
def keyword(*, c: list[int] = [1]): ...
def stated(a: int): ...
def inner(a: int, b: int = 2): ...
p = functools.partial(inner, b=3)
@functools.wraps(inner)
def wrapped(*args, **kwargs): ...
class Base:
    def __init__(self, a: int): ...
class Derived(Base): ...
class Other:
    def __init__(self, z: str): ...
class Meta(type): ...
class Made(metaclass=Meta):
    def __init__(self, a: int): ...
class Called:
    def __call__(self, a: int): ...
called = Called()
class Color(enum.Enum):
    RED = 1
def colored(c: "Color"): ...
@dataclass
class Point:
    x: int
def pointed(p: "Point | None" = None): ...
import types
lib = types.ModuleType("lib")
lib.T = int
def far(a: "lib.T"): ...
class Dynamic:
    kind = int
    def __call__(self, a: int): ...
    @property
    def __signature__(self):
        import inspect
        return inspect.Signature([inspect.Parameter("a", 1, annotation=self.kind)])
dynamic = Dynamic()
"""


class Interrupts:
    def run(self, work: Callable[[], Any]) -> Any:
        return work()


class Space:
    """A namespace, watched through what package dyntools would remember."""

    def __init__(self) -> None:
        module = ModuleType("watched")
        self.names = module.__dict__
        sys.modules["watched"] = module
        exec(_BEFORE, self.names)
        limits = SimpleNamespace(description_chars=1024)
        stand_in = SimpleNamespace(namespace=self.names, interrupts=Interrupts(), limits=limits)
        self.kernel = cast(Kernel, stand_in)
        self.watched = Watched()
        self.tokens: dict[str, str] = {}

    def register(self, *symbols: str) -> None:
        for symbol in symbols:
            self.tokens[symbol] = self.watched.describe(self.kernel, symbol)["callable"]["token"]

    def changes(self) -> list[dict[str, Any]]:
        return self.watched.changes(self.kernel, dict(self.tokens))

    def again(self) -> list[dict[str, Any]]:
        return self.watched.changes(self.kernel, None)


@pytest.fixture
def space(monkeypatch: pytest.MonkeyPatch) -> Space:
    monkeypatch.delitem(sys.modules, "watched", raising=False)
    return Space()


_ALL = (
    "f",
    "listed",
    "keyword",
    "stated",
    "inner",
    "p",
    "wrapped",
    "Derived",
    "Made",
    "called",
    "colored",
    "pointed",
    "far",
    "dynamic",
)


def test_nothing_changed(space: Space) -> None:
    space.register(*_ALL)
    assert space.changes() == []
    for _ in range(3):
        assert space.again() == []


@pytest.mark.parametrize(
    ("symbol", "change"),
    [
        ("f", "def f(a: int, b: str = 'x', *, c: float = 1.0, d: int = 0): ..."),
        ("f", "def f(a: int, *, c: float = 1.0): ..."),
        ("f", "def f(z: int, b: str = 'x', *, c: float = 1.0): ..."),
        ("f", "def f(a: float, b: str = 'x', *, c: float = 1.0): ..."),
        ("f", "def f(a: int, b: str = 'y', *, c: float = 1.0): ..."),
        ("f", "def f(a: int, b: str, *, c: float = 1.0): ..."),
        ("f", "async def f(a: int, b: str = 'x', *, c: float = 1.0): ..."),
        ("f", "f.__code__ = (lambda a, b, *, d: 1).__code__"),
        ("f", "f.__defaults__ = ('y',)"),
        ("f", "f.__defaults__ = None"),
        ("f", "f.__kwdefaults__ = {'c': 2.0}"),
        ("f", "f.__kwdefaults__['c'] = 2.0"),
        ("f", "f.__kwdefaults__['c'] = 1"),
        ("f", "f.__annotations__ = {'a': str}"),
        ("f", "f.__annotations__['a'] = float"),
        ("f", "f.__annotations__['z'] = f.__annotations__.pop('a')"),
        ("f", "import inspect; f.__signature__ = inspect.Signature()"),
        ("f", "f.__wrapped__ = lambda: 1"),
        ("f", "import inspect; f.__dict__ = {'__signature__': inspect.Signature()}"),
        ("listed", "listed.__defaults__[0].append(5)"),
        ("listed", "listed.__defaults__[1]['a'] = 5"),
        ("keyword", "keyword.__kwdefaults__['c'][0] = True"),
        ("p", "p.keywords['b'] = 4"),
        ("p", "p.keywords['a'] = 4"),
        ("p", "p.keywords.clear()"),
        ("p", "inner.__defaults__ = (7,); p.keywords.clear()"),
        ("p", "inner.__annotations__['a'] = str"),
        ("p", "p.__setstate__((inner, (1,), {}, {}))"),
        ("wrapped", "inner.__defaults__ = (7,)"),
        ("wrapped", "del wrapped.__wrapped__"),
        ("Derived", "Base.__init__ = Other.__init__"),
        ("Derived", "Derived.__init__ = Other.__init__"),
        ("Derived", "Derived.__new__ = lambda cls, q: 1"),
        ("Derived", "Derived.__bases__ = (Other,)"),
        ("Derived", "Base.__init__.__annotations__['a'] = str"),
        ("Made", "Meta.__call__ = lambda cls, q: 1"),
        ("Made", "import inspect; Made.__signature__ = inspect.Signature()"),
        ("called", "Called.__call__ = Other.__init__"),
        ("called", "class Another:\n def __call__(self, b: int): ...\ncalled.__class__ = Another"),
        ("called", "import inspect; called.__signature__ = inspect.Signature()"),
        ("colored", "class Color(enum.Enum):\n RED = 2"),
        ("colored", "del Color"),
        ("pointed", "@dataclass\nclass Point:\n y: int"),
        ("far", "lib.T = str"),
        ("far", "lib = types.ModuleType('empty')"),
        ("dynamic", "Dynamic.kind = str"),
    ],
)
def test_changes_of_the_signature(space: Space, symbol: str, change: str) -> None:
    space.register(*_ALL)
    assert space.changes() == []
    assert space.again() == []
    exec(change, space.names)
    found = {binding["symbol"]: binding for binding in space.again()}
    assert found[symbol]["state"] == "callable"
    assert found[symbol]["callable"]["token"] != space.tokens[symbol]
    space.tokens |= {name: binding["callable"]["token"] for name, binding in found.items()}
    assert space.changes() == []


@pytest.mark.parametrize(
    "change",
    [
        "def f(a: int, b: str = 'x', *, c: float = 1.0): return 'another body'",
        "f.__doc__ = 'New.'",
        "f.attribute = 5",
        "f.__defaults__ = ('x',)",
        "f.__annotations__ = dict(f.__annotations__)",
        "f.__annotations__['return'] = 'Missing'",
        "Base.__init__ = lambda self, a: 1; Base.__init__.__annotations__ = {'a': int}",
        "import enum\nclass Color(enum.Enum):\n RED = 1",
        "Meta.attribute = 1; called.attribute = 2",
        "unrelated = 1",
    ],
)
def test_other_changes_are_none(space: Space, change: str) -> None:
    space.register(*_ALL)
    space.changes()
    exec(change, space.names)
    assert space.again() == []
    assert space.again() == []


@pytest.mark.parametrize(
    ("change", "state"), [("del f", "missing"), ("f = 5", "not_callable"), ("f = lambda: 1", "callable")]
)
def test_names_bound_to_something_else(space: Space, change: str, state: str) -> None:
    space.register("f", "inner")
    space.changes()
    exec(change, space.names)
    (binding,) = space.again()
    assert (binding["symbol"], binding["state"]) == ("f", state)


def test_a_call_gets_what_the_token_stands_for(space: Space) -> None:
    space.register("f")
    token = space.tokens["f"]
    current = space.watched.current(space.kernel, "f", token)
    assert current is not None
    assert current.value is space.names["f"]
    exec("def f(a: int, b: str = 'x', *, c: float = 1.0): return 'equal'", space.names)
    current = space.watched.current(space.kernel, "f", token)
    assert current is not None
    assert current.value is space.names["f"]
    exec("def f(): ...", space.names)
    assert space.watched.current(space.kernel, "f", token) is None


def test_what_is_watched_no_more_is_let_go(space: Space) -> None:
    space.register("f", "inner")
    space.changes()
    held = sys.getrefcount(space.names["f"])
    del space.tokens["f"]
    assert space.changes() == []
    assert sys.getrefcount(space.names["f"]) < held
    space.tokens.clear()
    assert space.changes() == []
    exec("inner = None", space.names)
    assert space.again() == []


def test_looking_runs_no_code_of_the_users(space: Space) -> None:
    space.register("f", "Made", "called", "p", "wrapped", "colored")
    space.changes()

    def forbidden(*_: object) -> Any:
        raise AssertionError("user code ran")

    space.names["Called"].__getattr__ = forbidden
    space.names["Meta"].__eq__ = forbidden
    space.names["Meta"].__hash__ = forbidden
    assert space.again() == []


def test_an_interruption_does_not_change_what_is_bound(space: Space) -> None:
    space.register("f")
    space.changes()
    attempts: list[int] = []

    def run(work: Callable[[], Any]) -> Any:
        attempts.append(1)
        if len(attempts) == 1:
            raise KeyboardInterrupt
        return work()

    interrupts: Any = space.kernel.interrupts
    interrupts.run = run
    exec("def f(a: int, b: str = 'x', *, c: float = 1.0): ...", space.names)
    assert space.again() == []
    attempts[:] = []

    def interrupted(_: Callable[[], Any]) -> Any:
        raise KeyboardInterrupt

    interrupts.run = interrupted
    exec("def f(a: int): ...", space.names)
    (binding,) = space.again()
    assert binding["callable"]["problem"] == "describing it was interrupted"
