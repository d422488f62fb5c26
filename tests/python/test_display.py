from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from conversation import Conversation
from ipymcp.bundles import bounded_bundle
from ipymcp.limits import Limits
from ipymcp.payloads import PayloadFiles

_PNG = b"\x89PNG" + bytes(96)


@pytest.fixture
def files(tmp_path: Path) -> PayloadFiles:
    return PayloadFiles(str(tmp_path))


def encoded(content: bytes) -> str:
    return base64.encodebytes(content).decode()


@pytest.mark.parametrize(
    ("mime", "payload", "kept"),
    [
        ("text/plain", "hello", "hello"),
        ("text/html", "<b>\udcaf</b>", "<b>\\udcaf</b>"),
        ("text/plain", "\x1b[1;31mred\x1b[0m \x9b2K", "red "),
        ("image/svg+xml", "<svg/>", "<svg/>"),
        ("application/json", {"a": [1]}, {"a": [1]}),
        ("application/vnd.x+json", {"a": 1}, {"a": 1}),
        ("application/x-words", "hello there", "hello there"),
        ("image/png", "no base64!", "<image/png, not shown: its payload is no base64>"),
    ],
)
def test_text_and_data_are_kept(mime: str, payload: Any, kept: Any, limits: Limits, files: PayloadFiles) -> None:
    bundle = bounded_bundle({mime: payload}, {"m": 1}, limits, files)
    assert (bundle.data, bundle.metadata) == ({mime: kept}, {"m": 1})
    assert not bundle.cut
    assert not bundle.files


@pytest.mark.parametrize(
    ("mime", "payload", "content"),
    [
        ("image/png", _PNG, _PNG),
        ("image/png", encoded(_PNG), _PNG),
        ("application/pdf", encoded(b"%PDF"), b"%PDF"),
        ("audio/wav", memoryview(b"RIFF"), b"RIFF"),
        ("text/plain", b"bytes", b"bytes"),
    ],
)
def test_binary_payloads_are_in_files(
    mime: str, payload: Any, content: bytes, limits: Limits, files: PayloadFiles, tmp_path: Path
) -> None:
    bundle = bounded_bundle({mime: payload}, {}, limits, files)
    assert bundle.data == {mime: None}
    assert (tmp_path / bundle.files[mime]).read_bytes() == content
    files.remove(bundle.files.values())
    assert list(tmp_path.iterdir()) == []


def test_one_image_of_a_bundle_is_shown(limits: Limits, files: PayloadFiles) -> None:
    payloads = {"image/jpeg": b"JPEG", "image/png": _PNG, "image/webp": b"RIFF", "text/plain": "a"}
    bundle = bounded_bundle(payloads, {}, limits, files)
    assert list(bundle.files) == ["image/png"]
    assert bundle.data == {"image/png": None, "text/plain": "a"}


def test_a_disk_that_refuses_is_said(limits: Limits, tmp_path: Path) -> None:
    bundle = bounded_bundle({"image/png": _PNG}, {}, limits, PayloadFiles(str(tmp_path / "none")))
    assert bundle.data == {"image/png": "<image/png, 100 bytes, not kept: No such file or directory>"}


def test_what_is_too_long_or_no_json_is_flagged(limits: Limits, files: PayloadFiles) -> None:
    bundle = bounded_bundle({"text/plain": "x" * 9000, "a/b+json": [["x" * 100] * 100]}, {}, limits, files)
    assert {mime: len(text) for mime, text in bundle.data.items()} == {"text/plain": 8192, "a/b+json": 8192}
    assert bundle.cut
    odd = bounded_bundle({"application/json": {"a": float("nan")}}, {}, limits, files)
    assert odd.data["application/json"]["json_compatible"] is False
    assert odd.cut
    described = bounded_bundle({}, {"x": ["x" * 1000] * 50}, limits, files)
    assert (described.metadata, described.cut) == ({}, True)


def payload_files(talk: Conversation) -> set[str]:
    return {path.name for path in (talk.scratch / "scratch").glob("payload-*")}


def show(number: int, options: str = "") -> str:
    return f"display({{'image/png': b'{number}'}}, raw=True{options})\n"


def test_an_answer_owns_the_files_that_it_names(fresh: Conversation) -> None:
    answer = fresh.execute("h = " + show(1, ", display_id=True") + show(2) + "h.update({'image/png': b'3'}, raw=True)")
    assert [(payload["display"], payload["mime"]) for payload in answer["payloads"]] == [
        (0, "image/png"),
        (1, "image/png"),
    ]
    names = [payload["file"] for payload in answer["payloads"]]
    assert payload_files(fresh) == set(names)
    assert [(fresh.scratch / "scratch" / name).read_text() for name in names] == ["3", "2"]
    assert "payloads" not in fresh.execute("1")
    assert payload_files(fresh) == set(names)


def test_cleared_output_leaves_no_file(fresh: Conversation) -> None:
    clear = "from IPython.display import clear_output\n"
    answer = fresh.execute(clear + show(1) + "clear_output()\n" + show(2) + "clear_output(wait=True)\n" + show(3))
    assert payload_files(fresh) == {answer["payloads"][0]["file"]}
    assert len(answer["display_data"]) == 1


def test_more_than_the_bound_is_not_written(fresh: Conversation) -> None:
    answer = fresh.execute("for _ in range(30):\n  " + show(1))
    assert len(answer["display_data"]) == len(payload_files(fresh)) == 20
    assert (answer["truncated"]["items"], answer["truncated"]["display_data"]) == (True, True)


def test_calls_display_as_well(fresh: Conversation) -> None:
    fresh.execute("def f():\n  " + show(1) + "  return 2")
    answer = fresh.ask("call_function", name="f", arguments={})
    assert (answer["ok"], answer["result"]) == (True, 2)
    assert payload_files(fresh) == {answer["payloads"][0]["file"]}
