from __future__ import annotations

from typing import Any

import pytest

from conversation import Conversation

_SETUP = """
import asyncio, math, sys, functools
def add(a, b=1): return a + b
def inner(a): return len(5)
def only_positional(a, /): return a
async def later(x):
    await asyncio.sleep(0)
    return x * 2
async def fails(): raise ValueError('late')
def leaves(): sys.exit('now')
def breaks(): raise KeyboardInterrupt
class Tool:
    def run(self, **options): return options
    @property
    def bad(self): raise ValueError
tool = Tool()
value = 5
nan = functools.partial(float, 'nan')
def shows():
    display(1)
    return get_ipython() is not None
def generates(): yield 1
def many(): return list(range(200))
def lies(a): return a
lies.__signature__ = __import__('inspect').Signature()
class Unreadable:
    __signature__ = 5
    def __call__(self): return 1
unreadable = Unreadable()
"""


@pytest.fixture(scope="module")
def talk(shared: Conversation) -> Conversation:
    assert shared.execute(_SETUP)["ok"]
    return shared


@pytest.mark.parametrize(
    ("name", "arguments", "result"),
    [
        ("add", {"a": 1}, 2),
        ("add", {"a": "é", "b": "✓"}, "é✓"),
        ("add", {"a": 2**70, "b": 0}, 2**70),
        ("math.hypot", {}, 0.0),
        ("tool.run", {"self_": 1, "name": None}, {"self_": 1, "name": None}),
        ("later", {"x": 4}, 8),
        ("shows", {}, True),
        ("Tool.run", {"self": 1}, {}),
    ],
)
def test_calls(talk: Conversation, name: str, arguments: dict[str, Any], result: Any) -> None:
    answer = talk.ask("call_function", name=name, arguments=arguments)
    assert ("display_data" in answer) == (name == "shows")
    answer.pop("display_data", None)
    assert answer == {
        "ok": True,
        "name": name,
        "result": result,
        "error": None,
        "truncated": False,
        "name_truncated": False,
    }


@pytest.mark.parametrize(
    ("name", "arguments", "code", "kind"),
    [
        ("", {}, "invalid_name", None),
        ("x" * 1_000_000, {}, "invalid_name", None),
        ("a\0b", {}, "invalid_name", None),
        (None, {}, "invalid_name", None),
        ("add", [1], "invalid_arguments", None),
        ("add", None, "invalid_arguments", None),
        ("add", "{}", "invalid_arguments", None),
        ("missing", {}, "name_not_found", None),
        ("tool.missing", {}, "name_not_found", None),
        ("tool.__init__", {}, "name_not_found", None),
        ("tool.bad", {}, "name_not_found", "ValueError"),
        ("print", {}, "name_not_found", None),
        (".".join(["add"] * 2000), {}, "name_not_found", None),
        ("value", {}, "not_callable", None),
        ("add", {}, "argument_binding_error", "TypeError"),
        ("add", {"a": 1, "z": 1}, "argument_binding_error", "TypeError"),
        ("only_positional", {"a": 1}, "argument_binding_error", "TypeError"),
        ("unreadable", {"a": 1}, "argument_binding_error", "TypeError"),
        ("inner", {"a": 1}, "callable_error", "TypeError"),
        ("lies", {}, "callable_error", "TypeError"),
        ("add", {"a": 1, "b": "x"}, "callable_error", "TypeError"),
        ("fails", {}, "callable_error", "ValueError"),
        ("leaves", {}, "callable_error", "SystemExit"),
        ("breaks", {}, "callable_error", "KeyboardInterrupt"),
        ("exit", {}, "callable_error", "SystemExit"),
        ("nan", {}, "result_not_json", None),
        ("generates", {}, "result_not_json", None),
        ("Tool", {}, "result_not_json", None),
    ],
)
def test_codes(talk: Conversation, name: Any, arguments: Any, code: str, kind: str | None) -> None:
    answer = talk.ask("call_function", name=name, arguments=arguments)
    assert (answer["ok"], answer["result"], answer["error"]["code"]) == (False, None, code)
    assert answer["error"]["error_type"] == kind
    assert len(answer["name"]) <= 8192
    assert answer["name_truncated"] is (isinstance(name, str) and len(name) > 8192)


def test_a_result_that_is_cut_is_flagged(talk: Conversation) -> None:
    answer = talk.ask("call_function", name="many", arguments={})
    assert (len(answer["result"]), answer["truncated"], answer["ok"]) == (100, True, True)


def test_the_traceback_shows_the_users_frames_alone(talk: Conversation) -> None:
    error = talk.ask("call_function", name="inner", arguments={"a": 1})["error"]
    assert "def inner(a): return len(5)" in error["traceback"]
    assert "ipymcp" not in error["traceback"]
    assert error["location"]["line"] == 4


def test_arguments_nested_too_deeply_are_refused_and_the_next_call_works(talk: Conversation) -> None:
    nested = b'{"id":1,"op":"call_function","args":{"name":"add","arguments":{"a":' + b"[" * 100_000 + b"]" * 100_000
    talk.send_frame(nested + b"}}}")
    reply = talk._receive()
    assert (reply["id"], reply["fault"]["type"]) == (1, "RequestError")
    assert talk.ask("call_function", name="add", arguments={"a": 1})["ok"]
