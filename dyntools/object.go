package dyntools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/invopop/jsonschema"
)

// member is one property of an object schema: a parameter or a field.
type member struct {
	name     string
	schema   *jsonschema.Schema
	required bool
	value    json.RawMessage // the default; nil where there is none
}

// objectSchema makes a closed object of members, in their order. what names a member in errors.
func objectSchema(what string, members []member) (*jsonschema.Schema, error) {
	s := &jsonschema.Schema{
		Type:                 "object",
		Properties:           jsonschema.NewProperties(),
		AdditionalProperties: jsonschema.FalseSchema,
	}
	for _, m := range members {
		if _, ok := s.Properties.Get(m.name); ok {
			return nil, fmt.Errorf("%s %s is there twice", what, quoted(m.name))
		}
		s.Properties.Set(m.name, m.schema)
		if m.required {
			s.Required = append(s.Required, m.name)
		}
	}
	if err := checkDefaults(what, s, members); err != nil {
		return nil, err
	}
	for _, m := range members {
		if m.value != nil {
			m.schema.Default = m.value
		}
	}
	return s, nil
}

// checkDefaults validates all defaults of an object at once, against its schema without the required names.
func checkDefaults(what string, object *jsonschema.Schema, members []member) error {
	values := make(map[string]json.RawMessage)
	for _, m := range members {
		switch {
		case m.value == nil:
		case len(m.value) > MaxSchemaBytes:
			return fmt.Errorf("the default of %s %s takes %d bytes, at most %d are accepted",
				what, quoted(m.name), len(m.value), MaxSchemaBytes)
		default:
			values[m.name] = m.value
		}
	}
	if len(values) == 0 {
		return nil
	}
	loose := *object
	loose.Required = nil
	raw, err := render(&loose)
	if err != nil {
		return err
	}
	v, err := newValidator(raw)
	if err != nil {
		return err
	}
	defaults, err := json.Marshal(values)
	if err != nil {
		return fmt.Errorf("a default is not JSON: %w", err)
	}
	var misfit *Error
	if err := v.validate(defaults); errors.As(err, &misfit) {
		return misfitError(what, misfit.Problems[0], members)
	}
	return nil
}

// misfitError names the member that a default's problem belongs to.
func misfitError(what string, problem Problem, members []member) error {
	for _, m := range members {
		inside, ok := strings.CutPrefix(problem.Path+"/", pointer([]string{m.name})+"/")
		if !ok || m.value == nil {
			continue
		}
		at := ""
		if inside != "" {
			at = "at /" + strings.TrimSuffix(inside, "/") + ": "
		}
		return fmt.Errorf("the default of %s %s does not fit its annotation: %s%s", what, quoted(m.name), at, problem.Message)
	}
	return fmt.Errorf("the default of a %s does not fit its annotation: %s: %s", what, problem.Path, problem.Message)
}

// enumSchema covers Literal and Enum: JSON scalars in the order of the annotation, each once.
func enumSchema(t *Type) (*jsonschema.Schema, error) {
	if len(t.Values) == 0 {
		return nil, fmt.Errorf("the %s has no values", t.Kind)
	}
	s := &jsonschema.Schema{}
	seen := make(map[string]bool)
	for _, value := range t.Values {
		form, err := canonical(value)
		if err != nil {
			return nil, fmt.Errorf("a value of the %s is not JSON: %w", t.Kind, err)
		}
		if bytes.ContainsAny(form[:1], "{[") {
			return nil, fmt.Errorf("the %s value %s is no JSON scalar", t.Kind, shortened(string(form)))
		}
		if !seen[string(form)] {
			seen[string(form)] = true
			s.Enum = append(s.Enum, json.RawMessage(form))
		}
	}
	return s, nil
}
