package tests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// address is what Python shows of where an object lies, as much of it as was not cut; taskNumber counts asyncio's
// tasks.
var (
	address    = regexp.MustCompile(`\b0x[0-9a-f]+`)
	taskNumber = regexp.MustCompile(`\bTask-[0-9]+`)
	clock      = regexp.MustCompile(`\b[0-9]{2}:[0-9]{2}:[0-9]{2}\b`)
)

// render prints a structured answer one field a line, in the answer's order: nested fields with dots, texts of several
// lines indented below a bar, what user code returned as JSON. Fields that say nothing (null, empty, false, 0) are left
// out, as TestFields sees to their being there; ok is always shown.
func render(t *testing.T, structured json.RawMessage) string {
	t.Helper()
	var out strings.Builder
	renderObject(t, &out, "", structured)
	return out.String()
}

// opaque are the fields that hold the user's values.
var opaque = map[string]bool{"result": true, "data": true, "metadata": true}

func renderObject(t *testing.T, out *strings.Builder, prefix string, object json.RawMessage) {
	t.Helper()
	eachField(t, object, func(name string, value json.RawMessage) {
		path := prefix + name
		switch {
		case opaque[name] && string(value) != "null" && string(value) != "{}":
			fmt.Fprintf(out, "%s: %s\n", path, compacted(t, value))
		case name != "ok" && saysNothing(value):
		case value[0] == '{':
			renderObject(t, out, path+".", value)
		case bytes.HasPrefix(value, []byte("[{")):
			for i, item := range decodeInto[[]json.RawMessage](t, value) {
				renderObject(t, out, fmt.Sprintf("%s[%d].", path, i), item)
			}
		case value[0] == '"':
			renderText(out, path, decodeInto[string](t, value))
		default:
			fmt.Fprintf(out, "%s: %s\n", path, compacted(t, value))
		}
	})
}

func renderText(out *strings.Builder, path, text string) {
	if !strings.Contains(strings.TrimSuffix(text, "\n"), "\n") {
		encoded := new(bytes.Buffer)
		encoder := json.NewEncoder(encoded)
		encoder.SetEscapeHTML(false)
		_ = encoder.Encode(text) // strings always encode
		fmt.Fprintf(out, "%s: %s", path, encoded)
		return
	}
	end := "|"
	if !strings.HasSuffix(text, "\n") {
		end = "|-" // as in YAML: no newline at the end
	}
	fmt.Fprintf(out, "%s: %s\n", path, end)
	for line := range strings.Lines(text) {
		fmt.Fprintf(out, "    %s\n", strings.TrimSuffix(line, "\n"))
	}
}

func saysNothing(value json.RawMessage) bool {
	switch string(value) {
	case "null", "false", "0", `""`, "[]", "{}":
		return true
	}
	return false
}

// eachField calls f for each member of a JSON object, in order.
func eachField(t *testing.T, object json.RawMessage, f func(name string, value json.RawMessage)) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(object))
	next := func() json.Token {
		token, err := decoder.Token()
		if err != nil {
			t.Fatalf("%v in %s", err, object)
		}
		return token
	}
	if next() != json.Delim('{') {
		t.Fatalf("no object: %s", object)
	}
	for decoder.More() {
		name := next().(string) // a member's name is a string
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			t.Fatal(err)
		}
		f(name, value)
	}
}

func compacted(t *testing.T, value json.RawMessage) string {
	t.Helper()
	var out bytes.Buffer
	if err := json.Compact(&out, value); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
