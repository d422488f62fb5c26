package dyntools

import "encoding/json"

// Binding says what a symbol is bound to right now, as Python found it. See the package comment for the JSON form.
type Binding struct {
	Symbol   string       `json:"symbol"`
	State    BindingState `json:"state"`
	Callable *Callable    `json:"callable,omitempty"` // set exactly where State is BoundCallable
}

// BindingState is the kind of a Binding.
type BindingState string

// The states of a binding.
const (
	BoundCallable    BindingState = "callable"
	BoundSame        BindingState = "same"
	BoundMissing     BindingState = "missing"
	BoundNotCallable BindingState = "not_callable"
)

// Callable is a described callable.
type Callable struct {
	Kind       string      `json:"callable_kind"`
	Token      string      `json:"token"`
	Docstring  string      `json:"docstring"`
	Problem    string      `json:"problem"`
	Parameters []Parameter `json:"parameters"`
}

// Parameter is one parameter of a described callable.
type Parameter struct {
	Name           string          `json:"name"`
	Kind           string          `json:"kind"`
	Annotation     *Type           `json:"annotation"`        // nil: not annotated
	Default        json.RawMessage `json:"default,omitempty"` // nil: no default, or one that is not JSON
	DefaultProblem string          `json:"default_problem,omitempty"`
	Description    string          `json:"description,omitempty"`
}

// Type is a node of an annotation tree; which fields are set depends on Kind.
type Type struct {
	Kind   string            `json:"kind"`
	Of     *Type             `json:"of,omitempty"`
	Items  []*Type           `json:"items,omitempty"`
	Values []json.RawMessage `json:"values,omitempty"`
	Text   string            `json:"text,omitempty"`
	Format string            `json:"format,omitempty"`
	Name   string            `json:"name,omitempty"`
	Fields []Field           `json:"fields,omitempty"`
	Reason string            `json:"reason,omitempty"`
}

// Field is one entry of a typed dictionary, dataclass or model.
type Field struct {
	Name        string          `json:"name"`
	Annotation  *Type           `json:"annotation"`
	Required    bool            `json:"required"`
	Default     json.RawMessage `json:"default,omitempty"`
	Description string          `json:"description,omitempty"`
}

// callableKinds maps what is refused to how a message calls it.
var callableKinds = map[string]string{
	"coroutine":       "a coroutine function",
	"generator":       "a generator function",
	"async_generator": "an async generator function",
}

func checkCallableKind(kind string) error {
	if kind == "plain" {
		return nil
	}
	what, ok := callableKinds[kind]
	if !ok {
		what = "a callable of the unknown kind " + quoted(kind)
	}
	return refuse(UnsupportedCallableKind,
		"%s cannot be a tool: register a plain function that returns the finished value", what)
}
