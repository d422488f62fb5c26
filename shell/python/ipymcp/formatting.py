"""IPython's formatters, bounded, and aware of the value of the cell. Main thread."""

from __future__ import annotations

from contextlib import suppress
from io import StringIO
from typing import Any

from IPython.core.formatters import DisplayFormatter, PlainTextFormatter, catch_format_error
from IPython.lib.pretty import RepresentationPrinter

# How many times the bound is written before writing stops: so that the end of a table is known, where its shape stands.
_BOUNDS_WRITTEN = 16


class ValueFormatter(DisplayFormatter):
    """Knows whether the value of the cell was displayed after it had become the value, as open figures are."""

    def __init__(self, text_chars: int, **traits: Any) -> None:
        super().__init__(**traits)
        self.expect(None)
        self.formatters["text/plain"] = _BoundedText(text_chars * _BOUNDS_WRITTEN, parent=self)
        # The inline backend registers it as well, once there is a figure that pyplot knows.
        self.formatters["image/png"].for_type_by_name("matplotlib.figure", "Figure", _figure)

    def expect(self, value: Any) -> None:
        """Takes note of what the value of the cell is so far."""
        self._value = value
        self.value_displayed = False

    def format(self, obj: Any, include: Any = None, exclude: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        """What IPython makes of an object."""
        self.value_displayed |= obj is self._value
        bundle: tuple[dict[str, Any], dict[str, Any]] = super().format(obj, include=include, exclude=exclude)
        return bundle


def _figure(figure: Any) -> Any:
    from IPython.core.pylabtools import print_figure

    return print_figure(figure)


class _FullError(Exception):
    """Enough was written."""


class _BoundedStream(StringIO):
    def __init__(self, limit: int) -> None:
        super().__init__()
        self._left = limit

    def write(self, text: str) -> int:
        if self._left < 0:
            raise _FullError
        self._left -= len(text)
        return super().write(text[: self._left] + "\n…" if self._left < 0 else text)


class _BoundedText(PlainTextFormatter):
    """The pretty-printer, which stops once there is far more than goes into an answer."""

    def __init__(self, limit: int, **traits: Any) -> None:
        super().__init__(**traits)
        self._limit = limit

    @catch_format_error  # type: ignore[untyped-decorator]
    def __call__(self, obj: Any) -> str:
        if not self.pprint:
            return repr(obj)
        stream = _BoundedStream(self._limit)
        printer = RepresentationPrinter(
            stream,
            self.verbose,
            self.max_width,
            self.newline,
            max_seq_length=self.max_seq_length,
            singleton_pprinters=self.singleton_printers,
            type_pprinters=self.type_printers,
            deferred_pprinters=self.deferred_printers,
        )
        with suppress(_FullError):
            printer.pretty(obj)
            printer.flush()
        return stream.getvalue()
