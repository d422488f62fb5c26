package tests

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// Arguments become what the annotations promise; what does not fit is refused with its path, by both ways to a tool.
func TestDynamic_Arguments(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.succeed(`
import datetime, enum, pathlib, uuid
from dataclasses import dataclass
from typing import Annotated, Literal, NotRequired, TypedDict
class Color(enum.Enum):
    RED = "red"
@dataclass
class Point:
    x: float
    y: float = 0.0
class Line(TypedDict):
    start: Point
    color: NotRequired[Color]
def show(
    n: int = 0, r: list[float] = [], s: "list[set[int]]" = [], d: dict[str, tuple[int, ...]] = {},
    u: int | float | None = None, l: Literal[1, "a"] = "a", when: datetime.datetime | None = None,
    raw: bytes | None = None, path: pathlib.Path | None = None,
    line: Line | None = None, text: Annotated[str, "what to show"] = "",
):
    return repr([v for v in (n, r, s, d, u, l, when, raw, path, line, text) if v not in (0, [], {}, None, "", "a")])`)
	s.register("show")
	for _, test := range []struct{ arguments, want string }{
		{`{"n":1e2,"r":[1,2.5],"s":[[1,2],[]]}`, `[100, [1.0, 2.5], [{1, 2}, set()]]`},
		{`{"n":123456789012345678901234567890}`, `[123456789012345678901234567890]`},
		{`{"d":{"a":[1]},"u":5,"l":1.0}`, `[{'a': (1,)}, 5, 1]`},
		{`{"u":1.5,"when":"2024-01-31T12:30:00"}`, `[1.5, datetime.datetime(2024, 1, 31, 12, 30)]`},
		{`{"raw":"aGk=","path":"a/b","text":"日本"}`, `[b'hi', PosixPath('a/b'), '日本']`},
		{`{"line":{"start":{"x":1},"color":"red"}}`, `[{'start': Point(x=1.0, y=0.0), 'color': <Color.RED: 'red'>}]`},
		{`{"n":true}`, "/n"},
		{`{"r":[1,"x"]}`, "/r/1"},
		{`{"s":[[1,1]]}`, "/s/0"},
		{`{"d":{"a":[null]}}`, "/d/a/0"},
		{`{"l":"b"}`, "/l"},
		{`{"when":"tomorrow"}`, "/when"},
		{`{"raw":"%"}`, "/raw"},
		{`{"line":{"start":{}}}`, "/line/start/x"},
		{`{"nothing":1}`, "/nothing"},
	} {
		for _, got := range []toolOutcome{
			s.use("show", json.RawMessage(test.arguments)),
			s.use("call_function", map[string]any{"name": "show", "arguments": test.arguments}),
		} {
			if strings.HasPrefix(test.want, "/") {
				if got.OK || got.Error.Code != "invalid_arguments" || !strings.Contains(got.Error.Message, test.want+": ") {
					t.Errorf("%s: %v, %v", test.arguments, got, got.Error)
				}
			} else if want, _ := json.Marshal(test.want); !got.OK || !equalJSON(t, string(got.Result), string(want)) {
				t.Errorf("%s: %s, %v", test.arguments, got.Result, got.Error)
			}
		}
	}
}

// A dynamic tool is cancelled as call_function is, and the next call works.
func TestDynamic_Cancel(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.succeed(`
import time
state = []
def slow(n: int):
    state.append("began")
    try: time.sleep(n)
    finally: state.append("ended")`)
	s.register("slow")
	begun := time.Now()
	id := s.sendCall("slow", map[string]any{"n": 60})
	waiting := s.sendCall("slow", map[string]any{"n": 0})
	s.cancel(waiting)
	s.cancel(id)
	s.equals("state.count('ended') == state.count('began') <= 1", "true")
	s.neverAnswered(id)
	s.neverAnswered(waiting)
	if took := time.Since(begun); took > 30*time.Second {
		t.Errorf("the cancelled call went on for %v", took)
	}
	if got := s.use("slow", map[string]any{"n": 0}); got.String() != "null" {
		t.Errorf("after the cancellation slow answers %v", got)
	}
}

// Calls, registrations, removals and resets at once: each answer is that of one moment.
func TestDynamic_Concurrency(t *testing.T) {
	t.Parallel()
	path, err := raceBinary()
	if err != nil {
		t.Fatal(err)
	}
	s := connect(t, options{binary: path})
	define := func(version int) string {
		// Two versions of one name: what fits one fits the other not, and each says which it is.
		return fmt.Sprintf("def f(v%d: int): return [%d, v%d]", version, version, version)
	}
	var calls []string
	wanted := make(map[string]string)
	for round := range 40 {
		version := round % 2
		calls = append(calls, s.sendCell(define(version)))
		calls = append(calls, s.sendCall("register_tool", map[string]any{"name": "f"}))
		for _, asked := range []int{0, 1} {
			arguments := map[string]any{fmt.Sprint("v", asked): round}
			id := s.sendCall("call_function", map[string]any{"name": "f", "arguments": arguments})
			calls = append(calls, id)
			wanted[id] = "invalid_arguments"
			if asked == version {
				wanted[id] = fmt.Sprintf("[%d,%d]", version, round)
			}
		}
		s.send("tools/list", nil)
		switch round % 4 {
		case 1:
			calls = append(calls, s.sendCall("unregister_tool", map[string]any{"names": []string{"f"}}))
		case 2:
			calls = append(calls, s.sendCall("remove", map[string]any{"names": []string{"f"}}))
		case 3:
			calls = append(calls, s.sendCall("reset", nil))
		}
	}
	for _, id := range calls {
		a := s.toolAnswer(id)
		if want, is := wanted[id]; is {
			got := decodeInto[toolOutcome](t, a.Structured)
			if text := strings.ReplaceAll(got.String(), " ", ""); text != want {
				t.Errorf("call %s: %s, want %s (%v)", id, text, want, got.Error)
			}
		}
	}
	if got := s.dynamicTools(); got != "" {
		t.Errorf("after the last reset the tools are %q", got)
	}
	s.works("the storm")
}

// A thread that rebinds the name all the time: a call goes to what its arguments were checked for, once, or to nothing.
func TestDynamic_ReboundByAThread(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.succeed(`
import threading, time
count = 0
def one(a: int):
    global count
    count += 1
    return ["one", a]
def two(b: str): return ["two", b]
f = one
go = True
def spin():
    global f
    while go:
        f = two
        time.sleep(0.0001)
        f = one
        time.sleep(0.0001)
threading.Thread(target=spin, daemon=True).start()`)
	answered := 0
	refusals := []string{"stale_registration", "invalid_arguments", "argument_binding_error"}
	for i := range 100 {
		s.tryRegister(map[string]any{"name": "f"})
		switch got := s.use("call_function", map[string]any{"name": "f", "arguments": map[string]any{"a": i}}); {
		case got.OK:
			answered++
			if want := fmt.Sprintf(`["one",%d]`, i); strings.ReplaceAll(string(got.Result), " ", "") != want {
				t.Errorf("call %d gave %s", i, got.Result)
			}
		case !slices.Contains(refusals, got.Error.Code):
			t.Errorf("call %d: %v", i, got.Error)
		}
	}
	s.succeed("go = False")
	s.equals("count", fmt.Sprint(answered))
}
