"""Forms of values that travel as strings: dates, times, durations, UUIDs, paths, bytes. Pure functions, any thread."""

from __future__ import annotations

import base64
import binascii
import datetime
import pathlib
import re
import uuid
from collections.abc import Callable
from typing import Any

from ipymcp.forms import Form, MisfitError, Neutral
from ipymcp.plainjson import DefaultError, plain
from ipymcp.typenames import class_name

_NUMBER = r"(\d+(?:\.\d+)?)"
_DURATION = re.compile(
    rf"([+-])?P(?:{_NUMBER}W)?(?:{_NUMBER}D)?(?:T(?=\d)(?:{_NUMBER}H)?(?:{_NUMBER}M)?(?:{_NUMBER}S)?)?", re.ASCII
)
_UNITS = ("weeks", "days", "hours", "minutes", "seconds")


class Text(Form):
    """A class whose values are written as strings."""

    def __init__(self, name: str, cls: type, read: Callable[[str], Any], write: Callable[[Any], str]) -> None:
        self.format = name
        self._cls = cls
        self._read = read
        self._write = write

    def neutral(self) -> Neutral:
        return {"kind": "string", "format": self.format}

    def convert(self, value: Any) -> Any:
        if type(value) is not str:
            raise MisfitError("expected a string")
        try:
            return self._read(value)
        except (ValueError, OverflowError) as error:
            raise MisfitError(f"expected a {self.format} ({_EXAMPLES[self.format]}): {error}") from error

    def encode(self, value: Any) -> Any:
        if self.owns(value):
            return self._write(value)
        if issubclass(type(value), str):
            raise DefaultError(f"it is a str and no {class_name(self._cls)}")
        return plain(value)

    def owns(self, value: Any) -> bool:
        return issubclass(type(value), self._cls) and (
            self._cls is not datetime.date or not issubclass(type(value), datetime.datetime)
        )


_EXAMPLES = {
    "date-time": "as in 2024-01-31T12:30:00 or 2024-01-31T12:30:00Z",
    "date": "as in 2024-01-31",
    "time": "as in 12:30:00",
    "duration": "as in P1DT2H30M or PT0.5S",
    "uuid": "as in 12345678-1234-5678-1234-567812345678",
    "path": "as in data/table.csv",
    "base64": "as in aGVsbG8=",
}


def _datetime(text: str) -> datetime.datetime:
    if not re.search(r"\d[T ]", text, re.IGNORECASE):
        raise ValueError("the time is missing")
    return datetime.datetime.fromisoformat(text)


def _duration(text: str) -> datetime.timedelta:
    found = _DURATION.fullmatch(text)
    if found is None or not any(found.groups()[1:]):
        raise ValueError("weeks, days, hours, minutes and seconds are understood")
    parts = {unit: float(number) for unit, number in zip(_UNITS, found.groups()[1:], strict=True) if number}
    length = datetime.timedelta(**parts)
    return -length if found[1] == "-" else length


def _write_duration(length: datetime.timedelta) -> str:
    sign, length = ("-", -length) if length < datetime.timedelta() else ("", length)
    days = f"{length.days}D" if length.days else ""
    seconds = ""
    if length.seconds or length.microseconds or not days:
        fraction = f".{length.microseconds:06d}".rstrip("0") if length.microseconds else ""
        seconds = f"T{length.seconds}{fraction}S"
    return f"{sign}P{days}{seconds}"


def _base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from error


def _write_base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _path_reader(cls: type[pathlib.PurePath]) -> Callable[[str], pathlib.PurePath]:
    def read(text: str) -> pathlib.PurePath:
        if "\0" in text:
            raise ValueError("a path holds no NUL character")
        return cls(text)

    return read


_PATHS: tuple[type[pathlib.PurePath], ...] = (
    pathlib.Path,
    pathlib.PurePath,
    pathlib.PosixPath,
    pathlib.PurePosixPath,
    pathlib.PureWindowsPath,
)

FORMATS: dict[type, Form] = {
    bytes: Text("base64", bytes, _base64, _write_base64),
    datetime.datetime: Text("date-time", datetime.datetime, _datetime, datetime.datetime.isoformat),
    datetime.date: Text("date", datetime.date, datetime.date.fromisoformat, datetime.date.isoformat),
    datetime.time: Text("time", datetime.time, datetime.time.fromisoformat, datetime.time.isoformat),
    datetime.timedelta: Text("duration", datetime.timedelta, _duration, _write_duration),
    uuid.UUID: Text("uuid", uuid.UUID, uuid.UUID, str),
    **{cls: Text("path", cls, _path_reader(cls), str) for cls in _PATHS},
}
