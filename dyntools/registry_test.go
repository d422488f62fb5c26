package dyntools

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// boundTo describes a symbol as a callable of the given parameters.
func boundTo(t testing.TB, symbol, token string, namesAndTypes ...string) Binding {
	t.Helper()
	c := callableOf(t, namesAndTypes...)
	c.Token, c.Docstring = token, "doc of "+symbol
	return Binding{Symbol: symbol, State: BoundCallable, Callable: c}
}

func mustRegister(t testing.TB, r *Registry, q Request, now Binding) Answer {
	t.Helper()
	answer, _, err := r.Register(q, now)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func toolNames(v *View) []string {
	names := []string{}
	for _, tool := range v.Tools() {
		names = append(names, tool.Name)
	}
	return names
}

func text(s string) *string { return &s }

func TestRegistry_Register(t *testing.T) {
	r := NewRegistry(testOptions)
	answer, changed, err := r.Register(Request{Symbol: "f", ToolName: text("calc")}, boundTo(t, "f", "1", "x", intType))
	if err != nil || !changed {
		t.Fatalf("Register = %v, %v", changed, err)
	}
	schema := `{"properties":{"x":{"type":"integer"}},"additionalProperties":false,"type":"object","required":["x"]}`
	want := Answer{
		Name: "f", ToolName: "calc", Description: "doc of f",
		InputSchema:       json.RawMessage(schema),
		SchemaFingerprint: "4de4adefef0dd78118403058a6bc55185949b2ad83d12d55db3e5f83c7b81018",
		Revision:          1,
	}
	if diff := cmp.Diff(want, answer); diff != "" {
		t.Errorf("answer differs:\n%s", diff)
	}
	long := Request{Symbol: "f", ToolName: text("calc"), Description: text(strings.Repeat("é", 21))}
	cut := mustRegister(t, r, long, boundTo(t, "f", "1", "x", intType))
	if cut.Description != strings.Repeat("é", 19)+"…" || !cut.DescriptionTruncated || cut.Revision != 2 {
		t.Errorf("long description: %+v", cut)
	}
	empty := mustRegister(t, r, Request{Symbol: "g", Description: text("")}, boundTo(t, "g", "1"))
	if empty.Description != "" {
		t.Errorf("empty description: %+v", empty)
	}
	if diff := cmp.Diff([]string{"calc", "g"}, toolNames(r.View())); diff != "" {
		t.Errorf("list differs:\n%s", diff)
	}
	bySymbol, ok := r.View().LookupSymbol("f")
	byTool, also := r.View().Lookup("calc")
	if !ok || !also || bySymbol != byTool || byTool.Call() != nil {
		t.Errorf("lookup: %v, %v", bySymbol, byTool)
	}
}

func TestRegistry_Register_refuses(t *testing.T) {
	r := NewRegistry(testOptions)
	mustRegister(t, r, Request{Symbol: "f"}, boundTo(t, "f", "1"))
	mustRegister(t, r, Request{Symbol: "g", ToolName: text("gg")}, boundTo(t, "g", "1"))
	before := r.View()
	async := Binding{Symbol: "h", State: BoundCallable, Callable: &Callable{Kind: "coroutine"}}
	for _, c := range []struct {
		name string
		q    Request
		now  Binding
		want Code
	}{
		{"missing", Request{Symbol: "h"}, Binding{Symbol: "h", State: BoundMissing}, NameNotFound},
		{"not callable", Request{Symbol: "h"}, Binding{Symbol: "h", State: BoundNotCallable}, NotCallable},
		{"not described", Request{Symbol: "h"}, Binding{Symbol: "h", State: BoundCallable}, NotCallable},
		{"unsupported", Request{Symbol: "h"}, boundTo(t, "h", "1", "x", `{"kind":"unsupported"}`), UnsupportedSignature},
		{"kind", Request{Symbol: "h"}, async, UnsupportedCallableKind},
		{"tool name taken", Request{Symbol: "h", ToolName: text("f")}, boundTo(t, "h", "1"), DuplicateToolName},
		{"tool name of another symbol", Request{Symbol: "f", ToolName: text("gg")}, boundTo(t, "f", "1"), DuplicateToolName},
		{"second tool", Request{Symbol: "f", ToolName: text("f2")}, boundTo(t, "f", "1"), DuplicateSymbol},
		{"second tool by default", Request{Symbol: "g"}, boundTo(t, "g", "1"), DuplicateSymbol},
		{"protected", Request{Symbol: "exit"}, boundTo(t, "exit", "1"), InvalidSymbolName},
	} {
		if _, changed, err := r.Register(c.q, c.now); codeOf(t, err) != c.want || changed {
			t.Errorf("%s: changed %v, %v; want %s", c.name, changed, err, c.want)
		}
	}
	if r.View() != before {
		t.Error("a refused registration changed the registry")
	}
	mustRegister(t, r, Request{Symbol: "h"}, boundTo(t, "h", "1"))
	if _, _, err := r.Register(Request{Symbol: "i"}, boundTo(t, "i", "1")); codeOf(t, err) != RegistryFull {
		t.Errorf("fourth of three: %v", err)
	}
	mustRegister(t, r, Request{Symbol: "h"}, boundTo(t, "h", "2", "x", intType)) // a full catalogue can be renewed
}

// TestRegistry_revision walks the table of the package comment. Each step says by how much the revision grows.
func TestRegistry_revision(t *testing.T) {
	r := NewRegistry(testOptions)
	f1 := boundTo(t, "f", "1", "x", intType)
	register := func(q Request, now Binding) func() bool {
		return func() bool {
			_, changed, err := r.Register(q, now)
			if err != nil {
				t.Fatal(err)
			}
			return changed
		}
	}
	reconcile := func(now ...Binding) func() bool { return func() bool { return r.Reconcile(now) } }
	unregister := func(names ...string) func() bool { return func() bool { return r.Unregister(names).ListChanged } }
	f := Request{Symbol: "f"}
	gone := Binding{Symbol: "f", State: BoundMissing}
	redocumented := boundTo(t, "f", "6", "x", strType)
	redocumented.Callable.Parameters[0].Description = "the text"
	for _, step := range []struct {
		name string
		do   func() bool
		grow int64
	}{
		{"reset of nothing", r.Reset, 0},
		{"new", register(f, f1), 1},
		{"again", register(f, f1), 0},
		{"other description", register(Request{Symbol: "f", Description: text("d")}, f1), 1},
		{"docstring again", register(f, f1), 1},
		{"other schema", register(f, boundTo(t, "f", "2", "x", strType)), 1},
		{"nothing said", reconcile(), 0},
		{"same", reconcile(Binding{Symbol: "f", State: BoundSame}), 0},
		{"unregistered symbol changed", reconcile(boundTo(t, "q", "9", "x", intType)), 0},
		{"rebound to an equal schema", reconcile(boundTo(t, "f", "3", "x", strType)), 0},
		{"changed", reconcile(boundTo(t, "f", "4", "x", intType)), 1},
		{"stale, changed once more", reconcile(boundTo(t, "f", "5", "x", floatType)), 0},
		{"stale, as it was", reconcile(boundTo(t, "f", "3", "x", strType)), 0},
		{"registered again", register(f, boundTo(t, "f", "3", "x", strType)), 1},
		{"parameter documented, reconciled", reconcile(redocumented), 0},
		{"parameter documented, registered", register(f, redocumented), 1},
		{"second tool", register(Request{Symbol: "g"}, boundTo(t, "g", "1")), 1},
		{"both stale at once", reconcile(gone, Binding{Symbol: "g", State: BoundNotCallable}), 1},
		{"unregister a stale one", unregister("f"), 0},
		{"unregister it again", unregister("f", "execute"), 0},
		{"reset of stale ones", r.Reset, 0},
		{"new after reset", register(f, f1), 1},
		{"another", register(Request{Symbol: "g"}, boundTo(t, "g", "1")), 1},
		{"unregister two", unregister("g", "f"), 1},
		{"new once more", register(f, f1), 1},
		{"reset", r.Reset, 1},
	} {
		before := r.View().Revision()
		changed := step.do()
		if grown := r.View().Revision() - before; grown != step.grow || changed != (grown > 0) {
			t.Errorf("%s: revision grew by %d, changed = %v; want %d", step.name, grown, changed, step.grow)
		}
	}
}

// TestRegistry_Register_annotatedFromDocstring: the advertised entry is the same, the schema is not, so the
// registration is new and the list is old.
func TestRegistry_Register_annotatedFromDocstring(t *testing.T) {
	r := NewRegistry(testOptions)
	documented := boundTo(t, "f", "1", "x", intType)
	documented.Callable.Parameters[0].Description = "metres"
	annotated := boundTo(t, "f", "2", "x", `{"kind":"described","of":{"kind":"int"},"text":"metres"}`)
	first := mustRegister(t, r, Request{Symbol: "f"}, documented)
	second := mustRegister(t, r, Request{Symbol: "f"}, annotated)
	if first.Revision != second.Revision || first.SchemaFingerprint == second.SchemaFingerprint {
		t.Errorf("answers %+v and %+v", first, second)
	}
	annotated.Callable.Token = "3"
	if r.Reconcile([]Binding{annotated}) {
		t.Error("the renewed registration kept the old schema")
	}
}

func TestRegistry_Unregister(t *testing.T) {
	r := NewRegistry(testOptions)
	mustRegister(t, r, Request{Symbol: "f", ToolName: text("b")}, boundTo(t, "f", "1"))
	mustRegister(t, r, Request{Symbol: "g", ToolName: text("a")}, boundTo(t, "g", "1"))
	want := Removal{
		Unregistered: []string{"a", "b"}, Unknown: []string{"execute", "f", "z"}, Revision: 3, ListChanged: true,
	}
	if diff := cmp.Diff(want, r.Unregister([]string{"z", "b", "f", "a", "execute", "b", "z"})); diff != "" {
		t.Errorf("first removal differs:\n%s", diff)
	}
	want = Removal{Unregistered: []string{}, Unknown: []string{"a", "b"}, Revision: 3}
	if diff := cmp.Diff(want, r.Unregister([]string{"b", "a"})); diff != "" {
		t.Errorf("second removal differs:\n%s", diff)
	}
}

func TestRegistry_Reset(t *testing.T) {
	r := NewRegistry(testOptions)
	mustRegister(t, r, Request{Symbol: "f"}, boundTo(t, "f", "1"))
	if !r.Reset() || len(r.View().Tools()) != 0 || len(r.View().Tokens()) != 0 {
		t.Errorf("after reset: %v", toolNames(r.View()))
	}
	if _, ok := r.View().Lookup("f"); ok {
		t.Error("the tool is still known")
	}
}
