package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	printing "golang.org/x/text/message"

	"ipython-mcp/internal/bounds"
)

// arguments are a call's arguments, checked against the tool's schema, so that the accessors need no errors.
type arguments struct {
	values map[string]any             // strings, bool, json.Number, []any, map[string]any
	raw    map[string]json.RawMessage // the same as sent
	object json.RawMessage            // all of them as sent, lone surrogates escaped
}

func (a arguments) text(name string) string { s, _ := a.values[name].(string); return s }
func (a arguments) flag(name string) bool   { b, _ := a.values[name].(bool); return b }

// refused says whether a flag that is set by default is given as false.
func (a arguments) refused(name string) bool { b, given := a.values[name].(bool); return given && !b }

func (a arguments) texts(name string) []string {
	items, _ := a.values[name].([]any)
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i], _ = item.(string)
	}
	return texts
}

// integer returns an integer, which JSON may also spell 5.0 or 1e2, clamped to 32 bits.
func (a arguments) integer(name string, missing int) int {
	number, given := a.values[name].(json.Number)
	if !given {
		return missing
	}
	// A number beyond float64 becomes an infinity, which clamps as it should; the error says no more.
	value, _ := strconv.ParseFloat(number.String(), 64)
	return int(min(max(value, math.MinInt32), math.MaxInt32))
}

// maxSeconds keeps a duration in range; longer is as good as for ever.
const maxSeconds = 366 * 24 * 60 * 60

// seconds returns a number of seconds, which the schema has found to be none below zero.
func (a arguments) seconds(name string, missing time.Duration) time.Duration {
	number, given := a.values[name].(json.Number)
	if !given {
		return missing
	}
	// A number beyond float64 becomes an infinity, and one too small for a duration still is more than nothing.
	value, _ := strconv.ParseFloat(number.String(), 64)
	duration := time.Duration(min(value, maxSeconds) * float64(time.Second))
	if duration == 0 && value > 0 {
		return 1
	}
	return duration
}

// check decodes the arguments of a call and validates them. Each value is decoded once.
func (t *tool) check(raw json.RawMessage) (arguments, *protocolError) {
	args := arguments{values: make(map[string]any), raw: make(map[string]json.RawMessage)}
	if raw == nil || bytes.Equal(raw, null) {
		raw = json.RawMessage("{}")
	}
	raw = escapeLoneSurrogates(raw)
	args.object = raw
	var problem error
	isObject := members(raw, func(key string, value json.RawMessage) {
		decoded, err := decodeValue(value)
		problem = errors.Join(problem, err)
		args.values[key], args.raw[key] = decoded, value
	})
	name := t.definition.Name
	if !isObject {
		return args, refuse(mcp.INVALID_PARAMS, "%s: arguments must be an object", name)
	}
	if problem != nil {
		return args, refuse(mcp.INVALID_PARAMS, "%s: the arguments cannot be decoded: %v", name, problem)
	}
	if t.schema == nil {
		return args, nil
	}
	if err := t.schema.Validate(args.values); err != nil {
		return args, refuse(mcp.INVALID_PARAMS, "%s: %s", name, describe(err))
	}
	return args, nil
}

// decodeValue decodes valid JSON, numbers as json.Number. Strings, which can be long, are decoded without a copy of
// their JSON.
func decodeValue(raw json.RawMessage) (any, error) {
	if raw[0] == '"' {
		return decodeString(raw), nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	err := decoder.Decode(&value)
	return value, err
}

var english = printing.NewPrinter(language.English)

// maxQuotedChars bounds a name that an error message quotes.
const maxQuotedChars = 60

// describe says what is wrong with arguments, in an order of its own, because the validator's varies.
func describe(err error) string {
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return "the arguments cannot be validated"
	}
	problems := make(map[string]struct{})
	collect(invalid, problems)
	return strings.Join(slices.Sorted(maps.Keys(problems)), "; ")
}

func collect(e *jsonschema.ValidationError, problems map[string]struct{}) {
	for _, cause := range e.Causes {
		collect(cause, problems)
	}
	if len(e.Causes) > 0 {
		return
	}
	within := func(name string) string { return argumentPath(append(slices.Clone(e.InstanceLocation), name)) }
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		for _, name := range k.Missing {
			problems["missing argument "+within(name)] = struct{}{}
		}
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			problems["unknown argument "+within(name)] = struct{}{}
		}
	default:
		where := argumentPath(e.InstanceLocation)
		problems[fmt.Sprintf("argument %s: %s", where, k.LocalizedString(english))] = struct{}{}
	}
}

// argumentPath names an argument, or what is inside it: "modules[1]", "arguments.x".
func argumentPath(location []string) string {
	var path strings.Builder
	for i, part := range location {
		_, err := strconv.Atoi(part)
		switch {
		case i > 0 && err == nil:
			path.WriteString("[" + part + "]")
			continue
		case i > 0:
			path.WriteByte('.')
		}
		short, _ := bounds.Cut(part, maxQuotedChars)
		path.WriteString(short)
	}
	return strconv.Quote(path.String())
}
