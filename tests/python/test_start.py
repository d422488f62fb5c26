from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import IPython
import pytest

from conversation import PACKAGE_PARENT, Conversation, Settings

Converse = Callable[[Settings], Conversation]


def test_hello_names_the_interpreter(converse: Converse) -> None:
    talk = converse(Settings())
    version = ".".join(map(str, sys.version_info[:3]))
    assert talk.hello == {"event": "hello", "version": version, "executable": sys.executable, "prefix": sys.prefix}


def test_the_path_has_libraries_first_and_the_working_directory_last(converse: Converse, tmp_path: Path) -> None:
    talk = converse(Settings(start={"library_paths": [str(tmp_path)], "site": "/bundled/site"}))
    assert talk.start() == {}
    path = talk.result("import sys\nsys.path")
    assert path[0] == str(tmp_path)
    assert path[-2:] == ["/bundled/site", ""]
    assert talk.result("sys.argv") == [""]


def test_modules_of_the_working_directory_replace_nothing(converse: Converse, tmp_path: Path) -> None:
    for name in ("random.py", "types.py", "asyncio.py", "IPython/__init__.py", "multiprocessing.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("raise SystemExit('the wrong one')")
    (tmp_path / "mine.py").write_text("x = 5")
    talk = converse(Settings(directory=tmp_path))
    assert talk.start() == {}
    assert talk.result("import random, multiprocessing, mine\nmine.x") == 5


@pytest.mark.parametrize("name", ["asyncio", "json", "re", "selectors", "signal", "typing", "warnings"])
def test_modules_of_pythonpath_replace_nothing_that_serves(converse: Converse, tmp_path: Path, name: str) -> None:
    (tmp_path / f"{name}.py").write_text("raise SystemExit('the wrong one')")
    talk = converse(Settings(environment={"PYTHONPATH": str(tmp_path)}))
    assert talk.start() == {}
    assert talk.result("import sys\nsys.path[0]") == str(tmp_path)


def test_a_working_directory_that_is_gone(converse: Converse, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    talk = converse(Settings(directory=gone))
    gone.rmdir()
    assert talk.start() == {}
    assert talk.result("1 + 1") == 2
    assert talk.execute("%reset -f")["ok"]
    assert talk.ask("reset")["ok"]


def test_preloads_are_bound_and_protected(converse: Converse, tmp_path: Path) -> None:
    (tmp_path / "lib.py").write_text("print('loading')\nvalue = 1")
    settings = Settings(
        start={
            "library_paths": [str(tmp_path)],
            "preload_modules": ["json", "os.path", "lib"],
            "module_aliases": {"lib": "alias"},
        }
    )
    talk = converse(settings)
    assert talk.start() == {}
    assert "loading" in talk.stdout()
    assert talk.result("[json.__name__, path is __import__('os').path, alias.value]") == ["json", True, 1]
    assert talk.ask("remove", names=["json", "path", "alias", "lib"])["refused"] == ["json", "path", "alias"]
    talk.execute("json = alias = 5\ndel path\nother = 1")
    assert talk.ask("reset")["removed"] == ["other"]
    assert talk.result("[json.__name__, path.sep, alias.value]") == ["json", "/", 1]
    assert talk.execute("%reset -f")["ok"]
    assert talk.result("[json.__name__, alias.value]") == ["json", 1]
    (tmp_path / "lib.py").write_text("value = 2")
    assert talk.ask("reload", modules=["lib"])["results"][0]["binding"] == "alias"
    assert talk.result("alias.value") == 2


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("import missing_thing", "ModuleNotFoundError"),
        ("raise SystemExit(3)", "SystemExit"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("x = (", "SyntaxError"),
    ],
)
def test_a_preload_that_fails_is_named(converse: Converse, tmp_path: Path, text: str, kind: str) -> None:
    (tmp_path / "bad_one.py").write_text(text)
    talk = converse(Settings(start={"library_paths": [str(tmp_path)], "preload_modules": ["json", "bad_one"]}))
    failure = talk.start()["failure"]
    assert failure["phase"] == "preload"
    assert "'bad_one'" in failure["message"]
    assert kind in failure["message"]
    assert talk.end_stream() == 0


def test_an_old_ipython_is_refused_with_the_way_out(converse: Converse, tmp_path: Path) -> None:
    release = tmp_path / "IPython" / "core" / "release.py"
    release.parent.mkdir(parents=True)
    release.write_text("_version_major = 8\n_version_minor = 14\n")
    (tmp_path / "IPython" / "__init__.py").write_text("raise ImportError('too old for this Python')")
    talk = converse(Settings(environment={"PYTHONPATH": str(tmp_path)}))
    failure = talk.start()["failure"]
    assert failure["phase"] == "shell"
    for said in ("8.14", str(tmp_path), "pip install", "ipython>=8.15"):
        assert said in failure["message"]


def test_an_old_ipython_that_is_not_the_environments_gives_way(converse: Converse, tmp_path: Path) -> None:
    release = tmp_path / "IPython" / "core" / "release.py"
    release.parent.mkdir(parents=True)
    release.write_text("_version_major = 8\n_version_minor = 14\n")
    (tmp_path / "IPython" / "__init__.py").write_text("raise ImportError('too old for this Python')")
    site = str(Path(IPython.__file__).parents[1])
    talk = converse(Settings(environment={"PYTHONPATH": str(tmp_path)}, start={"site": site, "environment": True}))
    assert talk.start() == {}
    assert talk.result("import IPython\nIPython.__file__").startswith(site)


@pytest.mark.parametrize(("site", "status"), [(True, 0), (False, 1)])
def test_the_trial_of_an_interpreter_says_whether_it_can_serve(tmp_path: Path, site: bool, status: int) -> None:
    code = (
        f"import sys; sys.path.append({str(PACKAGE_PARENT)!r}); from ipymcp import choosing; choosing.main(sys.argv[1])"
    )
    folder = str(Path(IPython.__file__).parents[1]) if site else ""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, folder], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == status
    assert ("no IPython is installed" in done.stderr) == bool(status)
    assert done.stderr.count("\n") == status


def test_a_broken_ipython_is_named(converse: Converse, tmp_path: Path) -> None:
    (tmp_path / "IPython").mkdir()
    (tmp_path / "IPython" / "__init__.py").write_text("import missing_dependency")
    talk = converse(Settings(environment={"PYTHONPATH": str(tmp_path)}))
    failure = talk.start()["failure"]
    assert failure["phase"] == "shell"
    assert "missing_dependency" in failure["message"]


def test_the_bundled_ipython_is_used_where_there_is_no_other(converse: Converse) -> None:
    site = str(Path(IPython.__file__).parents[1])
    talk = converse(Settings(options=("-S",), start={"site": site}))
    assert talk.start() == {}
    assert talk.result("import IPython\nIPython.__file__").startswith(site)
    error = talk.failure("1/0")
    assert "IPython" not in error["traceback"]


def test_without_any_ipython_the_message_says_so(converse: Converse) -> None:
    talk = converse(Settings(options=("-S",)))
    failure = talk.start()["failure"]
    assert failure["phase"] == "shell"
    assert "install IPython" in failure["message"]


@pytest.mark.parametrize(
    "environment",
    [
        {"PYTHONWARNINGS": "error"},
        {"PYTHONDONTWRITEBYTECODE": "1"},
        {"PYTHONSTARTUP": "/nowhere.py"},
        {"PYTHONASYNCIODEBUG": "1", "PYTHONDEVMODE": "1"},
        {"HOME": "/nonexistent", "IPYTHONDIR": "/nonexistent"},
        {"HOME": ""},
        {"TERM": "", "LANG": "", "PYTHONPATH": "", "PYTHONWARNINGS": "", "IPYTHONDIR": "", "VIRTUAL_ENV": ""},
        {"VIRTUAL_ENV": "/somewhere/else"},
        {"PYTHONHASHSEED": "0", "PYTHONUNBUFFERED": "1", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"},
        {"PYTHONINTMAXSTRDIGITS": "640"},
        {"PYTHONBREAKPOINT": "pdb.set_trace", "PYTHONINSPECT": ""},
    ],
    ids=lambda environment: ",".join(environment),
)
def test_the_environment_does_not_keep_it_from_starting(converse: Converse, environment: dict[str, str]) -> None:
    talk = converse(Settings(environment=environment))
    assert talk.start() == {}
    assert talk.result("print('✓')\n%time 1 + 1") == 2
    assert talk.failure("1/0")["error_type"] == "ZeroDivisionError"
    assert talk.result("import asyncio\nawait asyncio.sleep(0, 3)") == 3
    assert talk.end_stream() == 0
    assert talk.stderr() == "" or "PYTHONDEVMODE" in environment


def test_start_imports_nothing_that_costs(converse: Converse) -> None:
    talk = converse(Settings())
    assert talk.start() == {}
    modules = talk.result(
        "import sys\n[name for name in ('multiprocessing', 'cloudpickle', 'sqlite3', 'jedi') if name in sys.modules]"
    )
    assert modules == []


def test_importing_the_package_changes_nothing() -> None:
    code = (
        "import sys, signal, builtins; before = (signal.getsignal(2), builtins.input, sys.stdout, [*sys.meta_path])\n"
        f"sys.path.append({str(PACKAGE_PARENT)!r})\n"
        "import ipymcp.boot, ipymcp.server, ipymcp.operations, ipymcp.pools, ipymcp.forks\n"
        "assert before == (signal.getsignal(2), builtins.input, sys.stdout, [*sys.meta_path])"
    )
    assert subprocess.run([sys.executable, "-P", "-c", code], check=False).returncode == 0


def test_the_stack_is_written_at_a_signal(fresh: Conversation) -> None:
    code = "import signal\ndef inner():\n    signal.raise_signal(signal.SIGRTMAX)\ninner()"
    assert fresh.result(code) is None
    assert 'line 3 in inner\n  File "Cell [1]", line 4 in <module>\n' in fresh.stderr()
