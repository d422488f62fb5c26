"""What Python describes is what package dyntools has in its goldens: the two halves speak of the same form."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ipymcp.signatures import describe

_GOLDENS = Path(__file__).resolve().parents[2] / "dyntools" / "testdata"
_PRELUDE = """
from typing import *
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from datetime import datetime, date, time, timedelta
from uuid import UUID
from pathlib import Path
class Gt:
    def __init__(self, bound): pass
@dataclass
class Point:
    x: float
    y: float = 0.0
    tags: list[str] = field(default_factory=list)
class Line(TypedDict):
    a: Point
    name: NotRequired[Annotated[str, "label"]]
@dataclass
class Bad:
    n: int = "x"
@dataclass
class Node:
    next: "Node | None"
class Info:
    annotation, default, default_factory, description, metadata = int, 3, None, "how many", []
    def is_required(self): return False
class Job:
    model_fields = {"size": Info()}
    @classmethod
    def model_validate(cls, fields): return cls()
class Color(Enum): RED = 1; BLUE = 2
Tree = list["Tree"]
"""
# Cases that are about Go alone: their signatures are prose, or what no live callable gives.
_NOT_PYTHON = {
    "refusals/unknown-kind",
    "refusals/empty-union",
    "refusals/literal-list",
    "refusals/twice",
    "strings/unknown",
    "refusals/no-signature",
    "descriptions/both",
}


def _cases() -> Iterator[tuple[str, str, Any]]:
    for file in sorted(_GOLDENS.glob("*.txtar")):
        parts = re.split(r"^-- (\S+) --\n", file.read_text("utf-8"), flags=re.MULTILINE)
        texts = dict(zip(parts[1::2], parts[2::2], strict=True))
        for name, text in texts.items():
            case = name.removesuffix("/signature.py")
            if case != name and f"{file.stem}/{case}" not in _NOT_PYTHON:
                yield f"{file.stem}/{case}", text, json.loads(texts[f"{case}/callable.json"])


@pytest.fixture
def namespace(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    module = ModuleType("goldens")
    monkeypatch.setitem(sys.modules, "goldens", module)
    exec(_PRELUDE, module.__dict__)
    return module.__dict__


@pytest.mark.parametrize(("case", "signature", "want"), [pytest.param(*case, id=case[0]) for case in _cases()])
def test_describes_what_the_golden_says(case: str, signature: str, want: Any, namespace: dict[str, Any]) -> None:
    before = set(namespace)
    # Classes stand in the prelude; the goldens write them on one line.
    exec("\n".join(line for line in signature.splitlines() if not line.startswith(("@", "class "))), namespace)
    (name,) = set(namespace) - before - {"__warningregistry__"}
    found = describe(namespace[name]).neutral(1024)
    assert found["callable_kind"] == want["callable_kind"]
    assert found["problem"] == want.get("problem", "")
    assert _normal(found["parameters"]) == _normal(want["parameters"])


def _normal(value: Any) -> Any:
    """Unions flat, and each type and each literal once: what typing does by itself, and Go does anyway."""
    if isinstance(value, list):
        return [_normal(item) for item in value]
    if not isinstance(value, dict):
        return value
    value = {key: _normal(item) for key, item in value.items()}
    if value.get("kind") == "union":
        items: list[Any] = []
        for item in value["items"]:
            items += item["items"] if item["kind"] == "union" else [item]
        each = {json.dumps(item, sort_keys=True): item for item in items}
        items = [each[text] for text in sorted(each)]
        return {"kind": "union", "items": items} if len(items) > 1 else items[0]
    if value.get("kind") == "literal":
        return value | {"values": sorted({json.dumps(item) for item in value["values"]})}
    return value
