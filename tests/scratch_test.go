package tests

import "testing"

// A scratch run sees the session and leaves no name behind, not in registered tools either, and not when it is cancelled.
func TestScratchRun(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	scratch := func(code string) (id string) {
		return s.sendCall("execute", map[string]any{"code": code, "persist": false})
	}
	s.succeed("base = 40\ndef tool(n: int) -> int: return n + base")
	s.register("tool")
	s.succeed("'last'")
	before := s.value("sorted(name for name in globals() if name[0] != '_')")

	e := s.executionOf(scratch("import json\nfor n in range(3): base = n\ndef tool(m: str) -> str: return m\ndel In\nbase"))
	if !e.OK || string(e.Result) != "2" || *e.ExecutionCount != 4 {
		t.Errorf("the scratch run: %+v, %v", e, e.Error)
	}
	cancelled := scratch("base = 1\nwhile True: pass")
	next := s.sendCell("sorted(name for name in globals() if name[0] != '_')")
	s.cancel(cancelled)
	if got := string(s.executionOf(next).Result); got != before {
		t.Errorf("the names are %s, were %s", got, before)
	}
	s.equals("Out[2], 4 in Out, In[4]", `["last",false,""]`)
	if got := s.use("tool", map[string]any{"n": 2}); got.String() != "42" {
		t.Errorf("the registered tool gives %v", got)
	}
	if got := s.dynamicTools(); got != "tool" {
		t.Errorf("the registered tools are %s", got)
	}
}
