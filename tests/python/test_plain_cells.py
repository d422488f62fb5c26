from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.macro import Macro

from conversation import Conversation
from ipymcp.plaincells import PlainCells

PIECES = [
    *(
        "1+1",
        "x",
        "x = 1",
        "ls",
        "cd ..",
        "time x",
        "timeit",
        "exit",
        "quit()",
        "exit ",
        "pdef f",
        "f(1)",
        "f 1",
        "f.a b",
    ),
    *(
        "%time x",
        "%%time",
        "!ls",
        "a = !ls",
        "a = %who",
        "x?",
        "?x",
        "x ? 1",
        ",f a b",
        ";f a",
        "/f a",
        "x; y",
        "'%s' % x",
    ),
    *(
        ">>> 1",
        "... 2",
        "In [1]: x",
        "...",
        "x[...]",
        "def f():",
        "    return 1",
        "\treturn",
        "    ",
        "",
        "#",
        "# %",
        "#!",
    ),
    *(
        "'''",
        "'''a",
        "\\",
        "x \\",
        "(",
        ")",
        "f(",
        "a,",
        "/",
        "mine",
        "mine 1",
        "é = 1",
        "class A: pass",
        "@dec",
        "-1",
        "{1}",
    ),
    *(
        "\x0c1",
        "a\u2028b",
        "'a\u2028b'",
        "\r",
        "1\r",
        "\xa0",
        "1 \u3000",
        "# -*-",
        "alias x y",
        "cat x",
        "cls",
        "clear",
        "who",
        "run x",
        "ls = 1",
    ),
]


@pytest.fixture(scope="module")
def shell() -> Iterator[InteractiveShell]:
    made = InteractiveShell()
    made.push({"mine": Macro("1"), "x": 1})
    yield made
    made.reset(new_session=False)


def test_what_is_plain_comes_out_of_ipython_as_it_went_in(shell: InteractiveShell) -> None:
    chance, plain = random.Random(11), PlainCells(shell)
    held = 0
    for number in range(6000):
        cell = "\n".join(chance.choices(PIECES, k=1 + number % 4)) + chance.choice(("", "", "\n", "\n\n"))
        if not cell.strip() or not plain.holds(cell):
            continue
        held += 1
        assert _lines(shell.transform_cell(cell)) == _lines(cell), repr(cell)
    assert held > 300


def _lines(cell: str) -> list[str]:
    """The lines as far as they matter: IPython may empty one that is nothing but blanks."""
    return "\n".join(line.rstrip(" \t") for line in cell.split("\n")).rstrip("\n").split("\n")


@pytest.mark.parametrize(
    "cell", ["1 + 1", "x", "x = 1\nx", "def f(a):\n    return a\n\nf(2)", "import os\nos.sep", "f(x)"]
)
def test_common_cells_are_plain(shell: InteractiveShell, cell: str) -> None:
    assert PlainCells(shell).holds(cell)


def test_nothing_is_plain_for_other_transformers(shell: InteractiveShell) -> None:
    plain = PlainCells(shell)
    shell.input_transformers_post.append(lambda lines: lines)
    assert not plain.holds("1 + 1")
    shell.input_transformers_post.pop()
    shell.autocall = 1
    assert not plain.holds("1 + 1")
    shell.autocall = 0
    assert plain.holds("1 + 1")


def test_an_unusual_line_end_in_a_cell_with_a_magic_is_no_warning(shared: Conversation) -> None:
    before = shared.stderr()
    assert shared.result("%time 1\n'a\u2028b'") == "a\u2028b"
    assert shared.stderr() == before


def test_transformers_of_the_users_apply(fresh: Conversation) -> None:
    fresh.execute("get_ipython().input_transformers_post.append(lambda lines: [l.replace('two', '2') for l in lines])")
    assert fresh.result("1 + two") == 3


@pytest.mark.parametrize("name", ["exit", "quit", "again"])
def test_a_name_that_ipython_calls_can_be_bound(fresh: Conversation, name: str) -> None:
    fresh.execute("1 + 1")
    fresh.execute("%macro -q again 1")
    assert fresh.execute(f"{name} = 5")["ok"]
    assert fresh.result(name) == 5
