from __future__ import annotations

import json
from typing import Any

from conversation import Conversation


def sketches(talk: Conversation) -> list[dict[str, Any]]:
    """What a cell that ends with `stop()` leaves, in the order of the names."""
    return [json.loads(path.read_text("utf-8")) for path in sorted((talk.scratch / "scratch").glob("kept-sketch-*"))]


# Copies what is there, before the end of the cell takes it away.
_KEEP = """
import glob, os, shutil
def keep():
    for path in glob.glob(os.path.join(SCRATCH, "*sketch-*")):
        name = os.path.basename(path)
        if name.startswith("kept-"):
            os.unlink(path)
        else:
            shutil.copy(path, os.path.join(SCRATCH, "kept-" + name))
"""


def test_what_is_displayed_is_sketched_until_the_end(fresh: Conversation) -> None:
    fresh.execute(_KEEP.replace("SCRATCH", repr(str(fresh.scratch / "scratch"))))
    fresh.execute(
        "h = display('one', display_id=True); display({'image/png': b'PNG'}, raw=True); h.update('two'); keep()"
    )
    first, second = sketches(fresh)
    assert (first["data"], first["files"], first["cut"], first["omitted"]) == (
        {"text/plain": "'two'"},
        {},
        False,
        False,
    )
    assert (second["data"], list(second["files"])) == ({"image/png": None}, ["image/png"])
    fresh.execute("display(1)\nget_ipython().display_pub.clear_output()\nfor i in range(21): display(i)\nkeep()")
    found = sketches(fresh)
    assert [sketch["data"]["text/plain"] for sketch in found] == [str(i) for i in range(20)]
    assert [sketch["omitted"] for sketch in found] == [False] * 19 + [True]
    fresh.execute("import os\nif os.fork() == 0: display('child'); keep(); os._exit(0)\nos.wait()")
    assert sketches(fresh) == []
    assert not list((fresh.scratch / "scratch").glob("sketch-*"))
