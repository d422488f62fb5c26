package server

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"ipython-mcp/dyntools"
	"ipython-mcp/internal/bounds"
	"ipython-mcp/shell"
)

// dynamicSession is a client behind its handshake, with its server's namespace.
func dynamicSession(t *testing.T, o Options) (*conn, *Server, *fakeNamespace) {
	t.Helper()
	namespace := newFakeNamespace()
	o.Namespace = namespace
	s := newServer(t, o)
	c := connect(t, s)
	c.ask(initialize)
	c.send(initialized)
	c.ask(ping("1"))
	return c, s, namespace
}

func toolNames(t *testing.T, c *conn) []string {
	t.Helper()
	var listed struct{ Tools []struct{ Name string } }
	line := c.ask(`{"jsonrpc":"2.0","id":"l","method":"tools/list"}`)
	if err := json.Unmarshal(decode(t, line).Result, &listed); err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(listed.Tools))
	for i, tool := range listed.Tools {
		names[i] = tool.Name
	}
	return names
}

// dynamicNames are the tools behind the stable ones.
func dynamicNames(t *testing.T, c *conn) string {
	t.Helper()
	names := toolNames(t, c)
	if got := fmt.Sprint(names[:len(stableNames)]); got != fmt.Sprint(stableNames) {
		t.Errorf("the stable tools are %s", got)
	}
	return strings.Join(names[len(stableNames):], " ")
}

func structuredOf[T any](t *testing.T, line string) T {
	t.Helper()
	var value T
	if err := json.Unmarshal(decodeCall(t, line).Structured, &value); err != nil {
		t.Fatalf("%v: %.300s", err, line)
	}
	return value
}

func (c *conn) announced() {
	c.t.Helper()
	if got := c.next(); got != toolsChanged {
		c.t.Errorf("instead of the announcement came %s", got)
	}
}

// Dynamic tools stand behind the stable ones by name, in both eras; each change is announced once, and only changes.
func TestServer_dynamicTools(t *testing.T) {
	c, s, namespace := dynamicSession(t, Options{})
	for _, name := range []string{"zeta", "alpha", "inspector"} {
		namespace.bind(t, bound(name, "n"))
		answer := structuredOf[registerAnswer](t, c.ask(toolCall("1", "register_tool", `{"name":"`+name+`"}`)))
		if !answer.OK || answer.Registration.ToolName != name || !strings.Contains(answer.Note, "call_function") {
			t.Errorf("registering %s: %+v", name, answer)
		}
		c.announced()
	}
	if got := dynamicNames(t, c); got != "alpha inspector zeta" {
		t.Errorf("tools/list has %s", got)
	}
	again := structuredOf[registerAnswer](t, c.ask(toolCall("1", "register_tool", `{"name":"zeta"}`)))
	if again.Registration.Revision != 3 {
		t.Errorf("registering again: %+v", again)
	}
	for _, line := range []string{toolCall("2", "zeta", `{"n":1e2}`), modern(toolCall("3", "zeta", `{"n":1e2}`))} {
		if got := decodeCall(t, c.ask(line)).Content[0].Text; got != `{"n":1e2}` {
			t.Errorf("the tool returned %s", got)
		}
	}
	line := c.ask(toolCall("4", "unregister_tool", `{"names":["zeta","execute","zeta"]}`))
	gone := structuredOf[unregisterAnswer](t, line)
	if fmt.Sprint(gone.Unregistered, gone.Unknown, gone.Revision) != "[zeta] [execute] 4" {
		t.Errorf("unregistering: %+v", gone)
	}
	c.announced()
	if got := decode(t, c.ask(toolCall("5", "zeta", "{}"))); got.Error == nil || got.Error.Code != -32602 {
		t.Errorf("an unregistered tool answered %+v", got)
	}
	c.ask(toolCall("6", "unregister_tool", `{"names":["zeta"]}`))
	if s.tool("execute") == nil {
		t.Error("a stable tool was unregistered")
	}
	if rest, err := c.end(); len(rest) > 0 || err != nil {
		t.Errorf("nothing changed, but this was announced: %q, %v", rest, err)
	}
}

// A tool whose name is bound to something else leaves the list and says so, whichever way it is called.
func TestServer_staleTool(t *testing.T) {
	c, s, namespace := dynamicSession(t, Options{})
	for _, name := range []string{"f", "gone"} {
		register(t, s, name)
		c.announced()
		namespace.bind(t, bound(name, ""))
		namespace.bind(t, bound(name, "n"))
		c.announced()
		if got := dynamicNames(t, c); got != "" {
			t.Errorf("tools/list has %s", got)
		}
		for _, line := range []string{toolCall("1", name, "{}"), modern(toolCall("2", name, "{}"))} {
			got := structuredOf[shell.CallAnswer](t, c.ask(line))
			if got.Error == nil || got.Error.Code != "stale_registration" || got.Name != name {
				t.Errorf("the stale tool answered %+v", got)
			}
		}
	}
	// In the namespace f is what it is now, and gone is nothing.
	for name, code := range map[string]string{"f": "", "gone": "stale_registration"} {
		line := toolCall("3", "call_function", `{"name":"`+name+`","arguments":{}}`)
		got := structuredOf[shell.CallAnswer](t, c.ask(line))
		if got.OK != (code == "") || !got.OK && got.Error.Code != code {
			t.Errorf("call_function of %s: %+v", name, got)
		}
	}
	s.registry.Reset()
	if got := decode(t, c.ask(toolCall("4", "f", "{}"))); got.Error == nil {
		t.Errorf("a removed tool answered %+v", got)
	}
}

// Both ways to a tool check the arguments against its schema before Python sees them.
func TestServer_dynamicArguments(t *testing.T) {
	c, _, namespace := dynamicSession(t, Options{})
	namespace.bind(t, bound("f", "n"))
	c.ask(toolCall("1", "register_tool", `{"name":"f","tool_name":"t-1","description":"Described."}`))
	c.announced()
	for arguments, path := range map[string]string{
		`{"n":true}`: "/n: ", `{}`: "/n: ", `{"n":1,"m":2}`: "/m: ", `{"n":"1"}`: "/n: ",
	} {
		for _, line := range []string{
			toolCall("2", "t-1", arguments),
			toolCall("2", "call_function", `{"name":"t-1","arguments":`+arguments+`}`),
		} {
			got := structuredOf[shell.CallAnswer](t, c.ask(line))
			if got.Error == nil || got.Error.Code != "invalid_arguments" || !strings.Contains(got.Error.Message, path) {
				t.Errorf("%s answered %+v", line, got)
			}
		}
	}
	c.ask(toolCall("3", "call_function", `{"name":"t-1","arguments":"{\"n\": 123456789012345678901234567890}"}`))
	want := `["call_tool","t-1","f","f(n)",{"n":123456789012345678901234567890}]`
	if got := namespace.calls[len(namespace.calls)-1]; got != want {
		t.Errorf("Python was asked %s, want %s", got, want)
	}
	if got := decode(t, c.ask(toolCall("4", "t-1", "[]"))); got.Error == nil || got.Error.Code != -32602 {
		t.Errorf("an array of arguments got %+v", got)
	}
}

// A name that is rebound between the check and the call is checked again; the call goes to what was checked, or
// nowhere.
func TestServer_callOfAReboundName(t *testing.T) {
	for name, test := range map[string]struct {
		rebound []dyntools.Binding // before each attempt
		code    string
		calls   int
	}{
		"not":          {nil, "", 1},
		"equal":        {[]dyntools.Binding{bound("f", "n")}, "", 2},
		"other schema": {[]dyntools.Binding{bound("f", "m")}, "stale_registration", 1},
		"gone":         {[]dyntools.Binding{{Symbol: "f", State: dyntools.BoundMissing}}, "stale_registration", 1},
		"for ever":     {[]dyntools.Binding{bound("f", "n"), bound("f", "n"), bound("f", "n")}, "stale_registration", 3},
	} {
		t.Run(name, func(t *testing.T) {
			c, _, namespace := dynamicSession(t, Options{})
			namespace.bind(t, bound("f", "n"))
			c.ask(toolCall("1", "register_tool", `{"name":"f"}`))
			c.announced()
			calls := 0
			namespace.callTool = func(call shell.ToolCall) shell.ToolAnswer {
				calls++
				if calls > len(test.rebound) {
					return shell.ToolAnswer{CallAnswer: shell.CallAnswer{OK: true, Name: "f", Result: call.Arguments}}
				}
				next := test.rebound[calls-1]
				if next.Callable != nil {
					next.Callable.Token = fmt.Sprint("token ", calls)
				}
				namespace.rebind(t, next)
				return shell.ToolAnswer{Changed: true}
			}
			got := structuredOf[shell.CallAnswer](t, c.ask(toolCall("2", "f", `{"n":1}`)))
			if calls != test.calls || got.OK != (test.code == "") || !got.OK && got.Error.Code != test.code {
				t.Errorf("%d calls, answer %+v %+v", calls, got, got.Error)
			}
		})
	}
}

// Every refusal of register_tool and unregister_tool has its code, is no MCP error, and changes nothing.
func TestServer_registrationRefusals(t *testing.T) {
	limits := bounds.Defaults()
	limits.DynamicTools, limits.Results = 2, 3
	c, s, namespace := dynamicSession(t, Options{Limits: limits, ModuleBindings: []string{"np"}})
	for _, name := range []string{"f", "g", "h", "np"} {
		namespace.bind(t, bound(name, ""))
	}
	namespace.bind(t, dyntools.Binding{Symbol: "x", State: dyntools.BoundNotCallable})
	c.ask(toolCall("1", "register_tool", `{"name":"f"}`))
	c.announced()
	long := strings.Repeat("n", 101)
	for arguments, code := range map[string]string{
		`{"name":"np"}`: "invalid_symbol_name", `{"name":7}`: "invalid_symbol_name", `{"name":"a.b"}`: "invalid_symbol_name",
		`{"name":"missing"}`: "name_not_found", `{"name":"x"}`: "not_callable",
		`{"name":"g","tool_name":"1"}`: "invalid_tool_name", `{"name":"g","tool_name":[]}`: "invalid_tool_name",
		`{"name":"g","tool_name":"unregister_tool"}`: "stable_tool_collision",
		`{"name":"g","tool_name":"f"}`:               "duplicate_tool_name",
		`{"name":"f","tool_name":"g"}`:               "duplicate_symbol",
		`{"name":"g","description":7}`:               "invalid_description",
	} {
		got := structuredOf[registerAnswer](t, c.ask(toolCall("2", "register_tool", arguments)))
		if got.OK || got.Registration != nil || got.Error == nil || got.Error.Code != code || got.Note != "" {
			t.Errorf("%s answered %+v", arguments, got)
		}
	}
	for arguments, code := range map[string]string{
		`{"names":[]}`: "invalid_names", `{"names":["a","b","c","d"]}`: "invalid_names",
		`{"names":["` + long + `"]}`: "invalid_names",
	} {
		got := structuredOf[unregisterAnswer](t, c.ask(toolCall("3", "unregister_tool", arguments)))
		if got.OK || got.Error == nil || got.Error.Code != code || got.Revision != 1 || got.Unknown == nil {
			t.Errorf("%s answered %+v", arguments, got)
		}
	}
	c.ask(toolCall("4", "register_tool", `{"name":"g"}`))
	c.announced()
	got := structuredOf[registerAnswer](t, c.ask(toolCall("5", "register_tool", `{"name":"h"}`)))
	if got.Error == nil || got.Error.Code != "registry_full" {
		t.Errorf("a third registration of two: %+v", got)
	}
	if got := decode(t, c.ask(toolCall("6", "register_tool", `{"name":"h","more":1}`))); got.Error == nil {
		t.Errorf("an unknown argument got %+v", got)
	}
	s.namespace.(*fakeNamespace).watcher.Cleared()
	c.announced()
	s.namespace.(*fakeNamespace).watcher.Cleared()
	if rest, err := c.end(); len(rest) > 0 || err != nil {
		t.Errorf("a reset of nothing was announced: %q, %v", rest, err)
	}
}

// Many clients list, call, register and unregister at once while the names are rebound: every list is one state of the
// registry, and every call is answered by the binding that it was checked against.
func TestServer_dynamicHammer(t *testing.T) {
	namespace := newFakeNamespace()
	namespace.callTool = func(call shell.ToolCall) shell.ToolAnswer {
		token := json.RawMessage(`"` + call.Token + `"`)
		return shell.ToolAnswer{CallAnswer: shell.CallAnswer{OK: true, Name: call.ToolName, Result: token}}
	}
	s := newServer(t, Options{Namespace: namespace})
	var clients sync.WaitGroup
	for i := range 4 {
		clients.Go(func() { hammer(t, s, namespace, i) })
	}
	clients.Wait()
}

func hammer(t *testing.T, s *Server, namespace *fakeNamespace, number int) {
	c := connect(t, s)
	mine := fmt.Sprint("f", number)
	next := func(line string) string {
		c.send(line)
		for {
			if got := c.next(); got != toolsChanged {
				return got
			}
		}
	}
	for range 50 {
		namespace.bind(t, bound(mine, "n"))
		next(toolCall("1", "register_tool", `{"name":"`+mine+`"}`))
		for other := range 4 {
			line := next(toolCall("2", fmt.Sprint("f", other), `{"n":1}`))
			if decode(t, line).Error != nil {
				continue // not registered right now
			}
			got := structuredOf[shell.CallAnswer](t, line)
			if want := fmt.Sprintf(`"f%d(n)"`, other); got.OK && string(got.Result) != want {
				t.Errorf("a call of f%d was answered by %s", other, got.Result)
			}
		}
		next(`{"jsonrpc":"2.0","id":3,"method":"tools/list"}`)
		if number%2 == 0 {
			namespace.bind(t, bound(mine, "m"))
		}
		next(toolCall("4", "unregister_tool", `{"names":["`+mine+`"]}`))
	}
}
