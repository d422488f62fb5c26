package envprov

import (
	"encoding/json"
	"regexp"
	"unicode/utf8"
)

// jsonString is a string in a setting. The decoder replaces what is no text without a word; problem says what.
type jsonString struct {
	text    string
	problem string
}

// surrogateEscape matches the escapes of a JSON string; a lone surrogate's is in the group.
var surrogateEscape = regexp.MustCompile(`\\u[dD][89abAB][[:xdigit:]]{2}\\u[dD][c-fC-F][[:xdigit:]]{2}|` +
	`(\\u[dD][89a-fA-F][[:xdigit:]]{2})|\\.`)

// UnmarshalJSON implements json.Unmarshaler.
func (s *jsonString) UnmarshalJSON(raw []byte) error {
	for _, escape := range surrogateEscape.FindAllSubmatch(raw, -1) {
		if escape[1] != nil {
			s.problem = "contains half a surrogate pair, which is no character"
		}
	}
	if !utf8.Valid(raw) {
		s.problem = "contains bytes that are no UTF-8"
	}
	return json.Unmarshal(raw, &s.text)
}
