from __future__ import annotations

from typing import Any

import pytest

from conversation import Conversation

_BAD_NAMES = ["", "   ", "x" * 1_000_000, "nul\0nul"]


def listed(talk: Conversation, name: str) -> dict[str, Any]:
    functions: list[dict[str, Any]] = talk.ask("list")["functions"]
    return next(function for function in functions if function["name"] == name)


def test_list_names_the_visible_callables_sorted(fresh: Conversation) -> None:
    fresh.execute(
        'def b(x: int = 1, *, y="é") -> str:\n    """Does b.\n\n    In full."""\n'
        "class A: pass\n_hidden = print\nvalue = 5\n"
        "import json\nc = len\nfrom functools import partial\np = partial(b, 2)\n"
        "globals()[5] = print\nglobals()['spaced name'] = print"
    )
    answer = fresh.ask("list")
    assert [each["name"] for each in answer["functions"]] == ["A", "b", "c", "p", "partial", "spaced name"]
    assert (answer["truncated"], answer["error"]) == (False, None)
    flags = {"signature": False, "module": False, "description": False}
    assert listed(fresh, "b") == {
        "name": "b",
        "signature": "(x: int = 1, *, y='é') -> str",
        "module": "__main__",
        "description": "Does b.\n\nIn full.",
        "truncated": flags,
    }
    assert listed(fresh, "p")["signature"] == "(*, y='é') -> str"


@pytest.mark.parametrize(
    ("code", "field", "value"),
    [
        ("class named:\n    __signature__ = 5\n    def __call__(self): pass\nnamed = named()", "signature", "(...)"),
        ("class Bad:\n    def __repr__(self): 1/0\ndef named(x=Bad()): pass", "signature", "(...)"),
        ("named = type('T', (), {'__call__': lambda s: 1, '__doc__': property(lambda s: 1/0)})()", "description", ""),
        ("named = dict", "signature", "(...)"),
        ("def named(x: 'Undefined' = 1): pass", "signature", "(x: 'Undefined' = 1)"),
        ("def named(): pass\nnamed.__module__ = 5", "module", ""),
        ("def named(): pass\nnamed.__doc__ = 'x\\udcaf'", "description", "x\\udcaf"),
    ],
)
def test_list_survives_odd_callables(shared: Conversation, code: str, field: str, value: str) -> None:
    shared.result(code)
    assert listed(shared, "named")[field] == value


def test_list_and_search_are_bounded(fresh: Conversation) -> None:
    fresh.execute("for i in range(150): globals()[f'f{i:03}'] = lambda: 0")
    fresh.execute("def f000(x='y' * 10000): pass\nf000.__doc__ = 'd' * 2000\nf000.__module__ = 'm' * 9000")
    answer = fresh.ask("list")
    assert (len(answer["functions"]), answer["truncated"]) == (100, True)
    assert all(answer["functions"][0]["truncated"].values())
    assert len(answer["functions"][0]["description"]) == 1024
    assert len(answer["functions"][0]["signature"]) == 8192
    for limit, count in ((3, 3), (0, 1), (-5, 1), (1000, 100)):
        found = fresh.ask("search", query="f", exact=False, limit=limit)
        assert (len(found["results"]), found["truncated"]) == (count, True)
    assert fresh.ask("search", query="f149", exact=False, limit=50)["truncated"] is False


def test_search_matches_any_case_or_exactly(fresh: Conversation) -> None:
    fresh.execute("Alpha = 1\nalphabet = [1]\nbeta = 'x'\n_alpha = 2\ngreen_ﬁsh = 3")

    def names(query: str, exact: bool = False) -> list[str]:
        return [each["name"] for each in fresh.ask("search", query=query, exact=exact, limit=50)["results"]]

    assert names("ALPHA") == ["Alpha", "alphabet"]
    assert names("alpha", exact=True) == []
    assert names("Alpha", exact=True) == ["Alpha"]
    assert names("_alpha", exact=True) == []
    assert names("А" + "lpha") == []  # a Cyrillic letter
    assert names("get_ipython", exact=True) == []


@pytest.mark.parametrize(
    ("code", "kind", "qualified_type", "representation"),
    [
        ("thing = 5", "variable", "builtins.int", "5"),
        ("import json as thing", "module", "builtins.module", None),
        ("class thing: pass", "type", "builtins.type", "<class '__main__.thing'>"),
        ("def thing(): pass", "function", "builtins.function", None),
        ("thing = len", "function", "builtins.builtin_function_or_method", "<built-in function len>"),
        ("from functools import partial\nthing = partial(int)", "callable", "functools.partial", None),
        (
            "class K:\n    def __repr__(self): raise KeyError\nthing = K()",
            "variable",
            "__main__.K",
            "<K repr failed: KeyError>",
        ),
        ("thing = 'z' * 5000", "variable", "builtins.str", "'" + "z" * 1022 + "…"),
    ],
)
def test_search_describes_what_it_finds(
    shared: Conversation, code: str, kind: str, qualified_type: str, representation: str | None
) -> None:
    shared.result(code)
    (found,) = shared.ask("search", query="thing", exact=True, limit=1)["results"]
    assert set(found) == {"name", "kind", "qualified_type", "representation", "description", "truncated"}
    assert (found["kind"], found["qualified_type"]) == (kind, qualified_type)
    assert representation in (None, found["representation"])
    assert found["truncated"]["representation"] is found["representation"].endswith("…")


@pytest.mark.parametrize("query", [*_BAD_NAMES, None, 5])
def test_search_refuses_what_is_no_query(shared: Conversation, query: Any) -> None:
    answer = shared.ask("search", query=query, exact=False, limit=5)
    assert (answer["results"], answer["error"]["code"]) == ([], "invalid_query")


def test_inspect_says_everything(shared: Conversation) -> None:
    shared.execute(
        'class Box:\n    """A box."""\n    def open_it(self, x: int) -> int:\n        """Opens."""\nbox = Box()'
    )
    answer = shared.ask("inspect", name="box.open_it")
    assert answer == {
        "ok": True,
        "name": "box.open_it",
        "kind": "function",
        "qualified_type": "builtins.method",
        "callable": True,
        "signature": "(x: int) -> int",
        "module": "__main__",
        "documentation": "Opens.",
        "representation": answer["representation"],
        "truncated": dict.fromkeys(answer["truncated"], False),
        "error": None,
    }
    plain = shared.ask("inspect", name="box")
    assert (plain["signature"], plain["callable"], plain["documentation"]) == (None, False, "A box.")


@pytest.mark.parametrize(
    ("name", "code"),
    [
        *[(name, "invalid_name") for name in _BAD_NAMES],
        (None, "invalid_name"),
        ("nothing", "name_not_found"),
        ("odd.nothing", "name_not_found"),
        ("odd.__class__", "name_not_found"),
        ("__builtins__", "name_not_found"),
        (".odd", "name_not_found"),
        ("odd..x", "name_not_found"),
        ("odd.", "name_not_found"),
        (".".join(["a"] * 4000), "name_not_found"),
        (".".join(["a"] * 10_000), "invalid_name"),
        ("оdd", "name_not_found"),
        ("print", "name_not_found"),
        ("odd.raises", "attribute_access_error"),
        ("odd.exits", "attribute_access_error"),
        ("odd.missing", "name_not_found"),
        ("odd", "representation_error"),
        ("undocumented", "inspection_error"),
    ],
)
def test_inspect_codes(shared: Conversation, name: Any, code: str) -> None:
    shared.execute(
        "class Odd:\n    @property\n    def raises(self): raise ValueError\n"
        "    @property\n    def exits(self): raise SystemExit\n"
        "    @property\n    def missing(self): raise AttributeError\n"
        "    def __repr__(self): raise KeyError\nodd = Odd()\n"
        "undocumented = type('U', (), {'__doc__': property(lambda s: 1/0)})()"
    )
    answer = shared.ask("inspect", name=name)
    assert (answer["ok"], answer["error"]["code"]) == (False, code)
    assert len(answer["name"]) <= 8192


def test_remove_puts_each_name_into_one_list(fresh: Conversation) -> None:
    fresh.execute("a = 1\nb = 2\n_c = 3")
    names = ["b", "a", "b", "missing", "a.b", "_c", "In", "open", "exit", "__builtins__"]
    answer = fresh.ask("remove", names=names)
    assert answer == {
        "ok": True,
        "removed": ["b", "a"],
        "refused": ["_c", "In", "open", "exit", "__builtins__"],
        "unknown": ["missing", "a.b"],
        "error": None,
    }
    assert fresh.result("'a' in globals()") is False


@pytest.mark.parametrize("names", [[], None, "a", [5], ["x" * 1_000_000], ["a"] * 101])
def test_remove_refuses_what_is_no_list_of_names(shared: Conversation, names: Any) -> None:
    answer = shared.ask("remove", names=names)
    assert (answer["ok"], answer["error"]["code"], answer["removed"]) == (False, "invalid_names", [])


def test_reset_removes_and_restores(fresh: Conversation) -> None:
    fresh.execute("zed = 1\nalpha = 2\n_kept = 3\nopen = exit = In = 'broken'\nglobals()[5] = 6\ndel get_ipython")
    answer = fresh.ask("reset")
    assert answer == {"ok": True, "removed": ["alpha", "zed"], "execution_count": 1, "error": None}
    assert fresh.result(
        "[callable(open), callable(exit), In[1][:3], get_ipython() is not None, 5 in globals(), _kept]"
    ) == [
        True,
        True,
        "zed",
        True,
        False,
        3,
    ]


def test_a_reset_that_fails_changes_nothing(fresh: Conversation) -> None:
    fresh.execute(
        "a = 1\nclass Broken:\n    armed = False\n    __hash__ = lambda self: hash('open')\n"
        "    def __eq__(self, other):\n        if self.armed: raise ValueError('no')\n        return False"
    )
    fresh.execute("type(get_ipython()).own_bindings[Broken()] = 5\nopen = 5\nBroken.armed = True")
    answer = fresh.ask("reset")
    assert (answer["ok"], answer["error"]["code"], answer["removed"]) == (False, "reset_rebind_error", [])
    assert fresh.result("[a, open, callable(Broken)]") == [1, 5, True]


def test_the_reset_magic_keeps_what_the_server_needs(fresh: Conversation) -> None:
    fresh.execute("a = 1\n%reset -f")
    assert fresh.result("[__name__, __spec__, 'a' in globals(), callable(get_ipython)]") == [
        "__main__",
        None,
        False,
        True,
    ]
    assert fresh.execute("%reset")["ok"]


def test_keys_and_values_with_lone_surrogates(fresh: Conversation) -> None:
    fresh.execute("globals()['k\\udcaf'] = '\\ud83d'")
    (found,) = fresh.ask("search", query="k", exact=False, limit=5)["results"]
    assert (found["name"], found["representation"]) == ("k\\udcaf", "'\\ud83d'")
    assert fresh.ask("reset")["removed"] == ["k\\udcaf"]


def test_printing_while_looking_is_output(fresh: Conversation) -> None:
    fresh.execute("class Loud:\n    def __repr__(self):\n        print('loud')\n        return 'L'\nx = Loud()")
    assert fresh.ask("inspect", name="x")["representation"] == "L"
    assert fresh.stdout() == "loud\n"
