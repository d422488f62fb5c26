"""The smallest FastMCP server around the same shell: one tool that runs a cell and returns what it gave."""

from typing import Any

from fastmcp import FastMCP
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

shell = InteractiveShell.instance()
server = FastMCP("baseline")


@server.tool()
def execute(code: str) -> dict[str, Any]:
    """Run Python code."""
    with capture_output() as captured:
        outcome = shell.run_cell(code)
    return {"ok": outcome.success, "result": outcome.result, "stdout": captured.stdout, "stderr": captured.stderr}


server.run(show_banner=False)
