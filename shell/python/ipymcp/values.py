"""The value of a cell as the answer has it: JSON or text in the result, pictures among the displays.

Main thread. An interruption reaches what the value itself runs for that; the cell has succeeded all the same.
"""

from __future__ import annotations

from typing import Any

from ipymcp.formatting import ValueFormatter
from ipymcp.kernel import Kernel
from ipymcp.limits import Limits
from ipymcp.payloads import is_visual
from ipymcp.text import cut, cut_before_last_line, plain
from ipymcp.translation import NotJsonError, opaque, translate
from ipymcp.typenames import class_name, qualified_name

_BUILT_IN = frozenset({bool, int, float, str, list, tuple, dict, set, frozenset})


def result_of(kernel: Kernel, value: Any) -> tuple[Any, bool]:
    """The result, and whether it was cut. Publishes what there is to look at, unless it was displayed already."""
    if value is None:
        return None, False
    interruptions = kernel.interrupts.raised
    result, was_cut, is_json = _translated(kernel, value)
    if is_json and _has_no_pictures(type(value), kernel.shell.own_formatter):
        return result, was_cut
    if kernel.interrupts.raised > interruptions:
        return result, was_cut  # whoever interrupted the value's methods does not want to wait for them once more
    data, metadata = _formatted(kernel, value, ("text/plain",) if is_json else ())
    visual = {mime: payload for mime, payload in data.items() if is_visual(str(mime))}
    if visual:
        about = {mime: metadata[mime] for mime in visual if mime in metadata}
        kernel.shell.display_pub.publish(visual, about)
    text = data.get("text/plain")
    if not is_json and isinstance(text, str):
        shown = cut_before_last_line(plain(text), kernel.limits.text_chars)
        if _essence(shown) not in _essence(result["representation"]):
            result["text"] = shown
    return result, was_cut


def _has_no_pictures(cls: type, formatter: ValueFormatter) -> bool:
    """Whether the class is one of Python's own that nobody has given a form beside its text."""
    if cls not in _BUILT_IN:
        return False
    # The trait's value itself: asking for a trait is slow, and this asks nine times for each value.
    printers = ((mime, each._trait_values.get("type_printers", ())) for mime, each in formatter.formatters.items())
    return not any(cls in registered for mime, registered in printers if mime != "text/plain")


def _essence(text: str) -> str:
    """What is left without line breaks, and where IPython says the same in fewer words."""
    return " ".join(text.split()).replace(" object at 0x", " at 0x")


def _translated(kernel: Kernel, value: Any) -> tuple[Any, bool, bool]:
    try:
        return kernel.interrupts.run_own(_json_or_opaque, value, kernel.limits)
    except BaseException as error:  # interrupted, or out of memory, in our own code
        result = {
            "json_compatible": False,
            "type": cut(qualified_name(type(value)), kernel.limits.text_chars)[0],
            "representation": f"<{class_name(type(value))} repr failed: {class_name(type(error))}>",
        }
        return result, True, False


def _json_or_opaque(value: Any, limits: Limits) -> tuple[Any, bool, bool]:
    try:
        return *translate(value, limits), True
    except NotJsonError:
        return opaque(value, limits), True, False


def _formatted(kernel: Kernel, value: Any, exclude: tuple[str, ...]) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """The MIME bundle of the value; a failure of its methods is shown as any other that ends nothing."""
    formatter = kernel.shell.own_formatter
    include = ("text/plain",) if formatter.value_displayed else None
    try:
        return kernel.interrupts.run(formatter.format, value, include, exclude)
    except BaseException as error:  # interrupted, or what is no Exception
        kernel.shell.shown.append((error, False))
        return {}, {}
