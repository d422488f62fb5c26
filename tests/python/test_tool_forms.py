"""Conversion of arguments to the annotated types, and defaults as JSON."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import json
import sys
import uuid
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal, NotRequired, Optional, TypedDict

import pytest

from ipymcp.formbuilder import FormBuilder
from ipymcp.forms import Form, MisfitError
from ipymcp.plainjson import DefaultError
from ipymcp.resolving import Scope


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.Enum):
    LOW = 1
    TRUE = True
    HIGH = object()


@dataclasses.dataclass
class Point:
    x: float
    color: Color = Color.RED
    seed: dataclasses.InitVar[int] = 0
    norm: float = dataclasses.field(init=False, default=0.0)

    def __post_init__(self, seed: int) -> None:
        if self.x < 0:
            raise ValueError("x is negative")
        self.norm = self.x + seed


class Line(TypedDict):
    start: Point
    end: NotRequired[Annotated[Point, "where it ends"]]


class Field:
    def __init__(self, annotation: Any, default: Any = ..., alias: str | None = None) -> None:
        self.annotation, self.default, self.alias = annotation, default, alias
        self.default_factory, self.description, self.metadata = None, None, ["text"]

    def is_required(self) -> bool:
        return self.default is ...


class Model:
    """What pydantic's classes look like from outside."""

    model_fields = {"a": Field(int), "when": Field(datetime.date, datetime.date(2024, 1, 31), "When")}  # noqa: RUF012

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)

    @classmethod
    def model_validate(cls, fields: dict[str, Any]) -> Model:
        return cls(**fields)


def form_of(annotation: Any) -> Form:
    return FormBuilder().form(annotation, Scope(globals()))


def convert(annotation: Any, text: str) -> Any:
    return form_of(annotation).convert(json.loads(text, parse_float=Decimal))


@pytest.mark.parametrize(
    ("annotation", "text", "want"),
    [
        (int, "1e2", 100),
        (int, "1.0", 1),
        (int, "1e22", 10**22),
        (int, "123456789012345678901.0", 123456789012345678901),
        (float, "1", 1.0),
        (float, "0.1", 0.1),
        (float, "-0.0", -0.0),
        (list[float], "[1, 2.5]", [1.0, 2.5]),
        (list[set[int]], "[[1, 2], []]", [{1, 2}, set()]),
        (frozenset[str], '["a"]', frozenset({"a"})),
        (dict[str, tuple[int, ...]], '{"a": [1, 2]}', {"a": (1, 2)}),
        (tuple[int, str], '[1, "a"]', (1, "a")),
        (tuple[()], "[]", ()),
        (Optional[int], "null", None),  # noqa: UP045 - the old form
        ("int | None", "5", 5),
        (list["Color"], '["red"]', [Color.RED]),
        (Literal[1, True, "a", None], "1.0", 1),
        (Literal[True, 1], "true", True),
        (Literal[0.1, "a"], "0.1", 0.1),
        (Annotated[int, "text", 7], "3", 3),
        (Level, '"HIGH"', Level.HIGH),
        (bytes, '"aGk="', b"hi"),
        (datetime.datetime, '"2024-01-31T12:30:00Z"', datetime.datetime(2024, 1, 31, 12, 30, tzinfo=datetime.UTC)),
        (datetime.date, '"2024-01-31"', datetime.date(2024, 1, 31)),
        (datetime.time, '"12:30"', datetime.time(12, 30)),
        (datetime.timedelta, '"-P1DT2H0.5S"', -datetime.timedelta(days=1, hours=2, seconds=0.5)),
        (datetime.timedelta, '"P2W"', datetime.timedelta(weeks=2)),
        (uuid.UUID, '"12345678-1234-5678-1234-567812345678"', uuid.UUID("12345678-1234-5678-1234-567812345678")),
        (Path, '"a/b"', Path("a/b")),
        (PurePosixPath, '"a"', PurePosixPath("a")),
        (Point, '{"x": 1, "seed": 2, "color": "blue"}', Point(1.0, Color.BLUE, 2)),
        (Line, '{"start": {"x": 1}}', {"start": Point(1.0)}),
    ],
)
def test_converts(annotation: Any, text: str, want: Any) -> None:
    got = convert(annotation, text)
    assert got == want
    assert type(got) is type(want)
    assert repr(got) == repr(want) or isinstance(want, (set, frozenset))


def test_converts_models_by_their_aliases() -> None:
    model = convert(Model, '{"a": 1, "When": "2024-02-01"}')
    assert type(model) is Model
    assert model.__dict__ == {"a": 1, "When": datetime.date(2024, 2, 1)}
    fields = form_of(Model).neutral()["fields"]
    assert [(field["name"], field["required"], field.get("default")) for field in fields] == [
        ("a", True, None),
        ("When", False, "2024-01-31"),
    ]
    assert fields[0]["description"] == "text"


# The order that `forms.Union` states: as written, but float last.
@pytest.mark.parametrize(
    ("annotation", "text", "want"),
    [
        (float | int, "1", 1),
        (float | int, "1.5", 1.5),
        (float | bool, "true", True),
        (set[int] | list[int], "[1, 2]", {1, 2}),
        (set[int] | list[int], "[1, 1]", [1, 1]),
        (list[int] | set[int], "[1, 2]", [1, 2]),
        (list[int] | list[str], '["a"]', ["a"]),
        (datetime.date | datetime.datetime | str, '"2024-01-31"', datetime.date(2024, 1, 31)),
        (datetime.date | datetime.datetime | str, '"2024-01-31T00:00"', datetime.datetime(2024, 1, 31)),
        (datetime.date | datetime.datetime | str, '"soon"', "soon"),
        (str | datetime.date, '"2024-01-31"', "2024-01-31"),
        (Color | str, '"red"', Color.RED),
        (Color | str, '"green"', "green"),
        (Point | dict[str, float], '{"x": 1.0}', Point(1.0)),
        (Point | dict[str, float], '{"y": 1}', {"y": 1.0}),
        (dict[str, int | None] | None, '{"a": null}', {"a": None}),
    ],
)
def test_unions_take_the_first_branch_that_fits(annotation: Any, text: str, want: Any) -> None:
    got = convert(annotation, text)
    assert got == want
    assert type(got) is type(want)


@pytest.mark.parametrize(
    ("annotation", "text", "path", "message"),
    [
        (int, "true", "/", "integer"),
        (int, "1.5", "/", "integer"),
        (float, "1" + "0" * 400, "/", "too large"),
        (datetime.datetime, '"2024-01-31"', "/", "the time is missing"),
        (list[datetime.date], '["2024-01-31", "31.1."]', "/1", "2024-01-31"),
        (dict[str, bytes], '{"a/b~": "?"}', "/a~1b~0", "base64"),
        (tuple[int, uuid.UUID], '[1, "x"]', "/1", "uuid"),
        (datetime.timedelta, '"P"', "/", "PT0.5S"),
        (datetime.timedelta, '"P1Y"', "/", "PT0.5S"),
        (Path, '"a\\u0000"', "/", "NUL"),
        (Point, '{"x": -1}', "/", "Point refuses it: ValueError: x is negative"),
        (Point, '{"x": "a"}', "/x", "number"),
        (Point, "{}", "/x", "required"),
        (Point, '{"x": 1, "norm": 1}', "/norm", "unexpected"),
        (set[list[int]], "[[1]]", "/", "unhashable"),
        (datetime.date | list[Path], '["a", 5]', "/1", "string"),
        (datetime.date | int, '"soon"', "/", "or expected an integer"),
        (Color, "7", "/", "Color"),
        (Literal["a"], "{}", "/", "one of"),
    ],
)
def test_misfits_say_where_and_why(annotation: Any, text: str, path: str, message: str) -> None:
    with pytest.raises(MisfitError, match=message.replace("?", r"\?")) as caught:
        convert(annotation, text)
    assert caught.value.pointer() == path


@pytest.mark.parametrize(
    ("annotation", "default", "want"),
    [
        (int, True, True),
        (float, 1, 1),
        (list[int], (1, 2), [1, 2]),
        (datetime.datetime | None, datetime.datetime(2024, 1, 31), "2024-01-31T00:00:00"),
        (datetime.timedelta, datetime.timedelta(days=-1, microseconds=5), "-PT86399.999995S"),
        (datetime.timedelta, datetime.timedelta(), "PT0S"),
        (bytes, b"hi", "aGk="),
        (Path, Path("a"), "a"),
        (list[Color], [Color.BLUE], ["blue"]),
        (Point, Point(1.0), {"x": 1.0, "color": "red", "seed": 0}),
        (Line, {"start": Point(2.0)}, {"start": {"x": 2.0, "color": "red", "seed": 0}}),
        (dict[str, tuple[Color, int]], {"a": (Color.RED, 1)}, {"a": ["red", 1]}),
        (Annotated[Color, "text"] | None, Color.RED, "red"),
        (int, "1", "1"),
    ],
)
def test_encodes_defaults(annotation: Any, default: Any, want: Any) -> None:
    assert form_of(annotation).encode(default) == want


def _cyclic() -> list[Any]:
    cyclic: list[Any] = []
    cyclic.append(cyclic)
    return cyclic


@pytest.mark.parametrize(
    ("annotation", "default", "why"),
    [
        (float, float("nan"), "nan is not a JSON number"),
        (float, float("-inf"), "-inf is not"),
        (str, "\udcaf", "lone surrogate"),
        (set[int], {1}, "a set is not JSON"),
        (dict[str, int], {1: 1}, "a key of type int"),
        (list[list[int]], _cyclic(), "nested more than 64"),
        (str, "x" * 70_000, "more than 65536"),
        pytest.param(int, 1 << 20_000, "bits", id="long"),
        (str, Path("a"), "is not JSON"),
        (bytes, "aGk=", "no bytes"),
        (datetime.date, datetime.datetime(2024, 1, 1), "datetime"),
        (object, object(), "a object is not JSON"),
    ],
)
def test_defaults_that_are_not_json(annotation: Any, default: Any, why: str) -> None:
    with pytest.raises(DefaultError, match=why):
        form_of(annotation).encode(default)


Endless = list["Endless"]


@dataclasses.dataclass
class Deep:
    a: dict[str, list[Deep]]


@dataclasses.dataclass(init=False)
class Custom:
    a: int

    def __init__(self, b: int) -> None: ...


def _nested(times: int) -> Any:
    annotation: Any = int
    for _ in range(times):
        annotation = list[annotation]
    return annotation


@pytest.mark.parametrize(
    ("annotation", "kind", "text"),
    [
        (Any, "unsupported", "Any"),
        (list, "unsupported", "list"),
        (tuple, "unsupported", "tuple"),
        (Callable[[], int], "unsupported", "Callable"),
        (dict[int, str], "unsupported", "keys of a dict must be str"),
        (Literal[b"a"], "unsupported", "JSON scalars"),
        ("Missing", "unsupported", "'Missing' does not resolve: NameError"),
        ("1 +", "unsupported", "SyntaxError"),
        ("int", "int", ""),
        ("Annotated[int, 'text']", "described", "text"),
        (Custom, "unsupported", "takes more than its fields"),
        (Color | None, "union", "red"),
        (Endless, "list", '"recursive", "name": "Endless"'),
        (Deep, "dataclass", '"recursive", "name": "Deep"'),
        (_nested(500), "list", "deeper than 64"),
    ],
)
def test_neutral_forms(annotation: Any, kind: str, text: str) -> None:
    neutral = form_of(annotation).neutral()
    assert neutral["kind"] == kind
    assert text in json.dumps(neutral)


def test_more_types_than_a_signature_may_have() -> None:
    row: Any = tuple.__class_getitem__((int,) * 100)
    wide = tuple.__class_getitem__((row,) * 40)
    assert "more than 2000 types" in json.dumps(form_of(wide).neutral())


@pytest.mark.parametrize("code", ["type A = dict[str, list[A]]", "type A = list[int]"])
def test_type_statements_are_transparent(code: str) -> None:
    if sys.version_info < (3, 12):
        return  # there is no such statement
    namespace: dict[str, Any] = {}
    exec(code, namespace)
    text = json.dumps(form_of(namespace["A"]).neutral())
    assert ('"name": "A"' in text) == ("[A]" in code)
