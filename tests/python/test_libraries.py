from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from conversation import Conversation, Settings

_INLINE = "module://matplotlib_inline.backend_inline"
# What our settings touch of the real packages.
_MATPLOTLIB = "rcParams = {'backend': 'auto'}"
_PANDAS = "options = {}\ndef set_option(name, value): options[name] = value"
_FAILING = "raise ImportError('repair me') # not of the other text's size"


@pytest.fixture
def library(tmp_path: Path) -> Path:
    for name, text in {"matplotlib": _MATPLOTLIB, "pandas": _PANDAS}.items():
        (tmp_path / f"{name}.py").write_text(text)
    return tmp_path


@pytest.fixture
def begin(library: Path, converse: Callable[[Settings], Conversation]) -> Callable[..., Conversation]:
    def start(environment: dict[str, str] | None = None, **start: object) -> Conversation:
        talk = converse(Settings(environment=environment or {}, start={"library_paths": [str(library)], **start}))
        assert talk.start() == {}
        return talk

    return start


def test_matplotlib_shows_inline_and_children_hear_nothing_of_it(begin: Callable[..., Conversation]) -> None:
    talk = begin()
    assert talk.result("import matplotlib\nmatplotlib.rcParams['backend']") == _INLINE
    assert talk.result("import os\n'MPLBACKEND' in os.environ") is False
    assert talk.result("import sys\n[f for f in sys.meta_path if getattr(f, '_name', '') == 'matplotlib']") == []


@pytest.mark.parametrize(("chosen", "backend"), [("agg", "auto"), ("", _INLINE)])
def test_the_users_own_backend_wins(begin: Callable[..., Conversation], chosen: str, backend: str) -> None:
    talk = begin({"MPLBACKEND": chosen})
    assert talk.result("import matplotlib\nmatplotlib.rcParams['backend']") == backend


def test_preloads_are_set_up_as_well(begin: Callable[..., Conversation]) -> None:
    talk = begin(preload_modules=["matplotlib", "pandas"])
    assert talk.result("matplotlib.rcParams['backend']") == _INLINE
    assert talk.result("pandas.options['display.expand_frame_repr']") is False


def test_pandas_keeps_what_the_user_sets(begin: Callable[..., Conversation]) -> None:
    talk = begin()
    talk.result("import pandas\npandas.set_option('display.max_columns', 3)")
    assert talk.result("import pandas, importlib\npandas.options['display.max_columns']") == 3


def test_a_module_that_fails_or_is_missing_is_set_up_once_it_works(
    begin: Callable[..., Conversation], library: Path
) -> None:
    module = library / "matplotlib.py"
    module.unlink()
    talk = begin()
    assert talk.failure("import matplotlib")["error_type"] == "ModuleNotFoundError"
    module.write_text(_FAILING)
    assert talk.failure("import importlib\nimportlib.invalidate_caches()\nimport matplotlib")["message"] == "repair me"
    module.write_text(_MATPLOTLIB)
    assert talk.result("import matplotlib\nmatplotlib.rcParams['backend']") == _INLINE


def test_a_module_of_that_name_that_is_something_else_is_left_alone(
    begin: Callable[..., Conversation], library: Path
) -> None:
    (library / "matplotlib.py").write_text("x = 1")
    assert begin().result("import matplotlib\nmatplotlib.x") == 1
