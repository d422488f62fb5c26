from __future__ import annotations

import base64
from typing import Any

import pytest

from ipymcp.display import bounded_bundle
from ipymcp.limits import Limits


@pytest.mark.parametrize(
    ("mime", "payload", "kept"),
    [
        ("text/plain", "hello", "hello"),
        ("text/html", "<b>\udcaf</b>", "<b>\\udcaf</b>"),
        ("image/svg+xml", "<svg/>", "<svg/>"),
        ("application/json", {"a": [1]}, {"a": [1]}),
        ("application/vnd.x+json", {"a": 1}, {"a": 1}),
        ("image/png", b"\x89PNG" + b"0" * 96, "<image/png, 100 bytes>"),
        ("image/png", base64.b64encode(b"0" * 100).decode(), "<image/png, 100 bytes>"),
        ("application/pdf", base64.b64encode(b"0" * 101).decode(), "<application/pdf, 101 bytes>"),
    ],
)
def test_text_is_kept_and_binary_is_named(mime: str, payload: Any, kept: Any, limits: Limits) -> None:
    bundle, truncated = bounded_bundle({mime: payload}, {"m": 1}, limits)
    assert bundle == {"data": {mime: kept}, "metadata": {"m": 1}}
    assert not truncated


def test_what_is_too_long_or_no_json_is_flagged(limits: Limits) -> None:
    long, truncated = bounded_bundle({"text/plain": "x" * 9000}, {}, limits)
    assert (len(long["data"]["text/plain"]), truncated) == (limits.text_chars, True)
    odd, truncated = bounded_bundle({"application/json": {"a": float("nan")}}, {}, limits)
    assert odd["data"]["application/json"]["json_compatible"] is False
    assert truncated
