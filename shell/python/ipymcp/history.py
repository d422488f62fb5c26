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

    def store_inputs(self, line_num: int, source: str, source_raw: str | None = None) -> None:
        """Stores an input under its number, and forgets the text of the one that is too old."""
        for inputs in (self.input_hist_parsed, self.input_hist_raw):
            del inputs[line_num:]
            inputs.extend("" for _ in range(line_num - len(inputs)))
        super().store_inputs(line_num, source, source_raw)
        self.db_input_cache.clear()
        oldest = line_num - KEPT_EXECUTIONS
        if oldest > 0:
            self.input_hist_parsed[oldest] = self.input_hist_raw[oldest] = ""
            self.shell.user_ns.pop(f"_i{oldest}", None)
            self.shell.user_ns_hidden.pop(f"_i{oldest}", None)
        self.outputs.clear()
        self.exceptions.clear()

    def store_output(self, line_num: int) -> None:
        """Stores nothing: outputs live in `Out` alone."""

    def reset(self, new_session: bool = True) -> None:
        """Forgets outputs; works in a directory that was deleted, too."""
        self.output_hist.clear()
        self.outputs.clear()
        self.exceptions.clear()
        try:
            self.dir_hist[:] = [Path.cwd()]
        except OSError:
            self.dir_hist[:] = []
