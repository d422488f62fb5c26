"""What a cell shows: its last value, recorded and not printed, and the MIME bundles that it publishes. Main thread."""

from __future__ import annotations

import builtins
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher

from ipymcp.bundles import Bundle, bounded_bundle
from ipymcp.limits import Limits
from ipymcp.payloads import PayloadFiles
from ipymcp.sketches import Sketches, Snapshot


class RecordingHook(DisplayHook):
    """IPython's hook without prompt, formats or output: the value goes into the execution's result, `_` and `Out`."""

    # A plain attribute in the place of a trait, which is slow to set.
    exec_result: Any = None
    # The last results, oldest in the longest name.
    _: Any
    __: Any
    ___: Any

    def __call__(self, result: Any = None) -> None:
        """Records a value; `None` and a statement that ends in `;` record nothing."""
        self.check_for_underscore()
        if result is None or self.quiet():
            return
        self.shell.own_formatter.expect(result)
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
        shell = self.shell
        namespace, hidden = shell.user_ns, shell.user_ns_hidden
        outputs = namespace["_oh"] = shell.history_manager.output_hist
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
        numbers = (key for key in outputs if type(key) is int)
        for number in list(islice(numbers, 1 + len(outputs) - self.cache_size)):
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
    bundle: Bundle


@dataclass(slots=True)
class Displays:
    """What one operation has displayed."""

    shown: list[_Shown] = field(default_factory=list)
    omitted: bool = False  # whole bundles
    clear_before_next: bool = False

    @property
    def cut(self) -> bool:
        """Whether something is not in the answer."""
        return self.omitted or any(shown.bundle.cut for shown in self.shown)

    def snapshot(self) -> Snapshot:
        """What there is so far. Any thread."""
        bundles = [shown.bundle for shown in list(self.shown)]
        return Snapshot(bundles, self.omitted or any(bundle.cut for bundle in bundles), self.omitted)

    def answer(self) -> dict[str, Any]:
        """The part of an answer that holds them; whoever gets it owns the files."""
        bundles = [shown.bundle for shown in self.shown]
        answer = {"display_data": [{"data": bundle.data, "metadata": bundle.metadata} for bundle in bundles]}
        payloads = [
            {"display": number, "mime": mime, "file": file}
            for number, bundle in enumerate(bundles)
            for mime, file in bundle.files.items()
        ]
        return answer | {"payloads": payloads} if payloads else answer


class CollectingPublisher(DisplayPublisher):
    """Keeps bundles, bounded, instead of printing them."""

    limits: Limits
    files: PayloadFiles
    sketches: Sketches
    _displays: Displays | None = None

    def begin(self) -> None:
        """Starts a new operation with nothing displayed; what came after the end of the last one is dropped."""
        self.sketches.end()
        if self._displays is not None:
            self._clear(self._displays)
        self._displays = Displays()
        self.sketches.begin(self._displays.snapshot)

    def end(self) -> Displays:
        """What was displayed since the beginning."""
        displays, self._displays = self._displays or Displays(), Displays()
        self.sketches.end()
        return displays

    def publish(
        self, data: Any, metadata: Any = None, *_: Any, transient: Any = None, update: bool = False, **__: Any
    ) -> None:
        """Keeps one bundle, or replaces those with its `display_id`."""
        self._validate_data(data, metadata)
        display_id = (transient or {}).get("display_id")
        displays = self._displays or Displays()
        if displays.clear_before_next:
            self._clear(displays)
        same = [shown for shown in displays.shown if update and display_id and shown.display_id == display_id]
        if not same and len(displays.shown) >= self.limits.display_items:
            if not displays.omitted:
                displays.omitted = True
                self.sketches.changed()
            return
        for shown in same:
            bundle = self._bounded(data, metadata)
            replaced, shown.bundle = shown.bundle, bundle
            self.sketches.release(replaced.files.values())
        if not same:
            displays.shown.append(_Shown(display_id, self._bounded(data, metadata)))
        self.sketches.changed()

    def clear_output(self, wait: bool = False) -> None:
        """Forgets what was shown, at once or when the next bundle comes."""
        displays = self._displays or Displays()
        if wait:
            displays.clear_before_next = True
        else:
            self._clear(displays)
            # Not at once: what is shown next mostly comes right behind.
            self.sketches.changed(at_once=False)

    def _bounded(self, data: Any, metadata: Any) -> Bundle:
        return bounded_bundle(data, metadata or {}, self.limits, self.files)

    def _clear(self, displays: Displays) -> None:
        gone, displays.shown = displays.shown, []
        displays.clear_before_next = False
        for shown in gone:
            self.sketches.release(shown.bundle.files.values())
