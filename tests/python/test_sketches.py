from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conversation import Conversation
from ipymcp.bundles import Bundle
from ipymcp.payloads import PayloadFiles
from ipymcp.sketches import Sketches, Snapshot

# Copies what is there, before the end of the cell takes it away.
_KEEP = """
import glob, os, shutil, time
def keep(seconds=0.3):
    time.sleep(seconds)
    for path in glob.glob(os.path.join(SCRATCH, "kept")):
        os.unlink(path)
    for path in glob.glob(os.path.join(SCRATCH, "sketch-*")):
        shutil.copy(path, os.path.join(SCRATCH, "kept"))
"""


@pytest.fixture
def keeping(fresh: Conversation) -> Conversation:
    fresh.execute(_KEEP.replace("SCRATCH", repr(str(fresh.scratch / "scratch"))))
    return fresh


def kept(talk: Conversation) -> dict[str, Any]:
    """What a cell that ends with `keep()` leaves."""
    sketch: dict[str, Any] = json.loads((talk.scratch / "scratch" / "kept").read_text("utf-8"))
    return sketch


def texts(sketch: dict[str, Any]) -> list[str]:
    return [display["data"].get("text/plain") for display in sketch["displays"]]


def test_what_is_displayed_is_sketched_until_the_end(keeping: Conversation) -> None:
    keeping.execute(
        "h = display('one', display_id=True); display({'image/png': b'PNG'}, raw=True); h.update('two'); keep()"
    )
    sketch = kept(keeping)
    first, second = sketch["displays"]
    assert (first["data"], first["files"], sketch["cut"], sketch["omitted"]) == (
        {"text/plain": "'two'"},
        {},
        False,
        False,
    )
    assert (second["data"], list(second["files"])) == ({"image/png": None}, ["image/png"])
    keeping.execute("display(1)\nget_ipython().display_pub.clear_output()\nfor i in range(21): display(i)\nkeep()")
    sketch = kept(keeping)
    assert texts(sketch) == [str(i) for i in range(20)]
    assert (sketch["cut"], sketch["omitted"]) == (True, True)
    assert not list((keeping.scratch / "scratch").glob("sketch-*"))


def test_the_first_display_is_sketched_at_once(keeping: Conversation) -> None:
    time.sleep(0.2)
    keeping.execute("display(1); keep(0)")
    assert texts(kept(keeping)) == ["1"]


def test_a_forked_child_sketches_nothing(keeping: Conversation) -> None:
    time.sleep(0.2)
    keeping.execute(
        "display(1)\nif os.fork() == 0: display('child'); time.sleep(0.2); display(2); os._exit(0)\nos.wait(); keep(0)"
    )
    assert texts(kept(keeping)) == ["1"]


def test_displaying_often_sketches_seldom(keeping: Conversation) -> None:
    """In a loop, almost nothing is drawn: neither for what is dropped, nor for each update."""
    counting = """
import sys
drawn = []
def listen(event, args):
    if event == "os.rename" and "sketch-" in str(args[1]):
        drawn.append(args)
sys.addaudithook(listen)
h = display(0, display_id=True); started = time.monotonic()
for i in range(2000): display(i)
for i in range(2000): h.update(i)
allowed = 3 + 10 * (time.monotonic() - started)
(0 < len(drawn) <= allowed, len(drawn), allowed)
"""
    assert keeping.execute(counting)["result"][0] is True


def test_code_that_replaces_threading_is_sketched(keeping: Conversation) -> None:
    keeping.execute(
        "import threading, _thread\nthreading.Thread = threading.Timer = _thread.start_new_thread = None\n"
        "for i in range(3): display(i)\nkeep()"
    )
    assert texts(kept(keeping)) == ["0", "1", "2"]


class Drawing:
    """Sketches of displays that a test makes."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.files = PayloadFiles(str(directory))
        self.sketches = Sketches(str(directory), lambda: 7, self.files)
        self.bundles: list[Bundle] = []
        self.sketches.begin(self.snapshot)

    def snapshot(self) -> Snapshot:
        return Snapshot(list(self.bundles), cut=False, omitted=False)

    def show(self, text: str) -> None:
        """Replaces what is shown."""
        gone, self.bundles = self.bundles, [Bundle({"text/plain": text}, files={"image/png": self.files.write(b"")})]
        for bundle in gone:
            self.sketches.release(bundle.files.values())
        self.sketches.changed()

    def drawn(self) -> list[str]:
        """The texts in the file."""
        return texts(self.sketch())

    def sketch(self) -> dict[str, Any]:
        """The file's content."""
        try:
            sketch: dict[str, Any] = json.loads((self.directory / "sketch-7.json").read_text("utf-8"))
        except FileNotFoundError:
            return {"displays": []}
        return sketch

    def is_whole(self) -> bool:
        """Whether the payloads are there that the file names, and no others."""
        named = {name for it in self.sketch()["displays"] for name in it["files"].values()}
        return named == {path.name for path in self.directory.glob("payload-*")}

    def comes(self, wanted: list[str]) -> bool:
        """Whether something is drawn soon."""
        until = time.monotonic() + 5
        while self.drawn() != wanted and time.monotonic() < until:
            time.sleep(0.01)
        return self.drawn() == wanted


@pytest.fixture
def drawing(tmp_path: Path) -> Iterator[Drawing]:
    it = Drawing(tmp_path)
    yield it
    it.sketches.end()


def test_what_follows_soon_is_drawn_later_and_keeps_its_payloads(drawing: Drawing) -> None:
    for text in ("one", "two", "three"):
        drawing.show(text)
    assert drawing.drawn() == ["one"]
    (first,) = drawing.sketch()["displays"][0]["files"].values()
    assert (drawing.directory / first).exists()
    assert len(list(drawing.directory.glob("payload-*"))) == 2
    assert drawing.comes(["three"])
    time.sleep(0.05)
    assert drawing.is_whole()


def test_nothing_is_drawn_after_the_end(drawing: Drawing) -> None:
    threads = len(list(Path("/proc/self/task").iterdir()))
    drawing.show("one")
    drawing.show("two")
    drawing.sketches.end()
    time.sleep(0.05)
    assert len(list(Path("/proc/self/task").iterdir())) == threads
    drawing.sketches.changed()
    time.sleep(0.2)
    assert [path.name.partition("-")[0] for path in drawing.directory.iterdir()] == ["payload"]


def test_without_a_thread_the_next_display_draws(drawing: Drawing, monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left(*_: Any) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("ipymcp.sketches.start_new_thread", none_left)
    drawing.show("one")
    drawing.show("two")
    time.sleep(0.15)
    assert drawing.drawn() == ["one"]
    drawing.show("three")
    assert drawing.drawn() == ["three"]


def test_a_failure_to_draw_is_nobodys(drawing: Drawing) -> None:
    (drawing.directory / "sketch-7.json").mkdir()
    drawing.show("one")
    assert [path.name for path in drawing.directory.glob("*.new")] == []
    (drawing.directory / "sketch-7.json").rmdir()
    drawing.show("two")
    assert drawing.comes(["two"])


def test_what_is_displayed_while_something_is_drawn_is_drawn_later(drawing: Drawing) -> None:
    """As by a signal handler or a finalizer, which run in the middle of it."""
    inner = ["inner"]
    snapshot = drawing.snapshot

    def displaying() -> Snapshot:
        shown = snapshot()
        if inner:
            drawing.show(inner.pop())
        return shown

    drawing.sketches.begin(displaying)
    drawing.show("outer")
    (first,) = drawing.sketch()["displays"][0]["files"].values()
    assert drawing.drawn() == ["outer"]
    assert (drawing.directory / first).exists()
    assert drawing.comes(["inner"])
    time.sleep(0.05)
    assert drawing.is_whole()


def test_threads_may_update_one_display(drawing: Drawing, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each drawing is whole, and the last is of what was shown last."""
    monkeypatch.setattr("ipymcp.sketches._INTERVAL_SECONDS", 0.0)

    def update(letter: str) -> None:
        for _ in range(200):
            drawing.bundles = [Bundle({"text/plain": letter * 5000})]
            drawing.sketches.changed()

    threads = [threading.Thread(target=update, args=(letter,)) for letter in "abcd"]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert all(len(set(text)) == 1 for text in drawing.drawn())
    assert drawing.drawn() == [drawing.bundles[0].data["text/plain"]]
