package server

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// decodeString returns the text of a valid JSON string, as encoding/json does, but in one pass that copies what
// stands between escapes. A lone surrogate becomes U+FFFD; escapeLoneSurrogates comes first where that matters.
func decodeString(raw json.RawMessage) string {
	rest := raw[1 : len(raw)-1]
	escape := bytes.IndexByte(rest, '\\')
	if escape < 0 {
		return string(rest)
	}
	text := make([]byte, 0, len(rest))
	for ; escape >= 0; escape = bytes.IndexByte(rest, '\\') {
		text = append(text, rest[:escape]...)
		rest = rest[escape:]
		unit := escapedUnit(rest, 0)
		if unit < 0 {
			text = append(text, unescaped(rest[1]))
			rest = rest[2:]
			continue
		}
		char, size := rune(unit), 6
		if utf16.IsSurrogate(char) {
			if char = utf16.DecodeRune(char, rune(escapedUnit(rest, 6))); char != utf8.RuneError {
				size = 12
			}
		}
		text = utf8.AppendRune(text, char)
		rest = rest[size:]
	}
	return string(append(text, rest...))
}

// unescaped is what the two-character escape with this letter stands for.
func unescaped(letter byte) byte {
	switch letter {
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'r':
		return '\r'
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	}
	return letter // a quote, a slash, a backslash
}

// escapeLoneSurrogates makes each escape of a lone surrogate in valid JSON visible: "\ud83d" becomes the six
// characters \ud83d. Go's decoder would silently make U+FFFD of it, and no lone surrogate may reach Python or the
// wire. The pass works on raw JSON because after decoding the difference is gone. It returns raw itself where there
// is nothing to do.
func escapeLoneSurrogates(raw json.RawMessage) json.RawMessage {
	if !bytes.Contains(raw, []byte(`\ud`)) && !bytes.Contains(raw, []byte(`\uD`)) {
		return raw
	}
	var out []byte
	kept := 0
	for i := 0; ; {
		next := bytes.IndexByte(raw[i:], '\\')
		if next < 0 {
			break
		}
		i += next
		unit := escapedUnit(raw, i)
		switch {
		case unit < 0: // a two-character escape
			i += 2
		case unit < 0xd800 || unit > 0xdfff:
			i += 6
		case unit < 0xdc00 && isLowSurrogate(escapedUnit(raw, i+6)):
			i += 12
		default:
			out = append(out, raw[kept:i]...)
			out = append(out, '\\')
			out = append(out, bytes.ToLower(raw[i:i+6])...)
			i += 6
			kept = i
		}
	}
	if kept == 0 {
		return raw
	}
	return append(out, raw[kept:]...)
}

// escapedUnit returns the UTF-16 code unit of the \uXXXX escape at i, or -1 if there is none.
func escapedUnit(raw []byte, i int) int {
	if i+6 > len(raw) || raw[i] != '\\' || raw[i+1] != 'u' {
		return -1
	}
	unit, err := strconv.ParseUint(string(raw[i+2:i+6]), 16, 16)
	if err != nil {
		return -1
	}
	return int(unit)
}

func isLowSurrogate(unit int) bool { return unit >= 0xdc00 && unit <= 0xdfff }
