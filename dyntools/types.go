package dyntools

import (
	"errors"
	"fmt"

	"github.com/invopop/jsonschema"

	"ipython-mcp/internal/bounds"
)

// builder makes schemas of annotation trees. Each call returns a new schema that the caller owns and may change.
type builder struct {
	descriptionChars int
}

var scalarTypes = map[string]string{
	"str": "string", "int": "integer", "float": "number", "bool": "boolean", "none": "null",
}

// stringFormats are the formats of kind "string"; none of them is asserted.
var stringFormats = map[string]bool{
	"date-time": true, "date": true, "time": true, "duration": true, "uuid": true, "path": true, base64Format: true,
}

const base64Format = "base64"

// typeSchema makes the schema of one type. Its errors say why the type cannot be one; the caller says where it
// stands.
func (b *builder) typeSchema(t *Type, depth int) (*jsonschema.Schema, error) {
	if t == nil {
		return nil, errors.New("a type is missing")
	}
	if depth > MaxTypeDepth {
		return nil, fmt.Errorf("the annotation nests deeper than %d levels", MaxTypeDepth)
	}
	if scalar, ok := scalarTypes[t.Kind]; ok {
		return &jsonschema.Schema{Type: scalar}, nil
	}
	switch t.Kind {
	case "list", "set", "frozenset", "tuple_of", "dict":
		return b.container(t, depth)
	case "tuple":
		return b.tuple(t.Items, depth)
	case "union":
		return b.union(t.Items, depth)
	case "literal", "enum":
		return enumSchema(t)
	case "described":
		return b.described(t, depth)
	case "typed_dict", "dataclass", "model":
		return b.fields(t, depth)
	case "string":
		return formatted(t.Format)
	case "recursive":
		return nil, fmt.Errorf("the type %s contains itself, and schemas are inline", quoted(t.Name))
	case "unsupported":
		return nil, fmt.Errorf("the annotation is not supported: %s", t.Reason)
	}
	return nil, fmt.Errorf("the annotation has the unknown kind %s", quoted(t.Kind))
}

// container covers the types with one type argument.
func (b *builder) container(t *Type, depth int) (*jsonschema.Schema, error) {
	of, err := b.typeSchema(t.Of, depth+1)
	if err != nil {
		return nil, err
	}
	if t.Kind == "dict" {
		return &jsonschema.Schema{Type: "object", AdditionalProperties: of}, nil
	}
	unique := t.Kind == "set" || t.Kind == "frozenset"
	return &jsonschema.Schema{Type: "array", Items: of, UniqueItems: unique}, nil
}

// tuple is a tuple of fixed length. The empty one has no prefixItems: JSON Schema wants at least one there.
func (b *builder) tuple(items []*Type, depth int) (*jsonschema.Schema, error) {
	length := uint64(len(items))
	s := &jsonschema.Schema{Type: "array", Items: jsonschema.FalseSchema, MinItems: &length, MaxItems: &length}
	for _, item := range items {
		prefix, err := b.typeSchema(item, depth+1)
		if err != nil {
			return nil, err
		}
		s.PrefixItems = append(s.PrefixItems, prefix)
	}
	return s, nil
}

// described sets the text of Annotated; the outermost one wins.
func (b *builder) described(t *Type, depth int) (*jsonschema.Schema, error) {
	s, err := b.typeSchema(t.Of, depth+1)
	if err == nil && t.Text != "" {
		s.Description, _ = bounds.Cut(t.Text, b.descriptionChars)
	}
	return s, err
}

// fields is an object type; nested defaults are checked like those of parameters.
func (b *builder) fields(t *Type, depth int) (*jsonschema.Schema, error) {
	members := make([]member, 0, len(t.Fields))
	for _, f := range t.Fields {
		schema, err := b.typeSchema(f.Annotation, depth+1)
		if err != nil {
			return nil, fmt.Errorf("field %s of %s: %w", quoted(f.Name), quoted(t.Name), err)
		}
		if f.Description != "" && schema.Description == "" {
			schema.Description, _ = bounds.Cut(f.Description, b.descriptionChars)
		}
		members = append(members, member{name: f.Name, schema: schema, required: f.Required, value: f.Default})
	}
	s, err := objectSchema("field", members)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", quoted(t.Name), err)
	}
	return s, nil
}

func formatted(format string) (*jsonschema.Schema, error) {
	if !stringFormats[format] {
		return nil, fmt.Errorf("the annotation has the unknown string format %s", quoted(format))
	}
	s := &jsonschema.Schema{Type: "string", Format: format}
	if format == base64Format {
		s.ContentEncoding = base64Format
	}
	return s, nil
}
