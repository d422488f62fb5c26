package dyntools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemaURL names the one resource of a compiler. Nothing is ever loaded from it.
const schemaURL = "mem:///schema.json"

// denied is the loader of a compiler: schemas are inline, and a reference must not open a file.
type denied struct{}

func (denied) Load(url string) (any, error) {
	return nil, fmt.Errorf("loading %s is not allowed: schemas are inline", url)
}

// validator checks JSON texts against one schema. It is safe for concurrent use.
type validator struct {
	compiled *jsonschema.Schema
}

func newValidator(schema json.RawMessage) (*validator, error) {
	document, err := decode(schema)
	if err != nil {
		return nil, fmt.Errorf("reading a schema: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(denied{})
	if err := c.AddResource(schemaURL, document); err != nil {
		return nil, fmt.Errorf("compiling a schema: %w", err)
	}
	compiled, err := c.Compile(schemaURL)
	if err != nil {
		return nil, fmt.Errorf("compiling a schema: %w", err)
	}
	return &validator{compiled: compiled}, nil
}

// Validate checks a call's arguments and returns what to send to Python: the same text, or {} where the client
// sent nothing or null. The error is an *Error with invalid_arguments and its problems.
func (s *Schema) Validate(arguments json.RawMessage) (json.RawMessage, error) {
	trimmed := bytes.TrimSpace(arguments)
	if len(trimmed) == 0 || string(trimmed) == "null" {
		arguments = json.RawMessage("{}")
	}
	if err := s.arguments.validate(arguments); err != nil {
		return nil, err
	}
	return arguments, nil
}

// validate returns nil or an *Error with invalid_arguments and at least one problem.
func (v *validator) validate(raw json.RawMessage) error {
	instance, err := decode(raw)
	if err != nil {
		return invalidArguments([]Problem{{Path: rootPath, Message: "not JSON: " + err.Error()}})
	}
	// Numbers come first: the library computes exactly, so that an absurd exponent would cost it memory and time.
	if problems := checkNumbers(instance, nil, nil); len(problems) > 0 {
		return invalidArguments(problems)
	}
	var failed *jsonschema.ValidationError
	switch err := v.compiled.Validate(instance); {
	case err == nil:
		return nil
	case errors.As(err, &failed):
		return invalidArguments(explain(failed, instance))
	default:
		return invalidArguments([]Problem{{Path: rootPath, Message: "cannot be checked: " + err.Error()}})
	}
}

// decode reads exactly one JSON text, numbers as they are written.
func decode(raw json.RawMessage) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more text after the JSON value")
	}
	return value, nil
}
