"""What a cell shows: its last value, recorded and not printed, and the MIME bundles that it publishes. Main thread."""

from __future__ import annotations

import builtins
from dataclasses import dataclass, field
from typing import Any

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher

from ipymcp.limits import Limits
from ipymcp.text import cut
from ipymcp.translation import NotJsonError, opaque, translate
from ipymcp.typenames import class_name

_TEXT_TYPES = ("text/", "application/json", "application/javascript", "image/svg+xml")


class RecordingHook(DisplayHook):
    """IPython's hook without prompt, formats or output: the value goes into the execution's result, `_` and `Out`."""

    # The last results, oldest in the longest name.
    _: Any
    __: Any
    ___: Any

    def __call__(self, result: Any = None) -> None:
        """Records a value; `None` and a statement that ends in `;` record nothing."""
        self.check_for_underscore()
        if result is None or self.quiet():
            return
        self.update_user_ns(result)
        self.fill_exec_result(result)

    def quiet(self) -> bool:
        """Whether the cell ends in a semicolon; tokenizes only where it may."""
        cells = self.shell.history_manager.input_hist_parsed
        last_line = cells[-1].rstrip().rpartition("\n")[2] if cells else ""
        return ";" in last_line and bool(super().quiet())

    def update_user_ns(self, result: Any) -> None:
        """Updates `_`, `__`, `___`, `_n` and `Out`, also where user code deleted them.

        The first three stay the user's where user code has bound one of them.
        """
        namespace, hidden = self.shell.user_ns, self.shell.user_ns_hidden
        outputs = namespace["_oh"] = self.shell.history_manager.output_hist
        if result is outputs:
            return
        if len(outputs) >= self.cache_size:
            self.cull_cache()
        before: dict[str, Any] = {"_": self._, "__": self.__, "___": self.___}
        ours = all(namespace.get(name, last) is hidden.get(name, last) for name, last in before.items())
        self._, self.__, self.___ = result, before["_"], before["__"]
        number = self.prompt_count
        named = {f"_{number}": result}
        if ours and "_" not in vars(builtins):
            named |= {"_": self._, "__": self.__, "___": self.___}
        namespace.update(named)
        hidden.update(named)
        outputs[number] = result

    def cull_cache(self) -> None:
        """Drops the oldest outputs without a word."""
        outputs = self.shell.user_ns["_oh"]
        # In the order in which they came, which is that of their numbers.
        numbers = [key for key in outputs if type(key) is int]
        for number in numbers[: 1 + len(outputs) - self.cache_size]:
            self.shell.user_ns.pop(f"_{number}", None)
            self.shell.user_ns_hidden.pop(f"_{number}", None)
            outputs.pop(number, None)

    def check_for_underscore(self) -> None:
        """Leaves `_` to a translation function that user code put into builtins."""
        if "_" in vars(builtins):
            super().check_for_underscore()


@dataclass(slots=True)
class _Shown:
    display_id: str | None
    bundle: dict[str, Any]


@dataclass(slots=True)
class Collected:
    """The bundles of one execution."""

    shown: list[_Shown] = field(default_factory=list)
    cut: bool = False  # something of a bundle
    omitted: bool = False  # whole bundles
    clear_before_next: bool = False


class CollectingPublisher(DisplayPublisher):
    """Keeps bundles, bounded, instead of printing them."""

    limits: Limits

    def begin(self) -> None:
        """Starts a new execution with nothing shown."""
        self._collected = Collected()

    def end(self) -> tuple[list[dict[str, Any]], Collected]:
        """The bundles of the execution, and what was cut of them or left out."""
        return [shown.bundle for shown in self._collected.shown], self._collected

    def publish(
        self, data: Any, metadata: Any = None, *_: Any, transient: Any = None, update: bool = False, **__: Any
    ) -> None:
        """Keeps one bundle, or replaces those with its `display_id`."""
        self._validate_data(data, metadata)
        display_id = (transient or {}).get("display_id")
        collected = self._collected
        if collected.clear_before_next:
            collected.shown.clear()
            collected.clear_before_next = False
        same = [shown for shown in collected.shown if update and display_id and shown.display_id == display_id]
        if not same and len(collected.shown) >= self.limits.display_items:
            collected.omitted = True
            return
        bundle, was_cut = bounded_bundle(data, metadata or {}, self.limits)
        collected.cut |= was_cut
        for shown in same:
            shown.bundle = bundle
        if not same:
            collected.shown.append(_Shown(display_id, bundle))

    def clear_output(self, wait: bool = False) -> None:
        """Forgets what was shown, at once or when the next bundle comes."""
        if wait:
            self._collected.clear_before_next = True
        else:
            self._collected.shown.clear()


def bounded_bundle(data: dict[Any, Any], metadata: dict[Any, Any], limits: Limits) -> tuple[dict[str, Any], bool]:
    """A bundle as it goes on the wire, without binary payloads; and whether something was cut."""
    truncated = len(data) > limits.results
    kept: dict[str, Any] = {}
    for key, payload in list(data.items())[: limits.results]:
        mime = cut(str(key), limits.text_chars)[0]
        kept[mime], was_cut = _payload(mime, payload, limits)
        truncated |= was_cut
    about, was_cut = _translated(metadata, limits)
    return {"data": kept, "metadata": about}, truncated or was_cut


def _payload(mime: str, payload: Any, limits: Limits) -> tuple[Any, bool]:
    if isinstance(payload, (bytes, bytearray, memoryview)):
        return f"<{mime}, {len(payload)} bytes>", False
    if isinstance(payload, str) and not mime.startswith(_TEXT_TYPES) and not mime.endswith(("+json", "+xml")):
        # Binary payloads come in base64: three bytes in four characters, less the padding.
        return f"<{mime}, {len(payload) * 3 // 4 - payload[-2:].count('=')} bytes>", False
    return _translated(payload, limits)


def _translated(value: Any, limits: Limits) -> tuple[Any, bool]:
    try:
        return translate(value, limits)
    except NotJsonError:
        return opaque(value, limits), True
    except RecursionError as error:
        return f"<{class_name(type(value))} translation failed: {class_name(type(error))}>", True
