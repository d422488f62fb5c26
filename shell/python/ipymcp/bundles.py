"""MIME bundles as they go into an answer: text and data bounded, binary payloads in files. Main thread."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from ipymcp.channel import encode
from ipymcp.limits import Limits
from ipymcp.payloads import PayloadFiles, content_of, preferred_image
from ipymcp.text import cut, plain
from ipymcp.translation import NotJsonError, opaque, translate
from ipymcp.typenames import class_name

# What HTML holds of sounds, videos and pictures.
_EMBEDDED = re.compile(r"(data:[\w.+/-]+;base64,)[A-Za-z0-9+/=\s]{64,}")


@dataclass(slots=True)
class Bundle:
    """What is kept of a bundle, and whether something of it was cut."""

    data: dict[str, Any] = field(default_factory=dict)
    metadata: Any = field(default_factory=dict)
    cut: bool = False
    # Type to file; the embedding process writes what stands in `data` for it.
    files: dict[str, str] = field(default_factory=dict)


def bounded_bundle(data: dict[Any, Any], metadata: dict[Any, Any], limits: Limits, files: PayloadFiles) -> Bundle:
    """The bundle in at most `results` payloads of `text_chars` characters each; of several images, one."""
    bundle = Bundle(cut=len(data) > limits.results)
    contents: dict[str, bytes] = {}
    for key, payload in list(data.items())[: limits.results]:
        mime = cut(str(key), limits.text_chars)[0]
        bundle.data[mime] = None
        try:
            content = content_of(mime, payload)
        except ValueError:
            bundle.data[mime] = f"<{mime}, not shown: its payload is no base64>"
            continue
        if content is not None:
            contents[mime] = content
            continue
        if mime.startswith("text/") and issubclass(type(payload), str):
            payload, embedded = _EMBEDDED.subn(r"\1…", plain(str.__str__(payload)))
            bundle.cut |= embedded > 0
        bundle.data[mime], was_cut = _bounded(payload, limits)
        bundle.cut |= was_cut
    bundle.metadata, was_cut = _bounded(metadata, limits)
    if not isinstance(bundle.metadata, dict):
        bundle.metadata = {}
    bundle.cut |= was_cut
    _write(bundle, contents, files)
    return bundle


def _write(bundle: Bundle, contents: dict[str, bytes], files: PayloadFiles) -> None:
    shown = preferred_image(contents)
    for mime, content in contents.items():
        if mime != shown and mime.startswith("image/"):
            del bundle.data[mime]
            continue
        try:
            bundle.files[mime] = files.write(content)
        except OSError as error:
            bundle.data[mime] = f"<{mime}, {len(content)} bytes, not kept: {error.strerror}>"


def _bounded(value: Any, limits: Limits) -> tuple[Any, bool]:
    """The JSON form of a value, as cut text where it takes more than `text_chars` characters."""
    try:
        translated, was_cut = translate(value, limits)
    except NotJsonError:
        return opaque(value, limits), True
    except RecursionError as error:
        return f"<{class_name(type(value))} translation failed: {class_name(type(error))}>", True
    if isinstance(translated, str):
        return translated, was_cut
    encoded, is_long = cut(encode(translated).decode(), limits.text_chars)
    return (encoded, True) if is_long else (translated, was_cut)
