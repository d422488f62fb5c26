package dyntools

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/invopop/jsonschema"
)

// render writes a schema as compact JSON, properties in their order. People and models read it, so that characters
// which encoding/json escapes for the sake of HTML and JavaScript stand as they are.
func render(s *jsonschema.Schema) (json.RawMessage, error) {
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("the schema cannot be written as JSON: %w", err)
	}
	return unescape(raw), nil
}

var htmlEscapes = map[string]string{`\u003c`: "<", `\u003e`: ">", `\u0026`: "&", `\u2028`: "\u2028", `\u2029`: "\u2029"}

// unescape replaces htmlEscapes; a backslash that is itself escaped starts no escape.
func unescape(raw []byte) []byte {
	const length = len(`\u003c`)
	var out bytes.Buffer
	for i := 0; i < len(raw); {
		switch {
		case raw[i] != '\\' || i+1 == len(raw):
			out.WriteByte(raw[i])
			i++
		case i+length <= len(raw) && htmlEscapes[string(raw[i:i+length])] != "":
			out.WriteString(htmlEscapes[string(raw[i:i+length])])
			i += length
		default:
			out.Write(raw[i : i+2])
			i += 2
		}
	}
	return out.Bytes()
}
