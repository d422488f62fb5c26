"""Canonical forms of PEP 508 requirements.

Run by the server in a process of its own, with the directory of `packaging` as its argument. Reads a JSON array of
strings and prints one of objects: `{"canonical": …}` or `{"problem": …}`.
"""

import json
import sys

sys.path.insert(0, sys.argv[1])

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name, canonicalize_version


def canonical_specifier(specifier):
    """Return the text of one clause, its version in canonical form where that means the same."""
    if specifier.operator == "===" or specifier.version.endswith(".*"):
        return str(specifier)
    version = canonicalize_version(specifier.version, strip_trailing_zero=specifier.operator != "~=")
    return specifier.operator + version


def canonical(text):
    """Return one requirement in its canonical form."""
    requirement = Requirement(text)
    requirement.name = canonicalize_name(requirement.name)
    requirement.extras = {canonicalize_name(extra) for extra in requirement.extras}
    clauses = sorted({canonical_specifier(specifier) for specifier in requirement.specifier})
    requirement.specifier = SpecifierSet(",".join(clauses))
    return str(requirement)


def answer(text):
    """Return what is printed about one requirement."""
    try:
        return {"canonical": canonical(text)}
    except InvalidRequirement as error:
        return {"problem": str(error).splitlines()[0]}


print(json.dumps([answer(text) for text in json.load(sys.stdin)]))
