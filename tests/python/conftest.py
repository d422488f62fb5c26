"""Fixtures: the limits of the tests, and conversations with a server process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from conversation import LIMITS, Conversation, Settings
from ipymcp.limits import Limits


@pytest.fixture
def limits() -> Limits:
    return Limits(**LIMITS)


@pytest.fixture(scope="module")
def shared() -> Iterator[Conversation]:
    """A started server that the tests of one module share; each test uses names of its own."""
    with Conversation() as conversation:
        assert conversation.start() == {}
        yield conversation


@pytest.fixture
def fresh() -> Iterator[Conversation]:
    """A started server for one test."""
    with Conversation() as conversation:
        assert conversation.start() == {}
        yield conversation


@pytest.fixture
def converse() -> Iterator[Callable[[Settings], Conversation]]:
    """Makes servers that are not started yet."""
    with ExitStack() as stack:
        yield lambda settings: stack.enter_context(Conversation(settings))
