package dyntools

import (
	"slices"
	"unicode"
	"unicode/utf8"
)

// keywords are Python's reserved words; soft keywords (match, case, type, _) are ordinary names.
var keywords = []string{
	"False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del",
	"elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal",
	"not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
}

// notIdentifier holds the characters that Unicode's ID_Start has and Python's XID_Start has not.
var notIdentifier = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x037a, Hi: 0x037a, Stride: 1},
		{Lo: 0x2e2f, Hi: 0x2e2f, Stride: 1},
		{Lo: 0x309b, Hi: 0x309c, Stride: 1},
		{Lo: 0xfc5e, Hi: 0xfc63, Stride: 1},
		{Lo: 0xfdfa, Hi: 0xfdfb, Stride: 1},
		{Lo: 0xfe70, Hi: 0xfe7e, Stride: 2},
	},
}

// onlyContinues holds the characters of ID_Start that Python accepts after the first place only.
var onlyContinues = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x0e33, Hi: 0x0e33, Stride: 1},
		{Lo: 0x0eb3, Hi: 0x0eb3, Stride: 1},
		{Lo: 0xff9e, Hi: 0xff9f, Stride: 1},
	},
}

// isIdentifier says whether Python would take a text as a name: str.isidentifier, as far as Go's Unicode version
// knows the characters, and no keyword.
func isIdentifier(s string) bool {
	if s == "" || !utf8.ValidString(s) {
		return false
	}
	for i, r := range s {
		if i == 0 && !startsIdentifier(r) || !continuesIdentifier(r) {
			return false
		}
	}
	return !slices.Contains(keywords, s)
}

func startsIdentifier(r rune) bool {
	return (r == '_' || unicode.In(r, unicode.L, unicode.Nl, unicode.Other_ID_Start)) &&
		!unicode.In(r, notIdentifier, onlyContinues)
}

func continuesIdentifier(r rune) bool {
	return startsIdentifier(r) ||
		unicode.In(r, onlyContinues, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc, unicode.Other_ID_Continue)
}
