"""A client of the boot loop: starts a real interpreter on one end of a socket pair and talks to it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PACKAGE_PARENT = Path(__file__).resolve().parents[2] / "shell" / "python"
LIMITS = {
    "text_chars": 8192,
    "repr_chars": 1024,
    "traceback_chars": 4096,
    "results": 100,
    "display_items": 20,
    "json_depth": 6,
    "description_chars": 1024,
}
_REPLY_SECONDS = 30.0


@dataclass
class Settings:
    """What a test changes about the start."""

    limits: dict[str, int] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    start: dict[str, Any] = field(default_factory=dict)
    directory: Path | None = None


class Conversation:
    """One server process. Its output goes to files, so that it can never block on a pipe."""

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        # Whether requests say that their client can be asked.
        self.can_ask = False
        self._number = 0
        self._scratch = tempfile.TemporaryDirectory()
        self.scratch = Path(self._scratch.name)
        self._files = [(self.scratch / name).open("wb") for name in ("stdout", "stderr")]
        ours, theirs = socket.socketpair()
        self._socket = ours
        ours.settimeout(_REPLY_SECONDS)
        code = f"import sys; sys.path.append({str(PACKAGE_PARENT)!r})\n"
        code += f"from ipymcp.boot import main; main({theirs.fileno()})"
        self.process = subprocess.Popen(
            [sys.executable, "-P", *self.settings.options, "-c", code],
            stdin=subprocess.DEVNULL,
            stdout=self._files[0],
            stderr=self._files[1],
            pass_fds=[theirs.fileno()],
            env=self._environment(),
            cwd=self.settings.directory or self.scratch,
        )
        theirs.close()
        self.hello = self._receive()

    def _environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}
        return {"HOME": str(self.scratch), **kept, **self.settings.environment}

    def __enter__(self) -> Conversation:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> dict[str, Any]:
        """Sends the start operation; its value."""
        args: dict[str, Any] = {
            "limits": LIMITS | self.settings.limits,
            "preload_modules": [],
            "module_aliases": {},
            "library_paths": [],
            "environment": False,
            "site": "",
            "scratch": str(self.scratch / "scratch"),
            "log_fd": 2,
            "stack_signal": signal.SIGRTMAX,
            "stack_fd": 2,
        }
        (self.scratch / "scratch").mkdir(exist_ok=True)
        return self.ask("start", **args | self.settings.start)

    def ask(self, op: str, **args: Any) -> dict[str, Any]:
        """One operation; its value."""
        self.send(op, **args)
        return self.answer()

    def answer(self) -> dict[str, Any]:
        """The value of the reply to the last request."""
        reply = self.reply()
        assert "value" in reply, reply
        value: dict[str, Any] = reply["value"]
        return value

    def execute(self, code: str) -> dict[str, Any]:
        """Runs a cell."""
        return self.ask("execute", code=code)

    def scratch_run(self, code: str) -> dict[str, Any]:
        """Runs a cell whose names do not stay."""
        return self.ask("execute", code=code, persist=False)

    def result(self, code: str) -> Any:
        """The result of a cell that has to work."""
        answer = self.execute(code)
        assert answer["ok"], answer["error"]
        return answer["result"]

    def failure(self, code: str) -> dict[str, Any]:
        """The error of a cell that has to fail."""
        answer = self.execute(code)
        assert not answer["ok"], answer
        error: dict[str, Any] = answer["error"]
        return error

    def send(self, op: str, **args: Any) -> None:
        """Sends a request without waiting for the reply."""
        self._number += 1
        request = {"id": self._number, "op": op, "args": args, "can_ask": self.can_ask}
        self.send_frame(json.dumps(request).encode())

    def question(self) -> dict[str, Any]:
        """The next frame, which has to be a question of the last request."""
        frame = self._receive()
        assert (frame["id"], set(frame)) == (self._number, {"id", "ask"}), frame
        question: dict[str, Any] = frame["ask"]
        return question

    def withdrawn(self) -> int:
        """The next frame, which has to give a question up; its number."""
        frame = self._receive()
        assert (frame["id"], set(frame)) == (self._number, {"id", "withdraw"}), frame
        number: int = frame["withdraw"]
        return number

    def reply_to_question(self, number: int, **said: str) -> None:
        """Answers a question, with text or a refusal."""
        self.send_frame(json.dumps({"answer": {"number": number, **said}}).encode())

    def send_frame(self, frame: bytes) -> None:
        """Sends any bytes as a frame."""
        self._socket.sendall(struct.pack(">Q", len(frame)) + frame)

    def reply(self) -> dict[str, Any]:
        """The next frame, which has to be the reply to the last request."""
        reply = self._receive()
        assert reply["id"] == self._number, reply
        return reply

    def interrupt(self) -> None:
        """What the embedding process does: its signal for the main thread."""
        self.process.send_signal(signal.SIGSTKFLT)

    def stdout(self) -> str:
        """Everything written to descriptor 1 so far."""
        return (self.scratch / "stdout").read_text("utf-8")

    def stderr(self) -> str:
        """Everything written to descriptor 2 so far."""
        return (self.scratch / "stderr").read_text("utf-8")

    def end_stream(self) -> int:
        """Ends our side of the stream and waits for the process; its status."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)
        return self.process.wait(timeout=_REPLY_SECONDS)

    def close(self) -> None:
        """Ends the process, however it is, and frees what it used."""
        try:
            self.end_stream()
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._socket.close()
        for file in self._files:
            file.close()
        self._scratch.cleanup()

    def _receive(self) -> dict[str, Any]:
        (size,) = struct.unpack(">Q", self._read(8))
        message: dict[str, Any] = json.loads(self._read(size).decode("utf-8", "strict"))
        return message

    def _read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            piece = self._socket.recv(min(size - len(data), 1 << 20))
            assert piece, f"the server ended: {self.stderr()}"
            data += piece
        return bytes(data)
