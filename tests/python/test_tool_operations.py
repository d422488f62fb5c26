"""The operations `describe` and `call_tool`, and the bindings that come with every reply."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from conversation import Conversation


class Tools:
    """A conversation that remembers tokens, as the other side does."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self.tokens: dict[str, str] = {}

    def register(self, symbol: str) -> dict[str, Any]:
        binding: dict[str, Any] = self.conversation.ask("describe", symbol=symbol)["binding"]
        self.tokens[symbol] = binding["callable"]["token"]
        return binding

    def call(self, symbol: str, arguments: str, name: str = "") -> dict[str, Any]:
        token = self.tokens[symbol]
        return self.conversation.ask("call_tool", name=name or symbol, symbol=symbol, token=token, arguments=arguments)

    def bindings(self, code: str, *, told: bool = True) -> list[dict[str, Any]]:
        """What the reply to a cell says is bound to something else."""
        self.conversation._number += 1
        request: dict[str, Any] = {"id": self.conversation._number, "op": "execute", "args": {"code": code}}
        if told:
            request["tools"] = self.tokens
        self.conversation.send_frame(json.dumps(request).encode())
        reply = self.conversation.reply()
        assert reply["value"]["ok"], reply
        found: list[dict[str, Any]] = reply["bindings"]
        return found


@pytest.fixture
def tools(fresh: Conversation) -> Tools:
    fresh.result(
        "import datetime\n"
        "from collections.abc import Sequence\n"
        "calls = []\n"
        "def f(a: set[int], when: datetime.date | None = None):\n"
        "    calls.append(a)\n"
        "    return [repr(a), repr(when)]\n"
    )
    return Tools(fresh)


def test_describes_names(tools: Tools) -> None:
    described = tools.register("f")
    assert (described["symbol"], described["state"]) == ("f", "callable")
    assert [p["name"] for p in described["callable"]["parameters"]] == ["a", "when"]
    for name, state in (("nothing", "missing"), ("calls", "not_callable"), ("print", "missing")):
        assert tools.conversation.ask("describe", symbol=name) == {
            "binding": {"symbol": name, "state": state},
            "error": None,
        }


def test_calls_with_converted_arguments(tools: Tools) -> None:
    tools.register("f")
    answer = tools.call("f", '{"a": [1, 2.0, 1e2], "when": "2024-01-31"}', "my-tool")
    assert answer["ok"], answer
    assert answer["name"] == "my-tool"
    assert not answer["changed"]
    assert answer["result"] == ["{1, 2, 100}", "datetime.date(2024, 1, 31)"]


def test_misfits_are_answers(tools: Tools) -> None:
    tools.register("f")
    answer = tools.call("f", '{"a": [], "when": "soon"}')
    error = answer["error"]
    assert (answer["ok"], error["code"], error["traceback"]) == (False, "invalid_arguments", None)
    assert "/when: " in error["message"]
    assert tools.conversation.result("len(calls)") == 0


@pytest.mark.parametrize(
    ("code", "arguments", "error", "kind"),
    [
        ("def g(a: int): return 1 / a", '{"a": 0}', "callable_error", "ZeroDivisionError"),
        ("def g(): return object()", "{}", "result_not_json", None),
        ("def g(a: int): ...", "{}", "argument_binding_error", "TypeError"),
        ("def g(): raise SystemExit(3)", "{}", "callable_error", "SystemExit"),
    ],
)
def test_failures_have_call_functions_codes(tools: Tools, code: str, arguments: str, error: str, kind: Any) -> None:
    tools.conversation.execute(code)
    tools.register("g")
    answer = tools.call("g", arguments)
    assert (answer["error"]["code"], answer["error"]["error_type"]) == (error, kind)


def test_calls_nothing_but_what_the_token_stands_for(tools: Tools) -> None:
    tools.register("f")
    tools.conversation.execute("def f(b: int): calls.append(b)")
    answer = tools.call("f", '{"a": []}')
    assert (answer["changed"], answer["ok"], answer["error"]) == (True, False, None)
    assert tools.conversation.result("len(calls)") == 0


def test_every_reply_says_what_changed(tools: Tools) -> None:
    tools.register("f")
    assert tools.bindings("1") == []
    assert tools.bindings("def f(a: set[int], when: datetime.date | None = None): return 5", told=False) == []
    assert tools.call("f", '{"a": []}')["result"] == 5
    (changed,) = tools.bindings("def f(b: int): ...", told=False)
    assert changed["callable"]["parameters"][0]["name"] == "b"
    tools.tokens["f"] = changed["callable"]["token"]
    assert tools.bindings("2") == []
    assert tools.bindings("f = 5", told=False) == [{"symbol": "f", "state": "not_callable"}]
    assert tools.bindings("del f", told=False) == [{"symbol": "f", "state": "missing"}]
    tools.tokens = {}
    assert tools.bindings("3") == []


def test_endless_descriptions_can_be_interrupted(tools: Tools) -> None:
    conversation = tools.conversation
    conversation.execute(
        "import time\n"
        "class C:\n"
        "    def __call__(self): ...\n"
        "    @property\n"
        "    def __signature__(self):\n"
        "        while True: time.sleep(0.01)\n"
        "g = C()"
    )
    conversation.send("describe", symbol="g")
    for _ in range(8):
        time.sleep(0.2)  # interruptions are repeated until the reply is there, as the embedding process does it
        conversation.interrupt()
    binding = conversation.answer()["binding"]
    assert binding["callable"]["problem"] == "describing it was interrupted"
    assert conversation.result("1 + 1") == 2
