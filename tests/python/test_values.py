"""The rich representations of the value of a cell."""

from __future__ import annotations

import time

from conversation import Conversation


def test_text_says_more_than_the_representation(shared: Conversation) -> None:
    result = shared.result("class Text:\n  def _repr_pretty_(self, p, cycle): p.text('a\\nb')\nText()")
    assert result["text"] == "a\nb"
    assert "text" not in shared.result("object()")
    assert "text" not in shared.result("int")
    assert shared.result("class Long:\n  def __repr__(self): return 'x' * 9000\nLong()")["text"] == "x" * 8191 + "…"


def test_a_table_that_is_cut_keeps_its_last_line(shared: Conversation) -> None:
    code = (
        "class Table:\n  def __repr__(self): return 'x' * 200 + '\\n' + ('y' * 200 + '\\n') * 99 + '[100 x 1]'\nTable()"
    )
    text = shared.result(code)["text"]
    assert len(text) == 8192
    assert text.endswith("y…\n[100 x 1]")


def test_text_of_a_giant_collection_takes_no_time(shared: Conversation) -> None:
    begun = time.monotonic()
    text = shared.result("[[object()] * 1000] * 1000")["text"]
    assert len(text) <= 8192
    assert time.monotonic() - begun < 5


def test_pictures_of_the_value_are_displayed_once(shared: Conversation) -> None:
    shared.execute("class Picture:\n  def _repr_png_(self): return b'png'\n  def _repr_html_(self): return '<img>'")
    for code in ("p = Picture()\np", "p = Picture()\nshown = display(p)", "{'no': 'picture'}\nPicture();display(p)"):
        answer = shared.execute(code)
        assert [list(display["data"]) for display in answer["display_data"]] in (
            [["image/png"]],
            [["text/plain", "text/html", "image/png"]],
        )
    again = "ip = get_ipython()\nagain = lambda: display(p)\nip.events.register('post_execute', again)\np"
    assert len(shared.execute(again)["display_data"]) == 1
    shared.execute("ip.events.unregister('post_execute', again)")


def test_a_json_value_can_have_a_picture(shared: Conversation) -> None:
    answer = shared.execute("class Words(dict):\n  def _repr_png_(self): return b'png'\nWords(a=1)")
    assert answer["result"] == {"a": 1}
    assert answer["display_data"] == [{"data": {"image/png": None}, "metadata": {}}]


def test_text_alone_is_no_display(shared: Conversation) -> None:
    answer = shared.execute("from IPython.display import HTML\nHTML('<b>')")
    assert answer["display_data"] == []
    assert answer["result"]["representation"] == "<IPython.core.display.HTML object>"


def test_a_representation_that_fails_is_shown_and_the_cell_is_fine(fresh: Conversation) -> None:
    code = "class Bad:\n  def _repr_png_(self): {}\n  def __repr__(self): return 'bad'\nBad()"
    for raises, said in (("1/0", "ZeroDivisionError"), ("raise SystemExit(3)", "SystemExit: 3")):
        answer = fresh.execute(code.format(raises))
        assert (answer["ok"], answer["error"], answer["result"]["representation"]) == (True, None, "bad")
        assert said in fresh.stderr()


def test_a_representation_that_hangs_can_be_interrupted(fresh: Conversation) -> None:
    code = "import time\nclass Slow:\n  def _repr_png_(self): print('drawing', flush=True); time.sleep(60)\nSlow()"
    fresh.send("execute", code=code)
    while "drawing" not in fresh.stdout():
        time.sleep(0.01)
    fresh.interrupt()
    answer = fresh.answer()
    assert (answer["ok"], answer["display_data"]) == (True, [])
    assert "KeyboardInterrupt" in fresh.stderr()


def test_callbacks_after_the_cell_can_be_interrupted(fresh: Conversation) -> None:
    fresh.execute("import time\ndef late(): print('late', flush=True); time.sleep(60)")
    fresh.send("execute", code="get_ipython().events.register('post_execute', late)")
    while "late" not in fresh.stdout():
        time.sleep(0.01)
    fresh.interrupt()
    assert fresh.answer()["ok"]
    assert "KeyboardInterrupt" in fresh.stderr()
