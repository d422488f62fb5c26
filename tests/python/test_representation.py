from __future__ import annotations

import time
from collections import OrderedDict, namedtuple
from typing import Any

import pytest

from ipymcp.representation import ReprError, represent, representation


class Raises:
    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __repr__(self) -> str:
        raise self.error


class GivesNoString:
    def __repr__(self) -> str:
        return 5  # type: ignore[return-value]


class Endless:
    def __repr__(self) -> str:
        return repr(self)


Pair = namedtuple("Pair", "a b")


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        -(2**63),
        1.5,
        "it's",
        b"x\x00",
        [],
        [1, [2, (3,)], {"k": {4}}],
        (),
        (1,),
        set(),
        {1},
        frozenset(),
        frozenset({1}),
        {},
        {"a": 1, 2: "b"},
        OrderedDict(a=1),
        Pair(1, 2),
        int,
        range(3),
    ],
)
def test_small_values_look_as_python_writes_them(value: object) -> None:
    assert representation(value, 1000) == (repr(value), False)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (Raises(ValueError("no")), "<Raises repr failed: ValueError>"),
        (Raises(SystemExit()), "<Raises repr failed: SystemExit>"),
        (Raises(KeyboardInterrupt()), "<Raises repr failed: KeyboardInterrupt>"),
        (GivesNoString(), "<GivesNoString repr failed: TypeError>"),
        (Endless(), "<Endless repr failed: RecursionError>"),
        ([1, Raises(ValueError())], "[1, <Raises repr failed: ValueError>]"),
    ],
)
def test_a_failing_repr_is_said(value: object, shown: str) -> None:
    assert representation(value, 1000) == (shown, False)


def test_represent_raises_only_for_the_value_itself() -> None:
    with pytest.raises(ReprError) as caught:
        represent(Raises(ValueError("no")), 100)
    assert type(caught.value.cause) is ValueError
    assert represent([Raises(ValueError())], 100)[0] == "[<Raises repr failed: ValueError>]"


def test_a_class_that_lets_nobody_read_it_is_shown() -> None:
    class LyingMeta(type):
        def __getattribute__(cls, name: str) -> Any:
            raise SystemExit(name)

        def __repr__(cls) -> str:
            return "<lying class>"

    class Lying(metaclass=LyingMeta):
        pass

    assert representation(Lying, 1000) == ("<lying class>", False)
    assert representation(Lying(), 1000)[0].startswith("<")


@pytest.mark.parametrize(
    "value",
    [
        "x" * 100_000_000,
        b"x" * 100_000_000,
        [10**9] * 10_000_000,
        dict.fromkeys(range(1_000_000), "v"),
        [["y" * 1_000_000] * 1000] * 1000,
        2**100_000_000,
    ],
    ids=["str", "bytes", "list", "dict", "nested", "int"],
)
def test_giant_values_cost_no_more_than_the_bound(value: object) -> None:
    begun = time.process_time()
    shown, _ = representation(value, 1024)
    assert time.process_time() - begun < 0.2
    assert len(shown) <= 1024


def test_what_is_cut_ends_in_an_ellipsis() -> None:
    assert representation([1000] * 100, 12) == ("[1000, 1000…", True)
    assert representation("abcdef", 4) == ("'ab…", True)


def test_cycles_and_depth_end() -> None:
    cycle: list[object] = []
    cycle.append({"self": cycle})
    assert representation(cycle, 100) == ("[{'self': [...]}]", False)
    deep: object = 1
    for _ in range(100_000):
        deep = [deep]
    shown, _ = representation(deep, 1000)
    assert "..." in shown


def test_integers_beyond_the_conversion_limit_are_written_or_named() -> None:
    assert representation(10**5000, 8192) == ("1" + "0" * 5000, False)
    assert representation(10**5000, 1024) == ("<int of about 5001 digits>", False)
