package bounds

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// CanonicalJSON encodes v, or recodes it if it is a [json.RawMessage], as compact JSON with sorted keys and no newline
// at the end. Numbers stay as they are written, and so do all characters that JSON does not force to be escaped. Of a
// key that is there twice, the last value counts.
func CanonicalJSON(v any) ([]byte, error) {
	raw, isRaw := v.(json.RawMessage)
	if !isRaw {
		var err error
		if raw, err = json.Marshal(v); err != nil {
			return nil, fmt.Errorf("cannot encode a %T as JSON: %v", v, err)
		}
	}
	value, err := decodeOne(raw)
	if err != nil {
		return nil, fmt.Errorf("cannot decode %d bytes of JSON: %v", len(raw), err)
	}
	return appendCanonical(nil, value), nil
}

// decodeOne decodes one value and nothing else, with its numbers as they are written.
func decodeOne(raw []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	switch err := decoder.Decode(&value); {
	case err == io.EOF:
		return nil, errors.New("there is no value")
	case err != nil:
		return nil, err
	}
	end := decoder.InputOffset()
	if _, err := decoder.Token(); err != io.EOF {
		return nil, fmt.Errorf("there is more than the value that ends at byte %d", end)
	}
	return value, nil
}

// appendCanonical encodes what a decoder with UseNumber makes.
func appendCanonical(out []byte, value any) []byte {
	switch v := value.(type) {
	case nil:
		return append(out, "null"...)
	case bool:
		return fmt.Appendf(out, "%t", v)
	case json.Number:
		return append(out, v...)
	case string:
		return appendJSONString(out, v)
	case []any:
		out = append(out, '[')
		for i, item := range v {
			if i > 0 {
				out = append(out, ',')
			}
			out = appendCanonical(out, item)
		}
		return append(out, ']')
	case map[string]any:
		out = append(out, '{')
		for i, key := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(appendJSONString(out, key), ':')
			out = appendCanonical(out, v[key])
		}
		return append(out, '}')
	}
	panic(fmt.Sprintf("bounds: a JSON decoder made a %T", value))
}

// appendJSONString escapes only what JSON forces: the quote, the backslash and control characters. The standard encoder
// also escapes U+2028 and U+2029.
func appendJSONString(out []byte, s string) []byte {
	const short = "btn\x00fr" // the letters for U+0008 to U+000D
	out = append(out, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c >= '\b' && c <= '\r' && c != '\v':
			out = append(out, '\\', short[c-'\b'])
		case c < ' ':
			out = fmt.Appendf(out, `\u%04x`, c)
		default:
			out = append(out, c)
		}
	}
	return append(out, '"')
}
