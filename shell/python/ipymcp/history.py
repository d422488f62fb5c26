"""Input and output history in memory: `In`, `Out` and `_i…` by execution count, nothing on disk. Main thread."""

from __future__ import annotations

import re
from pathlib import Path

from IPython.core.history import HistoryManager

# Executions whose input, output and `_n` stay readable.
KEPT_EXECUTIONS = 100


class MemoryHistory(HistoryManager):
    """IPython's history without database or thread, and with every line at its own number."""

    # IPython leaves `exit` out of its history, which would shift `In`.
    _exit_re = re.compile(r"(?!)")
    # The last inputs, oldest first in the names with most i's. No traits, which are slow to set.
    _i00 = _i = _ii = _iii = ""

    def store_inputs(self, line_num: int, source: str, source_raw: str | None = None) -> None:
        """Stores an input under its number, and forgets the text of the one that is too old."""
        parsed, raw = source.rstrip("\n"), (source if source_raw is None else source_raw).rstrip("\n")
        oldest = line_num - KEPT_EXECUTIONS
        for inputs, text in ((self.input_hist_parsed, parsed), (self.input_hist_raw, raw)):
            del inputs[line_num:]
            inputs.extend("" for _ in range(line_num - len(inputs)))
            inputs.append(text)
            if oldest > 0:
                inputs[oldest] = ""
        self._iii, self._ii, self._i, self._i00 = self._ii, self._i, self._i00, raw
        named = {"_i": self._i, "_ii": self._ii, "_iii": self._iii, f"_i{line_num}": raw}
        shell = self.shell
        for names in (shell.user_ns, shell.user_ns_hidden):
            names.update(named)
            names.pop(f"_i{oldest}", None)
        self._forget_shown()

    def store_output(self, line_num: int) -> None:
        """Stores nothing: outputs live in `Out` alone."""

    def reset(self, new_session: bool = True) -> None:
        """Forgets outputs; works in a directory that was deleted, too."""
        self.output_hist.clear()
        self._forget_shown()
        try:
            self.dir_hist[:] = [Path.cwd()]
        except OSError:
            self.dir_hist[:] = []

    def _forget_shown(self) -> None:
        """Drops what IPython 9.1 and newer keep of displays and failures."""
        for kept in ("outputs", "exceptions"):
            getattr(self, kept, {}).clear()
