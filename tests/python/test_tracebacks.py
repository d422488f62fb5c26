from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from conversation import Conversation
from ipymcp.errors import failure, refusal
from ipymcp.limits import Limits
from ipymcp.tracebacks import format_traceback


def raised(function: Callable[[], Any]) -> BaseException:
    try:
        function()
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


def divide() -> float:
    return 1 / 0


def chained() -> None:
    try:
        divide()
    except ZeroDivisionError as error:
        raise ValueError("after") from error


def during() -> None:
    try:
        divide()
    except ZeroDivisionError:
        raise ValueError("while")  # noqa: B904


def hidden() -> None:
    try:
        divide()
    except ZeroDivisionError:
        raise ValueError("alone") from None


def noted() -> None:
    error = ValueError("with notes")
    error.add_note("first note")
    raise error


def grouped() -> None:
    raise ExceptionGroup("many", [ValueError("one"), ExceptionGroup("inner", [TypeError("two")])])


def refused() -> None:
    compile("x = (1\ny =\n", "Cell [1]", "exec")


class MuteError(Exception):
    def __str__(self) -> str:
        raise SystemExit


def mute() -> None:
    raise MuteError


@pytest.mark.parametrize(
    ("function", "contained", "missing"),
    [
        (divide, ["in divide", "return 1 / 0", "ZeroDivisionError: division by zero"], ["^", "\x1b"]),
        (chained, ["ZeroDivisionError", "direct cause of the following", "ValueError: after"], []),
        (during, ["ZeroDivisionError", "During handling of the above", "ValueError: while"], []),
        (hidden, ["ValueError: alone"], ["ZeroDivisionError"]),
        (noted, ["ValueError: with notes\nfirst note"], []),
        (grouped, ["ExceptionGroup: many", "| ValueError: one", "|   | TypeError: two"], []),
        (refused, ['File "Cell [1]", line 1', "SyntaxError: '(' was never closed"], []),
        (mute, ["MuteError: <MuteError str failed: SystemExit>"], []),
    ],
)
def test_the_plain_form(function: Callable[[], Any], contained: list[str], missing: list[str]) -> None:
    text, truncated = format_traceback(raised(function), 10_000)
    assert not truncated
    assert [piece for piece in contained if piece not in text] == []
    assert [piece for piece in missing if piece in text] == []
    assert text.index("Traceback (most recent call last):") == 0 or function is grouped


def recurse_simply(depth: int) -> int:
    return recurse_simply(depth - 1) if depth else 1 // 0


def recurse_in_turns(depth: int) -> int:
    return turn(depth - 1) if depth else 1 // 0


def turn(depth: int) -> int:
    return recurse_in_turns(depth)


@pytest.mark.parametrize("function", [recurse_simply, recurse_in_turns])
def test_a_million_frames_cost_little(function: Callable[[int], int], limits: Limits) -> None:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(3_000_000)
    try:
        error = raised(lambda: function(1_000_000))
    finally:
        sys.setrecursionlimit(before)
    begun = time.process_time()
    fields = failure("execution_error", error, limits)
    assert time.process_time() - begun < 0.5
    head, gap, tail = format_traceback(error, 100_000)[0].partition(" frames omitted …\n")
    assert gap
    assert all(f"in {function.__name__}" in end for end in (head, tail))
    assert len(fields["traceback"]) < limits.traceback_chars + 100


def test_a_repeated_line_is_written_once() -> None:
    text, _ = format_traceback(raised(lambda: recurse_simply(50)), 10_000)
    assert text.count("in recurse_simply") == 1
    assert "[the same line 50 more times]" in text


def test_long_chains_and_wide_groups_keep_their_ends() -> None:
    error: BaseException | None = None
    for number in range(10_000):
        newer = ValueError(number)
        newer.__context__ = error
        error = newer
    assert error is not None
    text, _ = format_traceback(error, 10_000)
    assert text.startswith("ValueError: 0\n")
    assert text.endswith("ValueError: 9999")
    assert "exceptions of the chain omitted" in text
    wide, _ = format_traceback(ExceptionGroup("g", [ValueError(number) for number in range(1000)]), 10_000)
    assert "985 exceptions omitted" in wide


def test_groups_of_groups_are_bounded_in_all() -> None:
    group: Exception = ValueError("leaf")
    for depth in range(5):
        group = ExceptionGroup(f"level {depth}", [group] * 15)
    begun = time.process_time()
    text, _ = format_traceback(group, 1_000_000)
    assert time.process_time() - begun < 0.5
    assert text.count("ValueError: leaf") < 100
    assert "14 exceptions omitted" in text
    assert "| ExceptionGroup: level 0" in text


def test_notes_are_bounded_and_may_be_anything() -> None:
    error = ValueError("noted")
    notes: Any = ["text", 5, MuteError(), "two\nlines"]
    error.__notes__ = notes
    said = "ValueError: noted\ntext\n5\n<note str failed: SystemExit>\ntwo\nlines"
    assert format_traceback(error, 10_000)[0] == said
    error.__notes__ = [str(number) for number in range(1000)]
    assert format_traceback(error, 10_000)[0].endswith("14\n… 985 notes omitted …")


_FAILING = "property(lambda self: 1 / 0)"


@pytest.mark.parametrize(
    "body",
    [
        *(f"{name} = {_FAILING}" for name in ("__traceback__", "__cause__", "__context__", "__suppress_context__")),
        *(f"{name} = {_FAILING}" for name in ("__notes__", "__class__", "__dict__", "args", "with_traceback")),
        "def __getattribute__(self, name): raise SystemExit(name)",
    ],
)
@pytest.mark.parametrize("base", ["Exception", "ExceptionGroup", "SyntaxError", "SystemExit", "KeyboardInterrupt"])
@pytest.mark.parametrize("before", ["", "import asyncio\nawait asyncio.sleep(0)\n"])
def test_what_a_class_defines_over_the_attributes_of_exceptions_is_not_asked(
    shared: Conversation, body: str, base: str, before: str
) -> None:
    arguments = "'m', [ValueError('of the group')]" if base == "ExceptionGroup" else "'m'"
    error = shared.failure(f"{before}class OddError({base}):\n    {body}\nraise OddError({arguments})")
    assert (error["code"], error["error_type"]) == ("execution_error", "OddError")
    line = 3 + before.count("\n")
    assert f"line {line}, in <module>\n    raise OddError({arguments})\nOddError: m" in error["traceback"]
    assert error["location"]["line"] == line


def test_a_chain_that_is_a_cycle_ends() -> None:
    first, second = ValueError(1), ValueError(2)
    first.__context__, second.__context__ = second, first
    assert "ValueError: 1" in format_traceback(first, 1000)[0]


def test_a_long_traceback_keeps_both_ends(limits: Limits) -> None:
    error = ValueError("y" * 5000)
    for number in range(10):
        error.add_note(f"{number}" * 1000)
    fields = failure("execution_error", error, limits)
    head, marker, tail = fields["traceback"].partition("\n… ")
    assert fields["traceback_truncated"]
    assert head.startswith("ValueError: yyy")
    assert tail.endswith("9")
    assert "characters omitted (of " in marker + tail
    assert len(head) == limits.traceback_chars // 2


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (SystemExit("bye"), "exit with bye"),
        (SystemExit(), "asked to exit;"),
        (KeyboardInterrupt(), "was interrupted"),
        (ValueError(), "ValueError"),
        (KeyError("k"), "'k'"),
        (MuteError(), "<MuteError str failed: SystemExit>"),
        (ValueError("\udcaf"), "\\udcaf"),
    ],
)
def test_the_message_says_what_happened(error: BaseException, said: str, limits: Limits) -> None:
    fields = failure("execution_error", error, limits)
    assert said in fields["message"]
    assert fields["error_type"] == type(error).__name__


def test_messages_are_bounded(limits: Limits) -> None:
    for fields in (failure("c", ValueError("x" * 10_000), limits), refusal("c", "x" * 10_000, limits)):
        assert len(fields["message"]) == limits.text_chars
        assert fields["message_truncated"]


def test_the_location_counts_characters_from_one(limits: Limits) -> None:
    source = "def f():\n    return 'é✓', 1 / 0\n"
    namespace: dict[str, Any] = {}
    import linecache

    linecache.cache["Cell [7]"] = (len(source), None, source.splitlines(keepends=True), "Cell [7]")
    exec(compile(source, "Cell [7]", "exec"), namespace)
    fields = failure("execution_error", raised(namespace["f"]), limits)
    assert fields["location"] == {"line": 2, "column": 18, "filename": "Cell [7]"}
    assert "return 'é✓', 1 / 0" in fields["traceback"]


def test_the_location_is_in_the_users_code_where_there_is_some(limits: Limits) -> None:
    import json

    fields = failure("execution_error", raised(lambda: json.loads("{")), limits)
    assert fields["location"]["filename"] == __file__
