package dyntools

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"ipython-mcp/internal/bounds"
)

// finding is a failed check before it becomes a Problem. Either expected is set (the value is of the wrong kind,
// and the kinds of several union branches can be said in one sentence), or message is.
type finding struct {
	path     string
	expected []string
	got      string
	message  string
}

func (f finding) text() string {
	if f.expected == nil {
		return f.message
	}
	return "expected " + strings.Join(f.expected, " or ") + ", got " + f.got
}

// explain turns the library's tree of failures into problems. It writes its own sentences: the library's are
// localised, round numbers and come in no fixed order.
func explain(failed *jsonschema.ValidationError, instance any) []Problem {
	var problems []Problem
	for _, f := range findings(failed, instance) {
		problems = append(problems, Problem{Path: f.path, Message: f.text()})
	}
	return problems
}

func findings(failed *jsonschema.ValidationError, instance any) []finding {
	location := failed.InstanceLocation
	switch k := failed.ErrorKind.(type) {
	case *kind.AnyOf:
		return unionFindings(failed, instance)
	case *kind.Type:
		return []finding{wrongValue(instance, location, k.Want)}
	case *kind.Enum:
		return []finding{wrongValue(instance, location, []string{oneOf(k.Want)})}
	case *kind.Required:
		return named(location, k.Missing, "required, but missing")
	case *kind.AdditionalProperties:
		return named(location, k.Properties, "unexpected name")
	case *kind.UniqueItems:
		return say(location, "items %d and %d are equal, but each may occur once", k.Duplicates[0], k.Duplicates[1])
	case *kind.MinItems:
		return say(location, "expected exactly %d items, got %d", k.Want, k.Got)
	case *kind.MaxItems:
		return say(location, "expected exactly %d items, got %d", k.Want, k.Got)
	case *kind.FalseSchema:
		return nil // an item beyond a tuple's end; maxItems says it for the array
	}
	if len(failed.Causes) == 0 {
		return say(location, "does not fit")
	}
	var all []finding
	for _, cause := range failed.Causes {
		all = append(all, findings(cause, instance)...)
	}
	return all
}

// unionFindings says which alternatives there are. Where the value is of the right kind for one of them and fails
// deeper, that is what the caller meant, so the others are left out.
func unionFindings(failed *jsonschema.ValidationError, instance any) []finding {
	wrongKind := wrongValue(instance, failed.InstanceLocation, nil)
	var near [][]finding
	for _, cause := range failed.Causes {
		all := findings(cause, instance)
		if len(all) == 1 && all[0].path == wrongKind.path && all[0].expected != nil {
			wrongKind.expected = append(wrongKind.expected, all[0].expected...)
			continue
		}
		if len(all) > 0 {
			near = append(near, all)
		}
	}
	switch len(near) {
	case 0:
		slices.Sort(wrongKind.expected)
		wrongKind.expected = slices.Compact(wrongKind.expected)
		return []finding{wrongKind}
	case 1:
		return near[0]
	}
	return say(failed.InstanceLocation, "fits none of the alternatives: %s", strings.Join(alternatives(near), "; or "))
}

// alternatives renders each branch by its first finding in order.
func alternatives(near [][]finding) []string {
	var texts []string
	for _, all := range near {
		var lines []string
		for _, f := range all {
			lines = append(lines, f.path+" "+f.text())
		}
		texts = append(texts, slices.Min(lines))
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}

func wrongValue(instance any, location, expected []string) finding {
	return finding{path: pointer(location), expected: expected, got: summary(valueAt(instance, location))}
}

func say(location []string, format string, args ...any) []finding {
	return []finding{{path: pointer(location), message: fmt.Sprintf(format, args...)}}
}

// named makes one finding per property name, at the place where the property would be.
func named(location, names []string, message string) []finding {
	all := make([]finding, 0, len(names))
	for _, name := range names {
		all = append(all, finding{path: pointer(append(slices.Clone(location), name)), message: message})
	}
	return all
}

// valueAt follows a location that the validator found in the same instance.
func valueAt(instance any, location []string) any {
	for _, token := range location {
		switch container := instance.(type) {
		case map[string]any:
			instance = container[token]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(container) {
				return nil
			}
			instance = container[i]
		}
	}
	return instance
}

// maxChoices is how many values of an enum a message lists.
const maxChoices = 20

func oneOf(values []any) string {
	var texts []string
	for _, value := range values[:min(len(values), maxChoices)] {
		text, err := json.Marshal(value)
		if err != nil {
			continue
		}
		texts = append(texts, shortened(string(text)))
	}
	if more := len(values) - maxChoices; more > 0 {
		texts = append(texts, fmt.Sprintf("… (%d more)", more))
	}
	if len(texts) == 1 {
		return texts[0]
	}
	return "one of " + strings.Join(texts, ", ")
}

// summary names a value's JSON type, and the value itself where it is a scalar.
func summary(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case bool:
		return fmt.Sprintf("boolean %t", value)
	case json.Number:
		return "number " + shortened(string(value))
	case string:
		return "string " + quoted(value)
	case []any:
		return fmt.Sprintf("array of %d items", len(value))
	}
	return "object"
}

// shortened bounds a value's JSON text in a message.
func shortened(text string) string {
	text, _ = bounds.Cut(text, quotedChars)
	return text
}
