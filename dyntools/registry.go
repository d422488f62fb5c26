package dyntools

import (
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"

	"ipython-mcp/internal/bounds"
)

// Options configure a registry. All limits are positive; the server takes them from its environment variables.
type Options struct {
	ToolNameChars    int      // longest tool name
	DescriptionChars int      // longest advertised description, of tools and of parameters
	MaxTools         int      // registrations, stale ones included
	StableTools      []string // names of the server's own tools
	ModuleBindings   []string // protected names beside the shell's own
}

// Registry holds the registered tools. See the package comment for who may call what.
type Registry struct {
	options Options // constant
	names   nameRules

	change sync.Mutex           // held while a next view is made; readers never take it
	view   atomic.Pointer[View] // never nil
}

// NewRegistry returns an empty registry. It keeps no reference to the slices of o.
func NewRegistry(o Options) *Registry {
	o.StableTools, o.ModuleBindings = slices.Clone(o.StableTools), slices.Clone(o.ModuleBindings)
	r := &Registry{options: o, names: newNameRules(o)}
	r.view.Store(&View{})
	return r
}

// View returns the current state. It never blocks.
func (r *Registry) View() *View { return r.view.Load() }

// Answer is what register_tool answers as its registration.
type Answer struct {
	Name                 string          `json:"name"`
	ToolName             string          `json:"tool_name"`
	Description          string          `json:"description"`
	DescriptionTruncated bool            `json:"description_truncated"`
	InputSchema          json.RawMessage `json:"input_schema"`
	SchemaFingerprint    string          `json:"schema_fingerprint"`
	Revision             int64           `json:"revision"`
}

// Check refuses what can be refused before Python is asked about the symbol. Register checks the same again.
func (r *Registry) Check(q Request) error {
	return r.check(r.View(), q)
}

func (r *Registry) check(v *View, q Request) error {
	if err := r.names.checkSymbol(q.Symbol); err != nil {
		return err
	}
	name, byDefault := q.tool()
	if err := r.names.checkTool(name, byDefault); err != nil {
		return err
	}
	if holder, ok := v.byTool[name]; ok && holder.Symbol != q.Symbol {
		return refuse(DuplicateToolName,
			"tool name %s is registered for %s: choose another one, or unregister that tool first",
			quoted(name), quoted(holder.Symbol))
	}
	existing, ok := v.bySymbol[q.Symbol]
	if ok && existing.ToolName != name {
		return refuse(DuplicateSymbol, "%s is registered as tool %s: unregister that first, or pass its name as tool_name",
			quoted(q.Symbol), quoted(existing.ToolName))
	}
	if !ok && len(v.byTool) >= r.options.MaxTools {
		return refuse(RegistryFull, "%d tools are registered, at most %d are allowed: unregister one first",
			len(v.byTool), r.options.MaxTools)
	}
	return nil
}

// Register publishes the callable that a symbol is bound to, or renews its registration. Nothing is changed where
// it fails. now must come from the same serialized section; listChanged says whether the advertised list is
// another one.
func (r *Registry) Register(q Request, now Binding) (answer Answer, listChanged bool, err error) {
	r.change.Lock()
	defer r.change.Unlock()
	v := r.View()
	if err := r.check(v, q); err != nil {
		return Answer{}, false, err
	}
	callable, err := bound(q.Symbol, now)
	if err != nil {
		return Answer{}, false, err
	}
	schema, err := NewSchema(callable, r.options.DescriptionChars)
	if err != nil {
		return Answer{}, false, err
	}
	fresh := r.registration(q, callable, schema)
	before, again := v.bySymbol[q.Symbol]
	listChanged = !again || !sameEntry(before, fresh)
	d := v.draft()
	d.put(fresh)
	v = v.next(d, listChanged)
	r.view.Store(v)
	return fresh.answer(v.revision), listChanged, nil
}

// bound returns the callable of a binding, or says why there is none.
func bound(symbol string, now Binding) (*Callable, error) {
	switch {
	case now.State == BoundMissing:
		return nil, refuse(NameNotFound, "name %s is not defined", quoted(symbol))
	case now.State == BoundCallable && now.Callable != nil:
		return now.Callable, nil
	}
	return nil, refuse(NotCallable, "%s is not callable", quoted(symbol))
}

func (r *Registry) registration(q Request, c *Callable, schema *Schema) *Registration {
	name, _ := q.tool()
	text := c.Docstring
	if q.Description != nil {
		text = *q.Description
	}
	description, cut := bounds.Cut(text, r.options.DescriptionChars)
	return &Registration{
		Symbol: q.Symbol, ToolName: name, Description: description, DescriptionTruncated: cut,
		Schema: schema, Token: c.Token, State: Live,
	}
}

// sameEntry says whether two registrations of one tool are the same entry of the advertised list.
func sameEntry(before, after *Registration) bool {
	return before.State == Live && before.Description == after.Description &&
		before.Schema.canonicalAdvertised == after.Schema.canonicalAdvertised
}

func (r *Registration) answer(revision int64) Answer {
	return Answer{
		Name: r.Symbol, ToolName: r.ToolName, Description: r.Description, DescriptionTruncated: r.DescriptionTruncated,
		InputSchema: r.Schema.Input, SchemaFingerprint: r.Schema.Fingerprint, Revision: revision,
	}
}

// Removal says what Unregister did with each requested tool name.
type Removal struct {
	Unregistered []string // sorted, each once, never nil
	Unknown      []string // sorted, each once, never nil; stable tools are unknown
	Revision     int64
	ListChanged  bool
}

// Unregister removes tools by name, live or stale.
func (r *Registry) Unregister(toolNames []string) Removal {
	r.change.Lock()
	defer r.change.Unlock()
	v := r.View()
	removal := Removal{Unregistered: []string{}, Unknown: []string{}}
	names := slices.Clone(toolNames)
	slices.Sort(names)
	d := v.draft()
	for _, name := range slices.Compact(names) {
		one, ok := v.byTool[name]
		if !ok {
			removal.Unknown = append(removal.Unknown, name)
			continue
		}
		removal.Unregistered = append(removal.Unregistered, name)
		removal.ListChanged = removal.ListChanged || one.State == Live
		d.remove(one)
	}
	v = v.next(d, removal.ListChanged)
	r.view.Store(v)
	removal.Revision = v.revision
	return removal
}

// Reset removes all registrations and says whether the advertised list changed. The revision goes on, never back.
func (r *Registry) Reset() (listChanged bool) {
	r.change.Lock()
	defer r.change.Unlock()
	v := r.View()
	listChanged = len(v.tools) > 0
	r.view.Store(v.next(newDraft(), listChanged))
	return listChanged
}
