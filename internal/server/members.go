package server

import (
	"bytes"
	"encoding/json"
)

// A message is scanned by encoding/json once, which proves it valid, and then taken apart here without another look
// at its contents: strings are passed over with bytes.IndexByte. Decoding level by level (message, params, arguments,
// code) would scan a 64 MB cell eight times. All functions in this file need valid JSON in valid UTF-8.

// members calls yield for each member of an object, in order, with the raw bytes of the value. It reports whether raw
// is an object.
func members(raw []byte, yield func(key string, value json.RawMessage)) bool {
	i := skipSpace(raw, 0)
	if i == len(raw) || raw[i] != '{' {
		return false
	}
	for i = skipSpace(raw, i+1); raw[i] != '}'; {
		end := skipString(raw, i)
		key := decodeString(raw[i:end])
		i = skipSpace(raw, skipSpace(raw, end)+1) // the colon
		end = skipValue(raw, i)
		yield(key, raw[i:end:end])
		if i = skipSpace(raw, end); raw[i] == ',' {
			i = skipSpace(raw, i+1)
		}
	}
	return true
}

// member returns a member of an object, the last one of that name; nil where there is none, and where raw is no object.
func member(raw []byte, name string) (found json.RawMessage) {
	members(raw, func(key string, value json.RawMessage) {
		if key == name {
			found = value
		}
	})
	return found
}

func skipSpace(raw []byte, i int) int {
	for i < len(raw) && (raw[i] == ' ' || raw[i] == '\t' || raw[i] == '\r' || raw[i] == '\n') {
		i++
	}
	return i
}

// skipString returns the index behind the string that starts at i.
func skipString(raw []byte, i int) int {
	for i++; ; i++ {
		i += bytes.IndexByte(raw[i:], '"')
		backslash := i
		for raw[backslash-1] == '\\' {
			backslash--
		}
		if (i-backslash)%2 == 0 {
			return i + 1
		}
	}
}

// skipValue returns the index behind the value that starts at i.
func skipValue(raw []byte, i int) int {
	switch raw[i] {
	case '"':
		return skipString(raw, i)
	case '{', '[':
		end, _ := skipNested(raw, i)
		return end
	}
	for ; i < len(raw); i++ {
		switch raw[i] {
		case ',', '}', ']', ' ', '\t', '\r', '\n':
			return i
		}
	}
	return i
}

// skipNested returns the index behind the object or array that starts at i, and how deep it is nested.
func skipNested(raw []byte, i int) (end, deepest int) {
	for depth := 0; ; {
		switch raw[i] {
		case '"':
			i = skipString(raw, i)
			continue
		case '{', '[':
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1, deepest
			}
		}
		i++
	}
}
