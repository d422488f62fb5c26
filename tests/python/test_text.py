from __future__ import annotations

import pytest

from ipymcp.text import cut, cut_before_last_line, escape, head_and_tail


@pytest.mark.parametrize(
    ("text", "visible"),
    [
        ("plain", "plain"),
        ("日本語 👩‍👩‍👧", "日本語 👩‍👩‍👧"),
        ("a\udcafb", "a\\udcafb"),
        ("\ud83d", "\\ud83d"),
        ("\ud83d\ude00", "\\ud83d\\ude00"),
    ],
)
def test_escape_shows_lone_surrogates_and_nothing_else(text: str, visible: str) -> None:
    assert escape(text) == visible


@pytest.mark.parametrize(
    ("text", "limit", "kept", "was_cut"),
    [
        ("", 1, "", False),
        ("abc", 3, "abc", False),
        ("abcd", 3, "ab…", True),
        ("abcd", 1, "…", True),
        ("✓✓✓", 2, "✓…", True),
        ("\udcaf" * 3, 12, "\\udcaf\\udca…", True),
        ("\udcaf" * 2, 12, "\\udcaf\\udcaf", False),
    ],
)
def test_cut_keeps_all_but_one_and_ends_in_an_ellipsis(text: str, limit: int, kept: str, was_cut: bool) -> None:
    assert cut(text, limit) == (kept, was_cut)
    assert len(kept) <= limit


@pytest.mark.parametrize("limit", [1, 2, 7, 10])
def test_head_and_tail_keeps_exactly_the_limit_around_an_uncounted_marker(limit: int) -> None:
    text = "0123456789abc"
    cut_text, was_cut = head_and_tail(text, limit)
    head, marker, tail = cut_text.split("\n")
    assert was_cut
    assert (len(head) + len(tail), len(tail)) == (limit, limit // 2)
    assert text.startswith(head)
    assert text.endswith(tail)
    assert marker == f"… {len(text) - limit} characters omitted (of {len(text)}) …"


def test_head_and_tail_leaves_short_text() -> None:
    assert head_and_tail("short", 5) == ("short", False)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\nb", "a\nb"),
        ("x" * 30, "x" * 19 + "…"),
        ("x" * 30 + "\n[3]", "x" * 15 + "…\n[3]"),
        ("x" * 30 + "\n" + "y" * 30, "x" * 19 + "…"),
        ("x" * 30 + "\n", "x" * 18 + "…\n"),
        ("x" * 30 + "\n\udcaf", "x" * 12 + "…\n\\udcaf"),
        ("x" * 30 + "\n\udcaf\udcaf", "x" * 19 + "…"),
    ],
)
def test_a_short_last_line_outlives_a_cut(text: str, shown: str) -> None:
    assert cut_before_last_line(text, 20) == shown
