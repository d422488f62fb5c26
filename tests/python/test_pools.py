from __future__ import annotations

from collections.abc import Iterator

import pytest

from conversation import Conversation

_SETUP = """
import concurrent.futures, multiprocessing, os
context = multiprocessing.get_context({method!r})
class Point:
    def __init__(self, x): self.x = x
class Shifted(Point):
    shift = 1
def point(x): return Point(x)
def shifted(x): return point(x + Shifted.shift)
pool = context.Pool(2)
"""


@pytest.fixture(scope="module", params=["fork", "spawn", "forkserver"])
def talk(request: pytest.FixtureRequest) -> Iterator[Conversation]:
    with Conversation() as conversation:
        assert conversation.start() == {}
        answer = conversation.execute(_SETUP.format(method=request.param))
        assert answer["ok"], answer["error"]
        yield conversation
        assert conversation.execute("pool.close()\npool.join()")["ok"]
        assert conversation.end_stream() == 0
        assert "Traceback" not in conversation.stderr()


@pytest.mark.parametrize(
    ("code", "result"),
    [
        ("pool.map(abs, range(-3, 0))", [3, 2, 1]),
        ("[type(p) is Point and p.x for p in pool.map(shifted, range(3))]", [1, 2, 3]),
        ("def late(x): return Shifted(x)\n[type(p) is Shifted and p.x for p in pool.map(late, [1, 2])]", [1, 2]),
        ("def takes(p): return p.x * 10\npool.map(takes, [Point(1), Shifted(2)])", [10, 20]),
        ("pool.map(lambda x: x + 1, [1, 2])", [2, 3]),
        (
            (
                "offset = 5\ndef closes(n):\n    def inner(x): return x + n + offset\n"
                "    return inner\npool.map(closes(1), [1])"
            ),
            [7],
        ),
        (
            "def new(x): return 'old'\na = pool.map(new, [1])\ndef new(x): return 'new'\na + pool.map(new, [1])",
            ["old", "new"],
        ),
        ("[issubclass(c, Point) for c in pool.map(type, [Point(1)])]", [True]),
        ("len(set(pool.map(lambda _: os.getpid(), range(20))) - {os.getpid()}) > 0", True),
    ],
)
def test_what_cells_define_works_in_a_pool(talk: Conversation, code: str, result: object) -> None:
    assert talk.result(code) == result


def test_what_an_initializer_sets_stays(talk: Conversation) -> None:
    code = (
        "model = None\ndef load(value):\n    global model\n    model = value\ndef use(x): return model + x\n"
        "with context.Pool(1, initializer=load, initargs=(5,)) as p: answers = p.map(use, [1, 2], chunksize=1)\nanswers"
    )
    assert talk.result(code) == [6, 7]


def test_an_executor(talk: Conversation) -> None:
    code = (
        "with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as e:\n"
        "    points = list(e.map(point, range(3)))\n"
        "[type(p) is Point and p.x for p in points]"
    )
    assert talk.result(code) == [0, 1, 2]


def test_a_process_of_its_own(talk: Conversation) -> None:
    code = (
        "def puts(queue): queue.put(Point(3))\nqueue = context.Queue()\n"
        "p = context.Process(target=puts, args=(queue,))\n"
        "p.start()\ngot = queue.get()\np.join()\n[type(got) is Point, got.x, p.exitcode]"
    )
    assert talk.result(code) == [True, 3, 0]


def test_a_failure_in_a_worker_comes_back(talk: Conversation) -> None:
    error = talk.failure("def fails(x): return 1 / x\npool.map(fails, [0])")
    assert error["error_type"] == "ZeroDivisionError"
    assert "in fails" in error["traceback"]


def test_it_works_where_multiprocessing_was_imported_by_a_preload() -> None:
    from conversation import Settings

    with Conversation(Settings(start={"preload_modules": ["multiprocessing.pool", "multiprocessing"]})) as talk:
        assert talk.start() == {}
        code = (
            "def twice(x): return 2 * x\n"
            "with multiprocessing.get_context('spawn').Pool(1) as p: r = p.map(twice, [2])\nr"
        )
        assert talk.result(code) == [4]
