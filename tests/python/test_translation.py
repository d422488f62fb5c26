from __future__ import annotations

import dataclasses
import enum
import types
from collections import ChainMap, Counter, OrderedDict, UserDict, defaultdict, deque, namedtuple
from collections.abc import Iterator
from datetime import date
from typing import Any

import pytest

from ipymcp.limits import Limits
from ipymcp.translation import TOO_DEEP, NotJsonError, opaque, translate

Pair = namedtuple("Pair", "a b")


class Name(str):
    __slots__ = ()

    def __str__(self) -> str:
        return "a lie"


class Colour(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    LOW = 1


class Word(enum.StrEnum):
    YES = "yes"


@dataclasses.dataclass
class Point:
    x: int
    y: Any = None
    hidden: dataclasses.InitVar[int] = 0


class Model:
    def model_dump(self) -> dict[str, Any]:
        return {"a": [1, 2]}


class Numbers(dict[str, int]):
    def items(self) -> Any:
        raise SystemExit

    def __len__(self) -> int:
        return -5


generic = type("generic", (), {"__module__": "numpy"})


class NumpyScalar(generic):  # type: ignore[misc,valid-type]
    """Stands for a scalar of NumPy, which is recognised by the name of its base class."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def item(self) -> Any:
        return self._value


class Liar:
    __class__: Any = property(lambda self: dict)


def moved() -> OrderedDict[str, int]:
    ordered = OrderedDict(a=1, b=2)
    ordered.move_to_end("a")
    return ordered


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (5, 5),
        (2**80, 2**80),
        (-(2**63), -(2**63)),
        (10**400, 10**400),
        (1.5, 1.5),
        (-0.0, -0.0),
        ("✓ 日本語", "✓ 日本語"),
        ("\ud83d", "\\ud83d"),
        ([1, (2, "x")], [1, [2, "x"]]),
        ({"k\udcaf": None}, {"k\\udcaf": None}),
        (Pair(1, 2), [1, 2]),
        (Level.LOW, 1),
        (Word.YES, "yes"),
        (Name("real"), "real"),
        (Point(1, [Point(2)]), {"x": 1, "y": [{"x": 2, "y": None}]}),
        (Model(), {"a": [1, 2]}),
        (Numbers(a=1), {"a": 1}),
        (defaultdict(list, a=[1]), {"a": [1]}),
        (Counter("aab"), {"a": 2, "b": 1}),
        (UserDict(a=1), {"a": 1}),
        (ChainMap({"a": 1}), {"a": 1}),
        (types.MappingProxyType({"a": 1}), {"a": 1}),
        (NumpyScalar(7), 7),
        (NumpyScalar(0.5), 0.5),
        ([NumpyScalar(True)], [True]),
    ],
)
def test_values_with_a_json_form(value: Any, expected: Any, limits: Limits) -> None:
    translated, truncated = translate(value, limits)
    assert (translated, truncated) == (expected, False)
    assert type(translated) is type(expected)


def test_the_order_of_an_ordered_dictionary_is_its_own(limits: Limits) -> None:
    assert list(translate(moved(), limits)[0]) == ["b", "a"]


class Raiser:
    def model_dump(self) -> dict[str, Any]:
        raise KeyboardInterrupt


class Itself:
    def model_dump(self) -> Any:
        return self


@dataclasses.dataclass
class Failing:
    x: int = 0

    def __getattribute__(self, name: str) -> Any:
        if name == "x":
            raise SystemExit
        return super().__getattribute__(name)


class Items(UserDict[str, int]):
    def __getitem__(self, key: str) -> int:
        raise MemoryError(key)


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        {"a": float("-inf")},
        [[float("nan")]],
        {1: "a"},
        {None: 1},
        b"bytes",
        bytearray(),
        1j,
        object(),
        deque([1]),
        iter([1]),
        range(3),
        date(2020, 1, 1),
        Colour.RED,
        Liar(),
        Raiser(),
        Itself(),
        Failing(),
        Items(a=1),
        Point,
        Model,
        NumpyScalar(float("nan")),
        NumpyScalar(1j),
        NumpyScalar(date(2020, 1, 1)),
        NumpyScalar(NumpyScalar(1)),
        [1, {2: 3}],
        lambda: None,
    ],
)
def test_values_without_a_json_form(value: Any, limits: Limits) -> None:
    with pytest.raises(NotJsonError):
        translate(value, limits)
    assert opaque(value, limits)["json_compatible"] is False


def test_the_opaque_form(limits: Limits) -> None:
    expected = {"json_compatible": False, "type": "builtins.float", "representation": "nan"}
    assert opaque(float("nan"), limits) == expected
    named = opaque(Liar.__dict__["__class__"], limits)
    assert named["type"] == "builtins.property"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({3, 1, 10}, [1, 10, 3]),
        (frozenset({"b", "a", 2}), [2, "a", "b"]),
        ({None, 1.5, True}, [None, True, 1.5]),
        ({frozenset({2, 1}), "x"}, [[1, 2], "x"]),
    ],
)
def test_sets_are_ordered_by_module_type_and_representation(value: Any, expected: Any, limits: Limits) -> None:
    assert translate(value, limits)[0] == sorted(expected, key=_order)


def _order(item: Any) -> tuple[str, str]:
    cls = frozenset if isinstance(item, list) else type(item)
    return cls.__qualname__, repr(item)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (list(range(101)), list(range(100))),
        ({str(number): number for number in range(101)}, {str(number): number for number in range(100)}),
        (set(range(1000, 2000)), list(range(1000, 1100))),
        ("x" * 8193, "x" * 8191 + "…"),
        ({"k" * 9000: 1}, {"k" * 8191 + "…": 1}),
        ([[[[[[[1]]]]]]], [[[[[[TOO_DEEP]]]]]]),
        ({"a": [[[[[{}]]]]]}, {"a": [[[[[TOO_DEEP]]]]]}),
    ],
    ids=["list", "mapping", "set", "string", "key", "depth", "mixed depth"],
)
def test_what_is_too_much_is_cut_and_flagged(value: Any, expected: Any, limits: Limits) -> None:
    assert translate(value, limits) == (expected, True)


def test_exactly_the_bound_is_not_cut(limits: Limits) -> None:
    for value in (list(range(100)), "x" * 8192, [[[[[[1]]]]]]):
        assert translate(value, limits) == (value, False)


@pytest.mark.parametrize(
    ("most", "value"),
    [
        (1, [5]),
        (1, [[[[[[5]]]]]]),
        (1, {"a": [{"b": [1]}]}),
        (100, [[0] * 100 for _ in range(100)]),
        (20, [[[0] * 20 for _ in range(20)] for _ in range(20)]),
        (3, [[{"a": 1, "b": 2, "c": 3}] * 3] * 3),
    ],
)
def test_full_containers_within_the_bounds_are_whole(limits: Limits, most: int, value: Any) -> None:
    assert translate(value, dataclasses.replace(limits, results=most)) == (value, False)


def test_cycles_end_by_depth_and_do_not_multiply(limits: Limits) -> None:
    cycle: list[Any] = []
    cycle.extend([cycle] * 100)
    translated, truncated = translate(cycle, limits)
    assert truncated
    assert len(repr(translated)) < 2_000_000
    mapping: dict[str, Any] = {}
    mapping["self"] = mapping
    assert translate(mapping, limits)[1]


def test_integers_with_too_many_digits_are_not_json(limits: Limits) -> None:
    assert translate(10**8191, limits) == (10**8191, False)
    assert translate(-(10**8192) + 1, limits)[1] is False
    for number in (10**8192, -(10**8192), 2**10_000_000):
        with pytest.raises(NotJsonError):
            translate(number, limits)


class Infinite(UserDict[str, int]):
    def __iter__(self) -> Iterator[str]:
        number = 0
        while True:
            number += 1
            yield str(number)

    def __getitem__(self, key: str) -> int:
        return 1


def test_an_infinite_mapping_is_cut(limits: Limits) -> None:
    translated, truncated = translate(Infinite(), limits)
    assert (len(translated), truncated) == (100, True)
