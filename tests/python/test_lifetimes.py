"""What a `NameError` says of names that a reset or an earlier process took along."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from conversation import Conversation, Settings

_STARTED = r"\nthis process started at \d\d:\d\d:\d\d with an empty namespace: names of an earlier one are gone$"


def traceback(error: dict[str, str]) -> str:
    assert error["error_type"] == "NameError"
    return error["traceback"]


@pytest.mark.parametrize("how", ["tool", "%reset -f", "get_ipython().reset()"])
def test_a_reset_is_named(fresh: Conversation, how: str) -> None:
    for _ in range(10):
        fresh.result("table = other = 1")
    count = 10
    if how == "tool":
        fresh.ask("reset")
    else:
        fresh.result(how)
        count = 11
    wanted = rf"\ntable was removed by the reset at \d\d:\d\d:\d\d \(execution count {count}\)$"
    error = fresh.failure("table + 1")
    assert error["message"] == "name 'table' is not defined"
    assert re.search(wanted, traceback(error))
    fresh.result("def f(): return table")
    assert re.search(wanted, traceback(fresh.ask("call_function", name="f", arguments={})["error"]))
    # Bound again, its fate is another.
    fresh.result("table = 2")
    fresh.result("del table")
    assert traceback(fresh.failure("table")).endswith("NameError: name 'table' is not defined")
    assert "removed by the reset" in traceback(fresh.failure("other"))


def test_a_young_process_says_that_it_is_young(fresh: Conversation) -> None:
    assert re.search(_STARTED, traceback(fresh.failure("table.head()")))
    # Said once of a name, and not of misspellings.
    assert traceback(fresh.failure("table.head()")).endswith("NameError: name 'table' is not defined")
    fresh.result("measurements = 1")
    assert traceback(fresh.failure("measurement")).endswith("is not defined")
    assert traceback(fresh.failure("prnt(1)")).endswith("is not defined")


def test_an_old_process_does_not(fresh: Conversation) -> None:
    for _ in range(5):
        fresh.result("1")
    assert traceback(fresh.failure("table.head()")).endswith("NameError: name 'table' is not defined")


@pytest.mark.parametrize(
    "code",
    [
        "raise NameError('table')",
        "error = NameError(\"name 'table' is not defined\")\nerror.name = 5\nraise error",
        "import broken\nbroken.f()",
        "def f():\n    def g(): return local\n    g()\n    local = 1\nf()",
        "class OtherError(NameError): pass\nraise OtherError(\"name 'table' is not defined\", name='table')",
    ],
)
def test_only_missing_names_of_the_namespace_count(tmp_path: Path, code: str) -> None:
    (tmp_path / "broken.py").write_text("def f(): return table")
    with Conversation(Settings(start={"library_paths": [str(tmp_path)]})) as talk:
        talk.start()
        assert "gone" not in talk.failure(code)["traceback"]


def test_the_hint_counts_among_the_characters_of_the_traceback(fresh: Conversation) -> None:
    text = traceback(fresh.failure("try: table\nexcept NameError as error: error.add_note('y' * 5000); raise"))
    assert re.search(_STARTED, text)
    assert len(re.sub(r"\n… .* …\n", "", text)) == 4096
