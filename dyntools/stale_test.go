package dyntools

import (
	"encoding/json"
	"strings"
	"testing"
)

// defaulted gives the first parameter a default.
func defaulted(b Binding, value string) Binding {
	b.Callable.Parameters[0].Default = json.RawMessage(value)
	return b
}

// TestRegistry_Reconcile is the staleness table. Every case starts with f(x: int, y: str | None = None), live.
func TestRegistry_Reconcile(t *testing.T) {
	optStr := `{"kind":"union","items":[{"kind":"none"},{"kind":"str"}]}`
	swapped := `{"kind":"union","items":[{"kind":"str"},{"kind":"none"}]}`
	described := `{"kind":"described","text":"d","of":{"kind":"int"}}`
	async := boundTo(t, "f", "2")
	async.Callable.Kind = "coroutine"
	broken := boundTo(t, "f", "2")
	broken.Callable.Problem = "wrappers form a cycle"
	redescribed := boundTo(t, "f", "2", "x", intType, "y?", optStr)
	redescribed.Callable.Docstring, redescribed.Callable.Parameters[0].Description = "new", "new"
	for _, c := range []struct {
		name   string
		now    Binding
		stale  bool
		reason string
	}{
		{"same", Binding{Symbol: "f", State: BoundSame}, false, ""},
		{"same token", Binding{Symbol: "f", State: BoundCallable, Callable: &Callable{Token: "1"}}, false, ""},
		{"equal signature", boundTo(t, "f", "2", "x", intType, "y?", optStr), false, ""},
		{"other docstring", redescribed, false, ""},
		{"union in another order", boundTo(t, "f", "2", "x", intType, "y?", swapped), false, ""},
		{"optional parameter first", boundTo(t, "f", "2", "y?", optStr, "x", intType), false, ""},
		{"parameter added", boundTo(t, "f", "2", "x", intType, "y?", optStr, "z", intType), true, "changed"},
		{"parameter removed", boundTo(t, "f", "2", "x", intType), true, "changed"},
		{"parameter renamed", boundTo(t, "f", "2", "w", intType, "y?", optStr), true, "changed"},
		{"parameter retyped", boundTo(t, "f", "2", "x", floatType, "y?", optStr), true, "changed"},
		{"default added", defaulted(boundTo(t, "f", "2", "x", intType, "y?", optStr), "1"), true, "changed"},
		{"default removed", boundTo(t, "f", "2", "x", intType, "y", optStr), true, "changed"},
		{"description added", boundTo(t, "f", "2", "x", described, "y?", optStr), true, "changed"},
		{"unsupported", boundTo(t, "f", "2", "x", `{"kind":"unsupported","reason":"no"}`), true, `parameter "x"`},
		{"misfit default", defaulted(boundTo(t, "f", "2", "x", intType), `"a"`), true, "does not fit"},
		{"coroutine", async, true, "coroutine"},
		{"no signature", broken, true, "cycle"},
		{"gone", Binding{Symbol: "f", State: BoundMissing}, true, "not defined"},
		{"not callable", Binding{Symbol: "f", State: BoundNotCallable}, true, "not callable"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := NewRegistry(testOptions)
			mustRegister(t, r, Request{Symbol: "f", ToolName: text("tool")}, boundTo(t, "f", "1", "x", intType, "y?", optStr))
			before, _ := r.View().Lookup("tool")
			if changed := r.Reconcile([]Binding{c.now}); changed != c.stale {
				t.Errorf("changed = %v, want %v", changed, c.stale)
			}
			after, ok := r.View().Lookup("tool")
			if !ok || after.Description != before.Description || after.Schema != before.Schema {
				t.Errorf("registration is no longer what it was: %+v", after)
			}
			if listed := len(r.View().Tools()) == 1; listed == c.stale {
				t.Errorf("advertised = %v", listed)
			}
			err := after.Call()
			if !c.stale && err != nil || c.stale && codeOf(t, err) != StaleRegistration {
				t.Errorf("call: %v", err)
			}
			if c.stale && !strings.Contains(err.Error(), c.reason) {
				t.Errorf("call: %v, want %q in it", err, c.reason)
			}
		})
	}
}

// TestRegistry_Reconcile_defaultChanged: the default of a parameter is part of its schema, to the letter.
func TestRegistry_Reconcile_defaultChanged(t *testing.T) {
	for value, stale := range map[string]bool{"1": false, "2": true, "1.0": true, "null": true} {
		r := NewRegistry(testOptions)
		mustRegister(t, r, Request{Symbol: "f"}, defaulted(boundTo(t, "f", "1", "x", floatType), "1"))
		if changed := r.Reconcile([]Binding{defaulted(boundTo(t, "f", "2", "x", floatType), value)}); changed != stale {
			t.Errorf("default 1 became %s: changed = %v, want %v", value, changed, stale)
		}
	}
}

// TestRegistry_Reconcile_token: an equal schema under a new token is described once, not after every operation.
func TestRegistry_Reconcile_token(t *testing.T) {
	r := NewRegistry(testOptions)
	mustRegister(t, r, Request{Symbol: "f"}, boundTo(t, "f", "1", "x", intType))
	r.Reconcile([]Binding{boundTo(t, "f", "2", "x", intType)})
	if token := r.View().Tokens()["f"]; token != "2" {
		t.Errorf("token %q, want the new one", token)
	}
	r.Reconcile([]Binding{{Symbol: "f", State: BoundMissing}})
	if tokens := r.View().Tokens(); len(tokens) != 0 {
		t.Errorf("tokens of stale registrations: %v", tokens)
	}
}

// TestRegistry_Reconcile_missingToken: a description without a token is compared in full.
func TestRegistry_Reconcile_missingToken(t *testing.T) {
	r := NewRegistry(testOptions)
	mustRegister(t, r, Request{Symbol: "f"}, boundTo(t, "f", "", "x", intType))
	if !r.Reconcile([]Binding{boundTo(t, "f", "", "x", strType)}) {
		t.Error("a changed schema without a token went unnoticed")
	}
}
