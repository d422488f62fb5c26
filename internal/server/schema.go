package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	reflected "github.com/invopop/jsonschema"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Schemas are inline, without $ref, $id and $schema: clients understand least of those. The types must not be
// recursive.

// inputSchema generates the schema of a tool's arguments from a struct.
func inputSchema(arguments any) (json.RawMessage, error) {
	return encodeSchema(reflectSchema(arguments))
}

// outputSchema generates the schema of structuredContent from an answer. What is null, empty or false may be missing
// in compact answers.
func outputSchema(answer any, compact bool) (json.RawMessage, error) {
	schema := reflectSchema(answer)
	refine(reflect.TypeOf(answer), schema, compact)
	return encodeSchema(schema)
}

func reflectSchema(value any) *reflected.Schema {
	r := reflected.Reflector{DoNotReference: true, Anonymous: true, Mapper: rawAsObject}
	schema := r.Reflect(value)
	schema.Version = ""
	return schema
}

// rawAsObject describes raw JSON, which is an object wherever a schema is declared. The reflection's own word for it, a bare true, is no
// schema to some clients.
func rawAsObject(t reflect.Type) *reflected.Schema {
	if t == reflect.TypeFor[json.RawMessage]() {
		return &reflected.Schema{Type: "object"}
	}
	return nil
}

// refine lets pointers be null, of which the reflection knows nothing, and relaxes required for compact answers.
func refine(t reflect.Type, schema *reflected.Schema, compact bool) {
	switch t.Kind() {
	case reflect.Slice:
		refine(t.Elem(), schema.Items, compact)
	case reflect.Struct:
		for _, field := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			property, listed := schema.Properties.Get(name)
			if !listed {
				continue
			}
			if field.Type.Kind() != reflect.Pointer {
				refine(field.Type, property, compact)
				continue
			}
			refine(field.Type.Elem(), property, compact)
			schema.Properties.Set(name, &reflected.Schema{AnyOf: []*reflected.Schema{property, {Type: "null"}}})
		}
		if compact {
			schema.Required = slices.DeleteFunc(schema.Required, func(name string) bool { return !alwaysPresent[name] })
		}
	}
}

func encodeSchema(schema *reflected.Schema) (json.RawMessage, error) {
	raw, err := json.Marshal(schema)
	if err != nil {
		return nil, fmt.Errorf("the schema cannot be encoded: %w", err)
	}
	return raw, nil
}

// denyAll keeps the compiler of schemas from opening files and addresses.
type denyAll struct{}

func (denyAll) Load(url string) (any, error) {
	return nil, fmt.Errorf("schemas are inline; %q is not loaded", url)
}

// compileSchema makes a validator of a schema. It may be used from any goroutine.
func compileSchema(raw json.RawMessage) (*jsonschema.Schema, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("the schema is not valid JSON: %w", err)
	}
	const location = "mem:///tool.json"
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.UseLoader(denyAll{})
	if err := compiler.AddResource(location, document); err != nil {
		return nil, fmt.Errorf("the schema cannot be used: %w", err)
	}
	schema, err := compiler.Compile(location)
	if err != nil {
		return nil, fmt.Errorf("the schema does not compile: %w", err)
	}
	return schema, nil
}
