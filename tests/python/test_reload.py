from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conversation import Conversation, Settings

Write = Callable[[str, str], Path]


_FORGET = """
import sys
for name in [name for name, module in sys.modules.items() if {folder!r} in repr(module)]: del sys.modules[name]
sys.path_importer_cache.clear()
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Conversation]:
    folder = tmp_path_factory.mktemp("library")
    with Conversation(Settings(start={"library_paths": [str(folder)]})) as conversation:
        assert conversation.start() == {}
        yield conversation


@pytest.fixture
def folder(server: Conversation) -> Path:
    return Path(server.settings.start["library_paths"][0])


@pytest.fixture
def talk(server: Conversation, folder: Path) -> Iterator[Conversation]:
    """The module's server; afterwards it and the folder have forgotten what the test made."""
    yield server
    shutil.rmtree(folder)
    folder.mkdir()
    server.result(_FORGET.format(folder=str(folder)))
    assert server.ask("reset")["ok"]


@pytest.fixture
def library(folder: Path) -> Write:
    def write(name: str, text: str) -> Path:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        # One modification time for all versions: only the text tells them apart.
        os.utime(path, (1_700_000_000, 1_700_000_000))
        return path

    return write


def reload(talk: Conversation, *modules: str) -> list[dict[str, Any]]:
    answer = talk.ask("reload", modules=list(modules))
    assert answer["error"] is None
    results: list[dict[str, Any]] = answer["results"]
    return results


def test_an_edit_in_the_same_second_and_of_the_same_size_is_seen(talk: Conversation, library: Write) -> None:
    library("lib.py", "value = 1\n")
    nothing: dict[str, Any] = {
        "error": None,
        "truncated": False,
        "stale": [],
        "refreshed": [],
        "names_truncated": False,
    }
    assert reload(talk, "lib") == [{"module": "lib", "ok": True, "binding": "lib", **nothing}]
    for value in (2, 3, 4):
        library("lib.py", f"value = {value}\n")
        assert reload(talk, "lib")[0]["ok"]
        assert talk.result("lib.value") == value
    assert talk.result("import inspect\ninspect.getsource(lib)") == "value = 4\n"


def test_no_stale_bytecode_is_left_for_the_next_process(talk: Conversation, library: Write, folder: Path) -> None:
    library("lib.py", "value = 1\n")
    reload(talk, "lib")
    library("lib.py", "value = 2\n")
    reload(talk, "lib")
    assert list(folder.rglob("lib*.pyc")) == []
    assert talk.result("import sys\nsys.dont_write_bytecode") is False


@pytest.mark.parametrize(
    ("setup", "module", "binding"),
    [
        ("", "pkg", "pkg"),
        ("", "pkg.sub", "sub"),
        ("import pkg.sub as short", "pkg.sub", "short"),
        ("import pkg.sub as short\nsub = short", "pkg.sub", "sub"),
        ("import pkg", "pkg", "pkg"),
        ("", "spaces", "spaces"),
        ("", "spaces.inner", "inner"),
        ("import json", "json", "json"),
        ("", "first", "first"),
    ],
)
def test_what_a_module_is_bound_to(talk: Conversation, library: Write, setup: str, module: str, binding: str) -> None:
    for name, text in (
        ("pkg/__init__.py", "a = 1"),
        ("pkg/sub.py", "b = 2"),
        ("spaces/inner.py", "c = 3"),
        ("first.py", "import second\nd = 4"),
        ("second.py", "import first\ne = 5"),
    ):
        library(name, text)
    if setup:
        talk.result(setup)
    for _ in range(2):
        (result,) = reload(talk, module)
        assert (result["ok"], result["binding"], result["error"]) == (True, binding, None)
    assert talk.result(f"{binding}.__name__") == module


def test_a_module_that_fails_half_way_keeps_what_it_had(talk: Conversation, library: Write) -> None:
    library("lib.py", "value = 1\ndef f(): return value\n")
    reload(talk, "lib")
    library("lib.py", "value = 2\nextra = 3\n1/0\n")
    (result,) = reload(talk, "lib")
    error = result["error"]
    assert (result["ok"], error["code"], error["error_type"]) == (False, "reload_error", "ZeroDivisionError")
    assert error["location"]["line"] == 3
    assert "importlib" not in error["traceback"]
    assert talk.result("[lib.value, lib.f(), hasattr(lib, 'extra')]") == [1, 1, False]
    library("lib.py", "value = 4\n")
    assert reload(talk, "lib")[0]["ok"]
    assert talk.result("lib.value") == 4


def test_a_module_that_was_deleted_lives_on(talk: Conversation, library: Write) -> None:
    path = library("lib.py", "value = 1\n")
    reload(talk, "lib")
    path.unlink()
    (result,) = reload(talk, "lib")
    assert (result["error"]["code"], result["error"]["error_type"]) == ("reload_error", "ModuleNotFoundError")
    assert talk.result("import lib as again\nagain.value") == 1


@pytest.mark.parametrize(
    ("module", "code"),
    [
        ("missing_module", "reload_error"),
        ("missing_package.sub", "reload_error"),
        ("broken", "reload_error"),
        ("exits", "reload_error"),
        ("interrupts", "reload_error"),
        ("__main__", "reload_error"),
        ("ipymcp.server", "reload_error"),
        ("IPython", "reload_error"),
        ("", "invalid_module"),
        (".relative", "invalid_module"),
        ("a..b", "invalid_module"),
        ("a b", "invalid_module"),
        ("a\0b", "invalid_module"),
        (".".join(["a"] * 3000), "reload_error"),
        ("holder.open", "reload_error"),
    ],
)
def test_failures_stand_beside_successes(talk: Conversation, library: Write, module: str, code: str) -> None:
    library("fine.py", "x = 1")
    library("broken.py", "x = (")
    library("exits.py", "raise SystemExit('no')")
    library("interrupts.py", "raise KeyboardInterrupt")
    library("holder/open.py", "")
    good, bad, again = reload(talk, "fine", module, "fine")
    assert (good["ok"], again["ok"], bad["ok"], bad["binding"]) == (True, True, False, None)
    assert (bad["error"]["code"], bad["module"]) == (code, module.replace("\0", "\0"))
    assert talk.result("1") == 1


@pytest.mark.parametrize("modules", [[], None, "json", [5], ["a"] * 101, ["x" * 1_000_000]])
def test_what_is_no_list_of_modules(shared: Conversation, modules: Any) -> None:
    answer = shared.ask("reload", modules=modules)
    assert (answer["results"], answer["error"]["code"]) == ([], "invalid_modules")
