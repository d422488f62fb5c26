"""Answers each request with what it evaluates to, or with the name of the exception.

Requests come on the descriptor in argv[1], or on this thread while it is lent.
"""

import _ipymcp
import atexit
import ctypes
import faulthandler
import os
import queue
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

connection = socket.socket(fileno=int(sys.argv[1]))
running = lent = False
awaited, wake = os.pipe()
quiet_until = 0.0
# Signals that Go's runtime keeps, or the program under test routes.
kept = "SIGURG SIGPROF SIGSEGV SIGBUS SIGFPE SIGILL SIGTRAP SIGABRT SIGSYS SIGTERM SIGHUP".split()
seen = []
stood_by = []
pair = []


def on_interrupt(*_):
    global quiet_until
    now = time.monotonic()
    if running and now > quiet_until:
        quiet_until = now + 0.02  # the handling of the first must not be interrupted by a second
        raise KeyboardInterrupt


def fork_and_terminate():
    pid = os.fork()
    if pid == 0:
        time.sleep(600)
        os._exit(0)
    os.kill(pid, signal.SIGTERM)
    return os.WTERMSIG(os.waitpid(pid, 0)[1])


def fork_and_terminate_at_once():
    for _ in range(300):
        pid = os.fork()
        if pid == 0:
            time.sleep(600)
            os._exit(0)
        os.kill(pid, signal.SIGTERM)
        assert os.WTERMSIG(os.waitpid(pid, 0)[1]) == signal.SIGTERM


def fork_and_return():
    pid = os.fork()
    return pid and os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def exec_and_terminate():
    child = subprocess.Popen([sys.executable, "-c", "import time; print(flush=True); time.sleep(600)"], stdout=subprocess.PIPE)
    child.stdout.readline()
    child.terminate()
    return child.wait()


def stop():
    connection.close()
    sys.exit(0)


def receive(size):
    data = bytearray(size)
    view = memoryview(data)
    while view:
        count = connection.recv_into(view)
        if count == 0:
            sys.exit(0)
        view = view[count:]
    return bytes(data)


def send(frame):
    connection.sendall(struct.pack(">Q", len(frame)) + frame)


def ask(question):
    (_ipymcp.emit if lent else send)(b"ask " + question.encode())
    return receive(struct.unpack(">Q", receive(8))[0]).decode()


def evaluate(code):
    global running
    try:
        running = True
        answer = str(eval(code))
        running = False
    except (Exception, KeyboardInterrupt) as error:
        running = False
        answer = type(error).__name__
    return answer.encode()


signal.signal(signal.SIGSTKFLT, on_interrupt)
signal.signal(signal.SIGINT, signal.default_int_handler)
while True:
    code = receive(struct.unpack(">Q", receive(8))[0])
    if code == b'{"lend":true}':
        lent = True
        _ipymcp.lend(lambda code: (evaluate(code), awaited), lambda end: stood_by.append(os.read(end, 1)), awaited)
        lent = False
    else:
        send(evaluate(code))
