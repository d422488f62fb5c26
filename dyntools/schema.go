package dyntools

import (
	"encoding/json"
	"fmt"

	"github.com/invopop/jsonschema"

	"ipython-mcp/internal/bounds"
)

// Bounds of one callable's description.
const (
	// MaxSchemaBytes is the longest compact schema that is accepted.
	MaxSchemaBytes = 64 << 10
	// MaxTypeDepth is how deep an annotation may nest.
	MaxTypeDepth = 64
	// MaxTypes is how many types Python describes for one callable before it gives up.
	MaxTypes = 2000
)

// Schema is the immutable input schema of one callable, compiled.
type Schema struct {
	// Input is what the contract calls the schema: register_tool answers it and Fingerprint covers it.
	Input json.RawMessage
	// Advertised is Input plus the parameter descriptions of the docstring; tools/list shows it.
	Advertised json.RawMessage
	// Fingerprint is the lower-case hex SHA-256 of Input's canonical form.
	Fingerprint string

	canonicalAdvertised string
	arguments           *validator
}

// NewSchema makes the schema of a described callable. Descriptions of parameters are cut to descriptionChars. The
// error is an *Error: unsupported_callable_kind or unsupported_signature.
func NewSchema(c *Callable, descriptionChars int) (*Schema, error) {
	if err := checkCallableKind(c.Kind); err != nil {
		return nil, err
	}
	if c.Problem != "" {
		return nil, refuse(UnsupportedSignature, "the signature cannot be used: %s", bounded(c.Problem))
	}
	b := builder{descriptionChars: descriptionChars}
	object, err := b.signature(c.Parameters)
	if err != nil {
		return nil, refuse(UnsupportedSignature, "%s", bounded(err.Error()))
	}
	s, err := compileSchema(object)
	if err != nil {
		return nil, refuse(UnsupportedSignature, "%s", bounded(err.Error()))
	}
	if err := s.advertise(object, c.Parameters, descriptionChars); err != nil {
		return nil, refuse(UnsupportedSignature, "%s", bounded(err.Error()))
	}
	return s, nil
}

// signature makes the object schema of a parameter list.
func (b *builder) signature(parameters []Parameter) (*jsonschema.Schema, error) {
	members := make([]member, 0, len(parameters))
	for _, p := range parameters {
		if err := checkParameter(p); err != nil {
			return nil, err
		}
		schema, err := b.typeSchema(p.Annotation, 0)
		if err != nil {
			return nil, fmt.Errorf("parameter %s: %w", quoted(p.Name), err)
		}
		members = append(members, member{name: p.Name, schema: schema, required: p.Default == nil, value: p.Default})
	}
	return objectSchema("parameter", members)
}

// checkParameter refuses what can be refused without looking at the type.
func checkParameter(p Parameter) error {
	name := quoted(p.Name)
	switch p.Kind {
	case "positional_or_keyword", "keyword_only":
	case "positional_only":
		return fmt.Errorf("parameter %s is positional-only, but tools pass arguments by name", name)
	case "var_positional", "var_keyword":
		return fmt.Errorf("parameter %s is variadic: declare each parameter, or take a list or a dict[str, T]", name)
	default:
		return fmt.Errorf("parameter %s has the unknown kind %s", name, quoted(p.Kind))
	}
	if p.Annotation == nil {
		return fmt.Errorf("parameter %s has no annotation: annotate it", name)
	}
	if p.DefaultProblem != "" {
		return fmt.Errorf("parameter %s has a default that is not JSON: %s", name, p.DefaultProblem)
	}
	return nil
}

// compileSchema renders, bounds, hashes and compiles a finished object schema.
func compileSchema(object *jsonschema.Schema) (*Schema, error) {
	input, err := render(object)
	if err != nil {
		return nil, err
	}
	if len(input) > MaxSchemaBytes {
		return nil, fmt.Errorf("the schema takes %d bytes, at most %d are accepted: use fewer parameters or shorter defaults",
			len(input), MaxSchemaBytes)
	}
	s := &Schema{Input: input}
	if s.Fingerprint, err = fingerprint(input); err != nil {
		return nil, err
	}
	if s.arguments, err = newValidator(input); err != nil {
		return nil, err
	}
	return s, nil
}

// advertise makes Advertised. Descriptions that would make the schema too long are left out as a whole.
func (s *Schema) advertise(object *jsonschema.Schema, parameters []Parameter, descriptionChars int) error {
	s.Advertised = s.Input
	described := false
	for _, p := range parameters {
		property, ok := object.Properties.Get(p.Name)
		if !ok || property.Description != "" || p.Description == "" {
			continue
		}
		property.Description, _ = bounds.Cut(p.Description, descriptionChars)
		described = true
	}
	if described {
		raw, err := render(object)
		if err != nil {
			return err
		}
		if len(raw) <= MaxSchemaBytes {
			s.Advertised = raw
		}
	}
	form, err := canonical(s.Advertised)
	s.canonicalAdvertised = string(form)
	return err
}

// messageChars bounds a whole refusal, whose parts come from user code.
const messageChars = 600

func bounded(s string) string {
	s, _ = bounds.Cut(s, messageChars)
	return s
}
