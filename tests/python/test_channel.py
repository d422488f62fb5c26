from __future__ import annotations

import json
import socket
import sys
from collections.abc import Iterator

import pytest

from ipymcp.channel import Channel, RequestError, decode, encode


@pytest.fixture
def pair() -> Iterator[tuple[Channel, socket.socket]]:
    ours, theirs = socket.socketpair()
    channel = Channel(ours.detach())
    with theirs:
        yield channel, theirs
    channel.abandon()


def frame(data: bytes) -> bytes:
    return len(data).to_bytes(8, "big") + data


def test_a_request_may_arrive_in_pieces(pair: tuple[Channel, socket.socket]) -> None:
    channel, other = pair
    data = frame(b'{"id":1,"op":"list","args":{}}')
    other.sendall(data + data[:11])
    assert channel.receive() == {"id": 1, "op": "list", "args": {}}
    other.sendall(data[11:])
    assert channel.receive() == {"id": 1, "op": "list", "args": {}}


def test_a_message_is_a_length_and_utf8_json(pair: tuple[Channel, socket.socket]) -> None:
    channel, other = pair
    channel.send({"id": 1, "value": {"text": "✓"}})
    data = other.recv(1000)
    assert data == frame('{"id":1,"value":{"text":"✓"}}'.encode())


@pytest.mark.parametrize("sent", [b"", b"\0\0\0", frame(b"{}")[:-1]])
def test_the_end_of_the_stream_is_none_wherever_it_comes(pair: tuple[Channel, socket.socket], sent: bytes) -> None:
    channel, other = pair
    other.sendall(sent)
    other.shutdown(socket.SHUT_WR)
    assert channel.receive() is None


@pytest.mark.parametrize(
    ("data", "number"),
    [
        (b"", 0),
        (b"nonsense", 0),
        (b"[]", 0),
        (b'{"id": 12, "op": ', 12),
        (b'{"id":7,"args":' + b"[" * 200_000 + b"]" * 200_000 + b"}", 7),
        (b"\xff", 0),
    ],
    ids=["empty", "nonsense", "array", "half", "deep", "no utf-8"],
)
def test_a_frame_that_is_no_request_is_said_with_its_number(data: bytes, number: int) -> None:
    with pytest.raises(RequestError) as caught:
        decode(data)
    assert caught.value.number == number


def test_integers_pass_in_full_both_ways() -> None:
    before = sys.get_int_max_str_digits()
    message = {"n": 10**8000, "m": -(2**63)}
    data = encode(message)
    assert len(data) > 8000
    assert decode(data) == message
    assert sys.get_int_max_str_digits() == before


def test_no_lone_surrogate_leaves() -> None:
    data = encode({"k\udcaf": ["\ud83d"]})
    assert json.loads(data.decode("utf-8", "strict")) == {"k\\udcaf": ["\\ud83d"]}


def test_what_is_not_json_is_refused() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        encode({"n": float("nan")})
