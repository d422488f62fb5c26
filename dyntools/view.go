package dyntools

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// State is the state of a registration.
type State string

// The states of a registration. A stale one is not advertised, and a call of it is refused.
const (
	Live  State = "live"
	Stale State = "stale"
)

// Registration is one registered tool. It is immutable: a change replaces it.
type Registration struct {
	Symbol               string
	ToolName             string
	Description          string // as advertised: cut, and as it was at registration
	DescriptionTruncated bool
	Schema               *Schema // as it was at registration
	Token                string  // of the binding that the registration was last compared with
	State                State
	Reason               string // why it is stale; empty while it is live
}

// Call returns nil for a live registration, and for a stale one the error that a call of it answers.
func (r *Registration) Call() error {
	if r.State == Live {
		return nil
	}
	return refuse(StaleRegistration, "tool %s is stale: %s; call register_tool for %s again",
		r.ToolName, r.Reason, quoted(r.Symbol))
}

// Tool is one entry of the advertised list.
type Tool struct {
	Name        string
	Description string
	InputSchema json.RawMessage
}

// View is one consistent state of the registry: immutable, safe for any goroutine, never out of date with itself.
type View struct {
	revision int64
	byTool   map[string]*Registration
	bySymbol map[string]*Registration
	tools    []Tool
}

// Revision returns the revision of the advertised list; 0 before the first registration.
func (v *View) Revision() int64 { return v.revision }

// Tools returns the live tools sorted by name. The caller must not change the slice.
func (v *View) Tools() []Tool { return v.tools }

// Lookup returns the registration with a tool name, live or stale.
func (v *View) Lookup(toolName string) (*Registration, bool) {
	r, ok := v.byTool[toolName]
	return r, ok
}

// LookupSymbol returns the registration of a symbol, live or stale.
func (v *View) LookupSymbol(symbol string) (*Registration, bool) {
	r, ok := v.bySymbol[symbol]
	return r, ok
}

// Tokens returns the token of every live registration by symbol: what Python compares to answer "same".
func (v *View) Tokens() map[string]string {
	tokens := make(map[string]string, len(v.bySymbol))
	for symbol, r := range v.bySymbol {
		if r.State == Live {
			tokens[symbol] = r.Token
		}
	}
	return tokens
}

// draft is a copy of a view that a change works on.
type draft struct {
	byTool   map[string]*Registration
	bySymbol map[string]*Registration
}

func newDraft() *draft {
	return &draft{byTool: make(map[string]*Registration), bySymbol: make(map[string]*Registration)}
}

func (v *View) draft() *draft {
	d := newDraft()
	maps.Copy(d.byTool, v.byTool)
	maps.Copy(d.bySymbol, v.bySymbol)
	return d
}

func (d *draft) put(r *Registration) {
	d.byTool[r.ToolName] = r
	d.bySymbol[r.Symbol] = r
}

func (d *draft) remove(r *Registration) {
	delete(d.byTool, r.ToolName)
	delete(d.bySymbol, r.Symbol)
}

// next makes the view that follows v; the revision grows exactly where the list differs.
func (v *View) next(d *draft, listChanged bool) *View {
	next := &View{revision: v.revision, byTool: d.byTool, bySymbol: d.bySymbol, tools: v.tools}
	if !listChanged {
		return next
	}
	next.revision++
	next.tools = make([]Tool, 0, len(d.byTool))
	for _, r := range d.byTool {
		if r.State == Live {
			next.tools = append(next.tools, Tool{Name: r.ToolName, Description: r.Description, InputSchema: r.Schema.Advertised})
		}
	}
	slices.SortFunc(next.tools, func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
	return next
}
