from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from conversation import Conversation


@pytest.fixture(scope="module")
def talk() -> Iterator[Conversation]:
    with Conversation() as conversation:
        assert conversation.start() == {}
        conversation.can_ask = True
        yield conversation


def asked(talk: Conversation, code: str, *answers: str) -> dict[str, Any]:
    """Runs a cell that asks as many questions as there are answers."""
    talk.send("execute", code=code)
    for answer in answers:
        talk.reply_to_question(talk.question()["number"], text=answer)
    return talk.answer()


def value(talk: Conversation, code: str, *answers: str) -> Any:
    answer = asked(talk, code, *answers)
    assert answer["ok"], answer["error"]
    return answer["result"]


def test_a_question_carries_the_prompt_and_what_was_printed_is_there_before(talk: Conversation) -> None:
    before = len(talk.stdout())
    talk.send("execute", code="print('who', end='?')\nname = input('name: ')\nprint('hello', name)\nname")
    question = talk.question()
    assert (question["prompt"], question["secret"]) == ("name: ", False)
    assert talk.stdout()[before:] == "who?name: "
    talk.reply_to_question(question["number"], text="Zoë ✓")
    assert talk.answer()["result"] == "Zoë ✓"
    assert talk.stdout()[before:] == "who?name: \nhello Zoë ✓\n"


def test_a_secret_is_asked_for_and_never_printed(talk: Conversation) -> None:
    before = len(talk.stdout())
    talk.send("execute", code="import getpass\nlen(getpass.getpass())")
    question = talk.question()
    assert (question["prompt"], question["secret"]) == ("Password: ", True)
    talk.reply_to_question(question["number"], text="hunter2")
    assert talk.answer()["result"] == 7
    assert talk.stdout()[before:] == "Password: \n"
    assert "hunter2" not in talk.stderr()


@pytest.mark.parametrize(
    ("code", "prompt"),
    [
        ("input()", ""),
        ("input(5)", "5"),
        ("input(None)", "None"),
        ("import builtins; builtins.input('b')", "b"),
        ("import getpass, io; getpass.getpass('g', io.StringIO())", "g"),
        ("input('lone ' + chr(0xdcaf))", "lone \\udcaf"),
        ("import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()): answer = input('r')\nanswer", "r"),
        ("import asyncio\nasync def f(): return input('co')\nawait f()", "co"),
    ],
)
def test_prompts_of_all_kinds(talk: Conversation, code: str, prompt: str) -> None:
    talk.send("execute", code=code)
    question = talk.question()
    assert question["prompt"] == prompt
    talk.reply_to_question(question["number"], text="yes")
    assert talk.answer()["result"] == "yes"


@pytest.mark.parametrize("text", ["", "x" * 1_000_000, "two\nlines", "\0", "\\udcaf"])
def test_answers_of_all_kinds(talk: Conversation, text: str) -> None:
    assert value(talk, "answer = input()\nlen(answer), hash(answer) == hash(answer[:])", text) == [len(text), True]


def test_questions_in_a_row_and_of_functions(talk: Conversation) -> None:
    assert value(talk, "def add(): return int(input('a')) + int(input('b'))\nadd()", "1", "2") == 3
    talk.send("call_function", name="add", arguments={})
    for answer in ("30", "4"):
        talk.reply_to_question(talk.question()["number"], text=answer)
    assert talk.answer()["result"] == 34


@pytest.mark.parametrize("call", ["input('x')", "getpass.getpass('x')"])
def test_a_refusal_is_an_eof_error(talk: Conversation, call: str) -> None:
    talk.send("execute", code=f"import getpass\n{call}")
    talk.reply_to_question(talk.question()["number"], refusal="was declined by the user")
    error = talk.answer()["error"]
    assert (error["error_type"], error["message"]) == (
        "EOFError",
        f"{call.split('(')[0].split('.')[-1]}() was declined by the user",
    )
    assert "ipymcp" not in error["traceback"]
    assert "Unanswered" not in error["traceback"]
    assert error["location"]["line"] == 2


@pytest.mark.parametrize("code", ["input('x')", "async def f(): return input('x')\nawait f()"])
def test_an_interruption_withdraws_the_question(talk: Conversation, code: str) -> None:
    talk.send("execute", code=code)
    number = talk.question()["number"]
    time.sleep(0.02)  # from the question into the wait for its answer
    talk.interrupt()
    assert talk.withdrawn() == number
    assert talk.answer()["error"]["error_type"] == "KeyboardInterrupt"
    talk.reply_to_question(number, text="late")
    assert talk.execute("1 + 1")["result"] == 2


def test_a_late_answer_is_not_taken_for_the_next_one(talk: Conversation) -> None:
    talk.send(
        "execute", code="try:\n    input('first')\nexcept KeyboardInterrupt:\n    answer = input('second')\nanswer"
    )
    first = talk.question()["number"]
    time.sleep(0.02)  # from the question into the wait for its answer
    talk.interrupt()
    assert talk.withdrawn() == first
    second = talk.question()["number"]
    assert second != first
    talk.reply_to_question(first, text="late")
    talk.reply_to_question(first, refusal="late")
    talk.reply_to_question(second, text="right")
    assert talk.answer()["result"] == "right"


def test_interruptions_at_any_moment_lose_no_frame(talk: Conversation) -> None:
    for round_number in range(100):
        talk.send("execute", code="said = None\nsaid = input('x')")
        number = talk.question()["number"]
        if round_number % 2:
            talk.interrupt()
        talk.reply_to_question(number, text="y" * 300_000)
        if not round_number % 2:
            talk.interrupt()
        frame = talk._receive()
        if "withdraw" in frame:
            frame = talk._receive()
        error = frame["value"]["error"]
        assert error is None or error["error_type"] == "KeyboardInterrupt"
        assert talk.result("said and len(said)") in ([300_000] if error is None else [None, 300_000])


def test_a_signal_handler_of_the_users_ends_a_question(talk: Conversation) -> None:
    talk.send(
        "execute",
        code="import signal\ndef ring(*_): raise TimeoutError('too slow')\n"
        "signal.signal(signal.SIGALRM, ring)\nsignal.setitimer(signal.ITIMER_REAL, 0.05)\ninput('quick!')",
    )
    number = talk.question()["number"]
    assert talk.withdrawn() == number
    assert talk.answer()["error"]["error_type"] == "TimeoutError"


def test_a_signal_handler_cannot_ask_while_a_question_is_open(talk: Conversation) -> None:
    talk.send(
        "execute",
        code="import signal\nsaid = []\ndef ring(*_):\n    try: input('nested')\n"
        "    except EOFError as error: said.append(str(error))\n    print('rung')\n"
        "signal.signal(signal.SIGALRM, ring)\nsignal.setitimer(signal.ITIMER_REAL, 0.02)\n[input('outer'), *said]",
    )
    number = talk.question()["number"]
    deadline = time.monotonic() + 20
    while not talk.stdout().endswith("rung\n"):
        assert time.monotonic() < deadline
        time.sleep(0.002)
    talk.reply_to_question(number, text="in")
    assert talk.answer()["result"] == ["in", "input() cannot ask while another question is open"]


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (
            "import threading\ndef try_it():\n    try: input('t')\n    except EOFError as error: said = str(error)\n"
            "    globals()['said'] = said\nt = threading.Thread(target=try_it); t.start(); t.join()\nsaid",
            "input() cannot ask from a thread",
        ),
        (
            "import asyncio\nawait asyncio.to_thread(try_it)\nsaid",
            "input() cannot ask from a thread",
        ),
        (
            "import os\nr, w = os.pipe()\nif os.fork() == 0:\n    try_it()\n    os.write(w, said.encode())\n"
            "    os._exit(0)\nos.wait()\nos.read(r, 999).decode()",
            "input() cannot ask from a child process",
        ),
    ],
)
def test_only_the_main_thread_of_the_server_asks(talk: Conversation, code: str, why: str) -> None:
    assert value(talk, code).startswith(why)


def test_a_background_task_cannot_ask_between_requests(fresh: Conversation) -> None:
    fresh.can_ask = True
    fresh.execute(
        "import asyncio\nsaid = []\nasync def later():\n    await asyncio.sleep(0)\n"
        "    try: input('b')\n    except EOFError as error: said.append(str(error))\n"
        "task = asyncio.create_task(later())"
    )
    deadline = time.monotonic() + 20
    while not (said := fresh.result("said")):
        assert time.monotonic() < deadline
    assert said[0].startswith("input() cannot ask between two calls")


def test_the_end_of_the_stream_ends_a_question(fresh: Conversation) -> None:
    fresh.can_ask = True
    fresh.send("execute", code="try:\n    input('x')\nexcept EOFError as error:\n    print(error)")
    fresh.question()
    assert fresh.end_stream() == 0
    assert fresh.stdout() == "xinput() got no answer: the server ends\n"


@pytest.mark.parametrize(
    ("code", "result"),
    [
        ("sys.stdin = io.StringIO('one\\ntwo')\n[input('p'), input()]", ["one", "two"]),
        ("sys.stdin = io.StringIO('secret\\n')\ngetpass.getpass('p', sys.stdout)", "secret"),
        ("sys.stdin.readline()", ""),
        ("sys.stdin = sys.__stdin__\nsys.stdin.read()", ""),
    ],
)
def test_a_stream_of_the_users_is_read(talk: Conversation, code: str, result: Any) -> None:
    assert value(talk, f"import getpass, io, sys, warnings\nwarnings.simplefilter('ignore')\n{code}") == result


@pytest.mark.parametrize(
    ("code", "kind", "said"),
    [
        ("import io, sys; sys.stdin = io.StringIO()\ninput()", "EOFError", "EOF when reading a line"),
        ("import sys; sys.stdin = None\ninput()", "RuntimeError", "lost sys.stdin"),
        ("import sys; sys.stdout = None\ninput()", "RuntimeError", "lost sys.stdout"),
        ("import sys; del sys.stderr\ninput()", "RuntimeError", "lost sys.stderr"),
        ("class P:\n    def __str__(self): return 1/0\ninput(P())", "ZeroDivisionError", "division by zero"),
        ("input(1, 2)", "TypeError", "positional argument"),
        ("input(prompt='x')", "TypeError", "prompt"),
        ("breakpoint()", "EOFError", "no terminal"),
        (
            "import os; os.environ['PYTHONBREAKPOINT'] = 'ipdb.set_trace'\n"
            "try: breakpoint()\nfinally: del os.environ['PYTHONBREAKPOINT']",
            "EOFError",
            "no terminal",
        ),
        ("import sys; sys.__breakpointhook__()\nx = 1", "RuntimeError", "no terminal"),
        ("import pdb; pdb.set_trace()\nx = 1", "RuntimeError", "no terminal"),
        ("def f():\n    pdb.set_trace()\n    return 1\nf()", "RuntimeError", "no terminal"),
        ("try: 1/0\nexcept Exception as e: pdb.post_mortem(e.__traceback__)", "RuntimeError", "no terminal"),
        ("pdb.run('x = 1')", "RuntimeError", "no terminal"),
        ("pdb.runcall(lambda: 1)", "RuntimeError", "no terminal"),
        ("get_ipython().run_cell('1/0')\npdb.pm()", "RuntimeError", "no terminal"),
        ("from IPython.core.debugger import set_trace; set_trace()\nx = 1", "RuntimeError", "no terminal"),
        ("from IPython.terminal.debugger import set_trace; set_trace()\nx = 1", "EOFError", "no terminal"),
        ("%debug", "EOFError", "no terminal"),
        ("%debug 1 + 1", "EOFError", "no terminal"),
        ("%%debug\nx = 1", "EOFError", "no terminal"),
        ("%pdb on\n1/0", "ZeroDivisionError", "division by zero"),
        ("%pdb off\n1/0", "ZeroDivisionError", "division by zero"),
        ("import code; code.interact()", "RuntimeError", "no terminal"),
        ("import IPython; IPython.embed()", "EOFError", "no terminal"),
        ("import IPython; IPython.start_ipython()", "EOFError", "no terminal"),
        ("import curses; curses.wrapper(print)", "OSError", "no terminal"),
    ],
)
def test_what_asks_nobody_fails_at_once(talk: Conversation, code: str, kind: str, said: str) -> None:
    error = talk.failure(code)
    assert error["error_type"] == kind
    assert said in error["message"]


def test_a_loop_of_commands_ends_where_nobody_can_be_asked(shared: Conversation) -> None:
    error = shared.failure("from cmd import Cmd\nCmd().cmdloop()")
    assert error["error_type"] == "RuntimeError"
    assert error["message"].startswith("Cmd.cmdloop() cannot ask: the client offers no elicitation")


def test_a_loop_of_commands_ends_where_a_person_declines(talk: Conversation) -> None:
    talk.can_ask = True
    talk.send("execute", code="import cmd; cmd.Cmd().cmdloop()")
    talk.reply_to_question(talk.question()["number"], refusal="was declined by the user")
    error = talk.answer()["error"]
    assert (error["error_type"], error["message"]) == ("RuntimeError", "Cmd.cmdloop() was declined by the user")


def test_an_exception_that_hides_why_nobody_was_asked_is_explained(shared: Conversation) -> None:
    hides = "class Abort(Exception): pass\ntry: input()\nexcept EOFError: raise Abort from None"
    assert shared.failure(hides)["traceback"].endswith(
        "Abort\ninput() cannot ask: the client offers no elicitation for "
        "this call; put the value into a variable instead"
    )
    assert shared.failure(hides.replace(" from None", ""))["traceback"].endswith("Abort")
    assert shared.failure("try: input()\nexcept EOFError: pass\nraise Abort from None")["traceback"].endswith("Abort")


def test_input_looks_like_pythons(talk: Conversation) -> None:
    code = (
        "import inspect, getpass\n[str(inspect.signature(input)), input.__name__, input.__module__, input.__doc__[:28]]"
    )
    assert talk.result(code) == ["(prompt='', /)", "input", "builtins", "Read a string from standard "]
    assert talk.result("str(inspect.signature(getpass.getpass))").startswith("(prompt='Password: ', stream=None")


def test_auditors_hear_of_questions(fresh: Conversation) -> None:
    fresh.can_ask = True
    fresh.execute(
        "import sys\nheard = []\nsys.addaudithook(lambda n, a: heard.append([n, *a]) if 'input' in n else None)"
    )
    asked(fresh, "input('p'); input()", "one", "two")
    assert fresh.result("heard") == [
        ["builtins.input", "p"],
        ["builtins.input/result", "one"],
        ["builtins.input", None],
        ["builtins.input/result", "two"],
    ]


def test_tracing_of_the_users_goes_on_behind_a_question(talk: Conversation) -> None:
    code = (
        "import sys\nseen = set()\ndef trace(frame, event, arg): seen.add(frame.f_code.co_name)\ndef after(): pass\n"
        "sys.settrace(trace)\ninput('x')\nafter()\nsys.settrace(None)\n'after' in seen, '_exchange' in seen"
    )
    assert value(talk, code, "y") == [True, False]


@pytest.mark.parametrize(("answers", "kept"), [(("y",), False), (("what?", "n"), True), (("",), True)])
def test_ipython_asks_its_own_questions(talk: Conversation, answers: tuple[str, ...], kept: bool) -> None:
    talk.execute("precious = 1")
    asked(talk, "%reset", *answers)
    assert talk.result("'precious' in globals()") is kept
