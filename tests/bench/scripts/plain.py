"""Plain IPython, the baseline: says that its shell is built, then runs as many cells as each line of stdin asks for.

Answers each line with the seconds that the cells took together.
"""

import sys
import time

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

shell = InteractiveShell.instance()
print("ready", flush=True)
for line in sys.stdin:
    cells = int(line)
    started = time.perf_counter()
    for _ in range(cells):
        with capture_output():
            shell.run_cell("1+1")
    print(time.perf_counter() - started, flush=True)
