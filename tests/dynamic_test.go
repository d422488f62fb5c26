package tests

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// registration is the answer of register_tool.
type registration struct {
	OK           bool
	Registration *struct {
		Name        string
		ToolName    string `json:"tool_name"`
		Description string
		Cut         bool            `json:"description_truncated"`
		InputSchema json.RawMessage `json:"input_schema"`
		Fingerprint string          `json:"schema_fingerprint"`
		Revision    int64
	}
	Error *failure
	Note  string
}

// toolOutcome is the answer of a dynamic tool and of call_function.
type toolOutcome struct {
	OK     bool
	Name   string
	Result json.RawMessage
	Error  *failure
}

func (o toolOutcome) String() string {
	if o.OK {
		return string(o.Result)
	}
	return o.Error.Code
}

func (s *server) tryRegister(arguments map[string]any) registration {
	s.t.Helper()
	return decodeInto[registration](s.t, s.call("register_tool", arguments).Structured)
}

// register registers a name that must be accepted.
func (s *server) register(name string) registration {
	s.t.Helper()
	r := s.tryRegister(map[string]any{"name": name})
	if !r.OK {
		s.t.Fatalf("register_tool of %s failed: %v", name, r.Error)
	}
	return r
}

func (s *server) use(tool string, arguments any) toolOutcome {
	s.t.Helper()
	return decodeInto[toolOutcome](s.t, s.call(tool, arguments).Structured)
}

// unregister returns the revision.
func (s *server) unregister(names ...string) int64 {
	s.t.Helper()
	a := decodeInto[struct{ Revision int64 }](s.t, s.call("unregister_tool", map[string]any{"names": names}).Structured)
	return a.Revision
}

// dynamicTools are the tools behind the stable ones, as clients list them.
func (s *server) dynamicTools() string {
	s.t.Helper()
	names := s.listedTools()
	return strings.Join(names[slices.Index(names, "interrupt")+1:], " ")
}

func (s *server) listedTools() []string {
	s.t.Helper()
	listed := decodeInto[struct{ Tools []struct{ Name string } }](s.t, s.promptly("tools/list", nil))
	var names []string
	for _, tool := range listed.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// announcements counts the list_changed notifications so far.
func (s *server) announcements() int {
	count := 0
	for _, n := range s.notified() {
		if n.Method == "notifications/tools/list_changed" {
			count++
		}
	}
	return count
}

// announced waits for one more announcement than there were.
func (s *server) announced(before int) {
	s.t.Helper()
	eventually(s.t, "the announcement", func() bool { return s.announcements() > before })
}

// stays is how long the tests wait for an announcement that must not come: far more than the server collects changes.
const stays = 200 * time.Millisecond

// Every way in which the signature of a registered function can change, and some in which it does not.
func TestDynamic_Staleness(t *testing.T) {
	t.Parallel()
	const stale = "stale_registration"
	s := connect(t, options{})
	for i, test := range []struct{ define, change, want string }{
		{"def f(a: int, b: int = 2): return a", "def f(a: int, b: int = 2, c: int = 3): return a", stale},
		{"def f(a: int, b: int = 2): return a", "def f(a: int): return a", stale},
		{"def f(a: int, b: int = 2): return a", "def f(a: int, z: int = 2): return a", stale},
		{"def f(a: int, b: int = 2): return a", "def f(a: float, b: int = 2): return a", stale},
		{"def f(a: int, b: int = 2): return a", "def f(a: int, b: int = 3): return a", stale},
		{"def f(a: int, b: int = 2): return a", "def f(a: int, b: int): return a", stale},
		{"def f(a: int, b: int = 2): return a", "f.__defaults__ = (3,)", stale},
		{"def f(a: int, *, b: int = 2): return a", "f.__kwdefaults__['b'] = 3", stale},
		{"def f(a: int, *, b: int = 2): return a", "f.__kwdefaults__ = None", stale},
		{"def f(a: int): return a", "f.__annotations__['a'] = float", stale},
		{"def f(a: int): return a", "f.__annotations__ = {}", stale},
		{"def f(a: int, b: list[int] = []): return a", "f.__defaults__[0].append(1)", stale},
		{"from functools import partial\ndef g(a: int, b: int): return a\nf = partial(g, b=2)", "f.keywords['b'] = 3", stale},
		{"from functools import partial\ndef g(a: int, b: int): return a\nf = partial(g, b=2)", "f = partial(g, b=3)", stale},
		{"class f:\n def __init__(self, a: int): ...", "f.__init__ = lambda self: None", stale},
		{"class f:\n def __init__(self, a: int): ...", "class f:\n def __init__(self, a: str): ...", stale},
		{"def f(a: int): return a", "del f", stale},
		{"def f(a: int): return a", "f = 5", stale},
		{"def f(a: int): return a", "async def f(a: int): return a", stale},
		{"def f(a: int): return a", "def f(a: int): return a + 1", "8"},
		{"def f(a: int): return a", "def f(a: int) -> 'Missing':\n '''New.'''\n return a * 2", "14"},
		{"def f(a: int): return a", "f = lambda a: a * 3\nf.__annotations__ = {'a': int}", "21"},
		{"def f(a: int): return a", "g = f\ndel f\nf = g", "7"},
	} {
		s.succeed(test.define)
		before := s.register("f").Registration.Revision
		s.succeed(test.change)
		if got := s.use("f", map[string]any{"a": 7}); got.String() != test.want {
			t.Errorf("%d: after %q f answers %v", i, test.change, got)
		}
		wantTools, wantRevision := "f", before
		if test.want == stale {
			wantTools, wantRevision = "", before+1
		}
		if got := s.dynamicTools(); got != wantTools {
			t.Errorf("%d: after %q the tools are %q", i, test.change, got)
		}
		revision := s.unregister("nothing")
		if revision != wantRevision {
			t.Errorf("%d: after %q the revision is %d, want %d", i, test.change, revision, wantRevision)
		}
		s.call("reset", nil)
	}
}

// A session as a model has it: a module with two functions, registered, edited and reloaded; one stays, one goes stale.
func TestDynamic_ModuleSession(t *testing.T) {
	t.Parallel()
	s := connect(t, options{library: map[string]string{"shapes.py": shapes("width: float", "2.0")}})
	s.succeed("import shapes\nfrom shapes import area, volume")
	s.succeed("def area(**k): ...\narea = shapes.area\nvolume = shapes.volume")
	for _, name := range []string{"area", "volume"} {
		if note := s.register(name).Note; !strings.Contains(note, "call_function") || strings.Count(note, ".") != 1 {
			t.Errorf("the note is %q", note)
		}
	}
	if got := s.use("area", map[string]any{"width": 3, "height": 2.5}); got.String() != "7.5" || got.Name != "area" {
		t.Errorf("area answers %+v", got)
	}
	byName := map[string]any{"name": "volume", "arguments": `{"sides": [1, 2, 3]}`}
	if got := s.use("call_function", byName); got.String() != "6.0" {
		t.Errorf("volume by its tool name answers %v", got)
	}
	before := s.announcements()
	s.write("shapes.py", shapes("width: int", "10.0 / 4"))
	s.call("reload", map[string]any{"modules": []string{"shapes"}})
	s.succeed("area, volume = shapes.area, shapes.volume")
	s.announced(before)
	if got := s.dynamicTools(); got != "volume" {
		t.Errorf("after the reload the tools are %q", got)
	}
	if got := s.use("area", map[string]any{"width": 3, "height": 2}); got.String() != "stale_registration" {
		t.Errorf("after the reload area answers %v", got)
	}
	if got := s.use("volume", map[string]any{"sides": []any{1, 2, 3}}); got.String() != "7.5" {
		t.Errorf("after the reload volume answers %v", got)
	}
	again := s.register("area").Registration
	if got := s.use("area", map[string]any{"width": 3, "height": 2}); got.String() != "6.0" {
		t.Errorf("registered again, area answers %v", got)
	}
	if again.Revision != s.register("area").Registration.Revision {
		t.Error("registering again with nothing changed made a new revision")
	}
}

// shapes is a module whose area takes a width as given, and whose volume is a factor times a product.
func shapes(width, factor string) string {
	return fmt.Sprintf(`"""Shapes."""
from __future__ import annotations
import math

def area(%s, height: float) -> float:
    return width * height

def volume(sides: tuple[float, float, float]) -> float:
    """The volume of a box.

    Args:
        sides: three lengths
    """
    assert type(sides) is tuple
    return %s / 2 * math.prod(sides)
`, width, factor)
}

// list_changed comes once for each change, to a client behind its handshake, and never without a change.
func TestDynamic_Announcements(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.succeed("def f(a: int): return a\ndef g(): return 1")
	steps := []struct {
		what    string
		do      func()
		changes bool
	}{
		{"a registration", func() { s.register("f") }, true},
		{"the same again", func() { s.register("f") }, false},
		{"a call", func() { s.use("f", map[string]any{"a": 1}) }, false},
		{"another body", func() { s.succeed("def f(a: int): return 2") }, false},
		{"another signature", func() { s.succeed("def f(): return 2") }, true},
		{"yet another signature", func() { s.succeed("def f(b: int): return 2") }, false},
		{"the same, fresh", func() { s.register("f") }, true},
		{"another description", func() { s.tryRegister(map[string]any{"name": "f", "description": "New."}) }, true},
		{"a refused registration", func() { s.tryRegister(map[string]any{"name": "nothing"}) }, false},
		{"an unknown name", func() { s.unregister("nothing") }, false},
		{"a removal", func() { s.call("remove", map[string]any{"names": []string{"f"}}) }, true},
		{"unregistering a stale one", func() { s.unregister("f") }, false},
		{"another registration", func() { s.register("g") }, true},
		{"a reset", func() { s.call("reset", nil) }, true},
		{"another reset", func() { s.call("reset", nil) }, false},
	}
	for _, step := range steps {
		before := s.announcements()
		step.do()
		if step.changes {
			s.announced(before)
		}
		want := before
		if step.changes {
			want++
		}
		time.Sleep(stays)
		if got := s.announcements(); got != want {
			t.Errorf("%s was announced %d times", step.what, got-before)
		}
	}
}

// Case 35, and what a description may take: bounded, or refused in words.
func TestDynamic_Bounds(t *testing.T) {
	t.Parallel()
	s := connect(t, options{env: []string{"IPYTHON_MCP_MAX_DYNAMIC_TOOLS=3"}})
	s.succeed(`def many(x: int): ...
def wide(x: int): ...
exec("def wide(" + ", ".join(f"a{i}: int = {i}" for i in range(300)) + "): return a299")
many.__doc__ = "d" * 100_000
def huge(a: str = "x" * 1_000_000): ...
def deep(a: int): ...
t = int
for _ in range(500): t = list[t]
deep.__annotations__["a"] = t
def broad(a: int): ...
broad.__annotations__["a"] = tuple[(tuple[(int,) * 100],) * 100]
def cyclic(a: int): ...
cyclic.__wrapped__ = cyclic
def third(): ...
def fourth(): ...`)
	many := s.register("many").Registration
	if len(many.Description) > 1024+len("…") || !many.Cut {
		t.Errorf("the description has %d bytes, cut: %v", len(many.Description), many.Cut)
	}
	s.register("wide")
	if got := s.use("wide", map[string]any{"a299": 5}); got.String() != "5" {
		t.Errorf("a function of 300 parameters answers %v", got)
	}
	for _, name := range []string{"huge", "deep", "broad", "cyclic"} {
		r := s.tryRegister(map[string]any{"name": name})
		if r.OK || r.Error.Code != "unsupported_signature" || len(r.Error.Message) > 1000 {
			t.Errorf("%s: %v", name, r.Error)
		}
	}
	s.register("third")
	if r := s.tryRegister(map[string]any{"name": "fourth"}); r.OK || r.Error.Code != "registry_full" {
		t.Errorf("a fourth of three: %v", r.Error)
	}
	long := strings.Repeat("é", 5000)
	if r := s.tryRegister(map[string]any{"name": "third", "description": long}); !r.OK || !r.Registration.Cut {
		t.Errorf("a long description: %+v", r)
	}
	names := []string{strings.Repeat("n", 1<<20), "a\x00b", strings.Repeat("a.", 10_000) + "a", "ｆ", "_x", "In", "class"}
	for _, name := range names {
		if r := s.tryRegister(map[string]any{"name": name}); r.OK || r.Error == nil || len(r.Error.Message) > 1000 {
			t.Errorf("%.20q: %+v", name, r)
		}
	}
	s.works("registrations at the limits")
}
