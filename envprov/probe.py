"""Tells where the shared library of this interpreter is.

Run by the server in a process of its own; prints one JSON object. Old versions of Python understand it too, so that
they can be named.
"""

# ruff: noqa: UP020, UP024, UP031

import io
import json
import os
import platform
import sys
import sysconfig


def mapped_libraries():
    """Return the files that this process has mapped, where the system shows them."""
    try:
        with io.open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
            return sorted({line.split(None, 5)[5].strip() for line in maps if "/" in line})
    except (OSError, IOError):
        return []


def candidates():
    """Yield possible paths of the shared library, the surest first."""
    for path in mapped_libraries():
        if os.path.basename(path).startswith("libpython3."):
            yield path
    names = [sysconfig.get_config_var("INSTSONAME"), sysconfig.get_config_var("LDLIBRARY")]
    folders = [sysconfig.get_config_var("LIBDIR"), os.path.join(sys.base_prefix, "lib")]
    multiarch = sysconfig.get_config_var("MULTIARCH")
    if multiarch:
        folders.append(os.path.join("/usr/lib", multiarch))
    names.append("libpython%d.%d.so.1.0" % sys.version_info[:2])
    for folder in folders:
        for name in names:
            if folder and name and ".so" in name:
                yield os.path.join(folder, name)


print(
    json.dumps(
        {
            "implementation": platform.python_implementation(),
            "version": platform.python_version(),
            "version_info": list(sys.version_info[:2]),
            "free_threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
            "cache_tag": getattr(getattr(sys, "implementation", None), "cache_tag", None),
            "executable": sys.executable,
            "library": next((path for path in candidates() if os.path.isfile(path)), None),
        }
    )
)
