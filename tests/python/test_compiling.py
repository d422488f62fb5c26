from __future__ import annotations

import gc
import linecache
import re
from typing import Any

import pytest

from conversation import Conversation
from ipymcp.compiling import CellCompiler, needs_loop
from ipymcp.expressions import compiled


@pytest.mark.parametrize(
    ("source", "needs"),
    [
        ("asyncio.create_task(f())", True),
        ("from asyncio import create_task\nt = create_task(f())", True),
        ("if x:\n    t = asyncio.get_running_loop()", True),
        ("x = [asyncio.create_task(f()) for _ in y]", True),
        ("asyncio.create_task(f())\nsubprocess.run(['ls'])", True),
        ("1 + 1", False),
        ("async def main():\n    asyncio.create_task(f())", False),
        ("async def main():\n    asyncio.create_task(f())\nasyncio.run(main())", False),
        ("t = asyncio.create_task(f())\nasyncio.run(g())", False),
        ("loop.run_until_complete(loop.create_task(f()))", False),
        ("'create_task()'", False),
        ("create_task(", False),
    ],
)
def test_which_cells_need_a_running_loop(source: str, needs: bool) -> None:
    assert needs_loop(source) is needs


@pytest.mark.parametrize(
    "source", ["x = 1\nreturn x", "x = 1\nbreak", "def f():\n  nonlocal x", "await = 3", "yield 1"]
)
def test_what_cannot_be_compiled_is_refused_as_a_whole(shared: Conversation, source: str) -> None:
    shared.execute("x = 0")
    error = shared.failure(source)
    assert (error["code"], error["error_type"]) == ("syntax_error", "SyntaxError")
    assert error["location"]["filename"].startswith("Cell [")
    assert shared.result("x") == 0


@pytest.mark.parametrize("source", ["await x", "async with a: pass", "[y async for y in z]", "x = 1"])
def test_top_level_await_is_code(source: str) -> None:
    assert CellCompiler().ast_parse(source, "Cell [1]")


@pytest.mark.parametrize(
    ("cell", "is_one"),
    [
        ("1 + 1", True),
        ("f(x=1)", True),
        ("important", True),
        ("importlib.metadata  # comment", True),
        ("'a' if x else 'b'\n", True),
        ("[y for y in z]", True),
        ("(y := 1)", True),
        ("print('x;')", False),
        ("x == 1", False),
        ("x = 1", False),
        ("f(x).y = 1", False),
        ("import os", False),
        ("for x in y: x", False),
        ("if x: x", False),
        ("pass", False),
        ("await x", False),
        ("[y async for y in z]", False),
        ("x;", False),
        ("x\ny", False),
        (" x", False),
        ("x +", False),
        ("yield 1", False),
        ("'\\d'", False),
        ("'\udcaf'", False),
        ("x" + "+x" * 1000, False),
    ],
)
def test_which_cells_are_compiled_as_one_expression(cell: str, is_one: bool) -> None:
    assert (compiled(cell, "Cell [1]", 0) is not None) is is_one


def test_an_expression_is_what_any_other_cell_is(fresh: Conversation) -> None:
    assert fresh.result("[1, 2]") == [1, 2]
    assert fresh.result("(_, Out[1] is _1, In[1])") == [[1, 2], True, "[1, 2]"]
    assert fresh.execute("print('shown')")["result"] is None
    error = fresh.failure("[1 / n for n in (1, 0)]")
    assert error["error_type"] == "ZeroDivisionError"
    assert error["location"] == {"line": 1, "column": 2, "filename": "Cell [4]"}
    assert "[1 / n for n in (1, 0)]" in error["traceback"]
    fresh.execute("import sys; get_ipython().ast_node_interactivity = 'none'")
    assert fresh.execute("1 + 1")["result"] is None
    fresh.execute("get_ipython().ast_node_interactivity = 'last_expr'")
    assert fresh.failure("sys.exit(3)")["error_type"] == "SystemExit"


def test_an_expression_is_seen_by_transformers_of_trees(fresh: Conversation) -> None:
    fresh.execute(
        "import ast\n"
        "class Doubled(ast.NodeTransformer):\n"
        "    def visit_Constant(self, node):\n"
        "        return ast.copy_location(ast.Constant(node.value * 2), node)\n"
        "get_ipython().ast_transformers.append(Doubled())"
    )
    assert fresh.result("[1, 'a']") == [2, "aa"]


def test_nesting_beyond_the_compiler_is_a_syntax_error() -> None:
    for source in ("(" * 10_000 + ")" * 10_000, "-" * 100_000 + "1", "x" + ".a" * 100_000):
        with pytest.raises((SyntaxError, MemoryError)):
            CellCompiler().ast_parse(source, "Cell [1]")


def test_cells_are_named_by_their_count() -> None:
    assert CellCompiler().get_code_name("raw", "code", 12) == "Cell [12]"


@pytest.mark.parametrize(
    ("cell", "lines"),
    [
        ("%time 1/0", [(1, "%time 1/0")]),
        ("x = 0\nif True:\n    y = %time 1/x", [(3, "y = %time 1/x")]),
        ("%%time\nx = 0\n\n1/x", [(4, "1/x")]),
        ("%%time\n\nx = 0\n1/x\n", [(4, "1/x")]),
        ("\n%%time\ndef f():\n    return 1/0\nf()\n", [(4, "f()"), (3, "return 1/0")]),
        ("%%timeit -n1 -r1\nx = 0\n1/x", [(1, "%%timeit -n1 -r1"), (3, "1/x")]),
        ("def f(): pass\n%time 1/0", [(2, "get_ipython().run_line_magic('time', '1/0')")]),
        ("%%python -c 'raise SystemExit(1)'\n", [(1, "%%python -c 'raise SystemExit(1)'")]),
    ],
)
def test_failures_under_a_magic_stand_in_the_cell(
    shared: Conversation, cell: str, lines: list[tuple[int, str]]
) -> None:
    answer = shared.execute(cell)
    name = f"Cell [{answer['execution_count']}]"
    traceback: str = answer["error"]["traceback"]
    found = re.findall(rf'File "{re.escape(name)}", line (\d+), in .*\n    (.*)', traceback)
    # Before IPython 9, %time itself showed the failure, without the frame that had called it.
    assert [(int(line), source) for line, source in found[-len(lines) :]] == lines
    assert "<" not in traceback.replace("<module>", "")
    assert answer["error"]["location"]["filename"] == name


def test_code_that_is_no_part_of_the_cell_keeps_its_name(shared: Conversation) -> None:
    shared.execute("def timed():\n    %time 1/0")
    assert "<timed eval>" in shared.failure("timed()")["traceback"]


def test_a_cell_within_a_cell_has_a_name_of_its_own(shared: Conversation) -> None:
    count = shared.execute("%%capture\ndef captured():\n    return 1/0\n")["execution_count"]
    shared.execute("unrelated = 1\n\n")
    traceback = shared.failure("captured()")["traceback"]
    assert re.search(rf'File "Cell \[{count}\](, inner)?", line 2, in captured\n    return 1/0', traceback)


def test_what_a_timed_cell_defines_has_its_source(shared: Conversation) -> None:
    shared.execute("%%time\ndef defined():\n    return 1\n")
    assert shared.result("import inspect; inspect.getsource(defined)") == "def defined():\n    return 1\n"


def test_sources_of_old_cells_go_when_nothing_of_theirs_lives() -> None:
    compiler = CellCompiler()
    kept: dict[int, dict[str, Any]] = {}

    def run(number: int, source: str) -> None:
        name = compiler.cache(source, number)
        kept[number] = {}
        exec(compiler(compiler.ast_parse(source, name), name, "exec"), kept[number])

    def present() -> list[int]:
        return [number for number in range(1, 7) if f"Cell [{number}]" in linecache.cache]

    run(1, "def f(): pass\nx = 1")
    run(2, "x = 1")
    run(3, "class C:\n    def method(self): return lambda: 1\nx = 1")
    run(4, "def g(): pass\nx = 1")
    run(5, "class Empty: pass\nx = 1")
    run(6, "h = [lambda: 1 for _ in range(2)]\nx = 1")
    kept[4].clear()
    inner = kept[3]["C"]().method()
    kept[3].clear()
    for number in range(7, 1100):
        compiler.cache("1 + 1", number)
    assert present() == [1, 3, 6]
    kept[1].clear()
    del inner
    gc.collect()
    for number in range(1100, 1110):
        compiler.cache("1 + 1", number)
    assert present() == [6]
    assert "Cell [1109]" in linecache.cache
    assert len(compiler._filename_map) < 1010


def test_sources_of_expressions_and_magics_are_kept_as_long_as_their_functions(fresh: Conversation) -> None:
    fresh.execute("functions = []")
    fresh.execute("functions.append(lambda: 'of an expression')")
    fresh.execute("%%time\ndef timed():\n    return 1\n")
    fresh.execute("%%capture\ndef captured():\n    return 1\n")
    for _ in range(1010):
        fresh.execute("1 + 1")
    assert "of an expression" in fresh.result("import inspect; inspect.getsource(functions[0])")
    assert "def timed" in fresh.result("inspect.getsource(timed)")
    assert "def captured" in fresh.result("inspect.getsource(captured)")
    assert fresh.result("import linecache; sum(name.startswith('Cell [') for name in linecache.cache)") < 1010
