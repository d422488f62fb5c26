package bounds

import (
	"math/bits"
	"unicode/utf8"
)

// ellipsis ends a text that was cut.
const ellipsis = "…"

// Cut shortens a text of more than n characters to n-1 of them and an ellipsis, and reports whether it did. Bytes that
// are not UTF-8 become visible as \xNN first. Of n below 1 comes an empty text.
func Cut(s string, n int) (string, bool) {
	s = validText(s)
	if len(s) <= n || runesFromStart(s, n) == len(s) {
		return s, false
	}
	if n < 1 {
		return "", true
	}
	return s[:runesFromStart(s, n-1)] + ellipsis, true
}

// validText makes every byte that is not UTF-8 visible.
func validText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string(appendValid(nil, []byte(s)))
}

// appendValid appends data to text with every byte that is not UTF-8 made visible.
func appendValid(text, data []byte) []byte {
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		if r == utf8.RuneError && size == 1 {
			text = appendVisible(text, data[0])
		} else {
			text = append(text, data[:size]...)
		}
		data = data[size:]
	}
	return text
}

// appendVisible appends a byte, or a control character below U+0100, as \xNN.
func appendVisible(text []byte, b byte) []byte {
	const digits = "0123456789abcdef"
	return append(text, '\\', 'x', digits[b>>4], digits[b&15])
}

// runesFromStart is the length in bytes of the first n characters of s, which is valid UTF-8, or len(s) if it has fewer.
func runesFromStart[T string | []byte](s T, n int) int {
	offset := 0
	for n >= wordBytes && len(s)-offset >= wordBytes {
		n -= startsIn(wordAt(s, offset))
		offset += wordBytes
	}
	for offset > 0 && offset < len(s) && !utf8.RuneStart(s[offset]) {
		offset++
	}
	for ; n > 0 && offset < len(s); n-- {
		offset++
		for offset < len(s) && !utf8.RuneStart(s[offset]) {
			offset++
		}
	}
	return offset
}

// runesFromEnd is where the last n characters of valid UTF-8 start, or 0 if it has fewer.
func runesFromEnd(text []byte, n int) int {
	offset := len(text)
	for n >= wordBytes && offset >= wordBytes {
		n -= startsIn(wordAt(text, offset-wordBytes))
		offset -= wordBytes
	}
	for ; n > 0 && offset > 0; n-- {
		offset--
		for offset > 0 && !utf8.RuneStart(text[offset]) {
			offset--
		}
	}
	return offset
}

// runeOffset is where character n starts in valid UTF-8 of so many characters, or its length if it has fewer.
func runeOffset(text []byte, runes, n int) int {
	switch {
	case len(text) == runes:
		return min(n, runes)
	case n > runes/2:
		return runesFromEnd(text, runes-n)
	}
	return runesFromStart(text, n)
}

// runesBefore counts the characters before a byte offset in valid UTF-8 of so many characters.
func runesBefore(text []byte, runes, offset int) int {
	switch {
	case len(text) == runes:
		return offset
	case offset > len(text)/2:
		return runes - countRunes(text[offset:])
	}
	return countRunes(text[:offset])
}

// wordBytes is how many bytes the scans below take at a time.
const wordBytes = 8

// countRunes counts the characters of valid UTF-8. It is several times faster than [utf8.RuneCount], which must also
// find invalid bytes.
func countRunes(text []byte) int {
	count, offset := 0, 0
	for ; len(text)-offset >= wordBytes; offset += wordBytes {
		count += startsIn(wordAt(text, offset))
	}
	for _, b := range text[offset:] {
		if utf8.RuneStart(b) {
			count++
		}
	}
	return count
}

// wordAt is the word that starts at the offset.
func wordAt[T string | []byte](s T, offset int) uint64 {
	word := s[offset : offset+wordBytes]
	return uint64(word[0]) | uint64(word[1])<<8 | uint64(word[2])<<16 | uint64(word[3])<<24 |
		uint64(word[4])<<32 | uint64(word[5])<<40 | uint64(word[6])<<48 | uint64(word[7])<<56
}

// startsIn counts the bytes of a word that start a character: the others have the highest bit set and the next one
// clear.
func startsIn(word uint64) int {
	return wordBytes - bits.OnesCount64(word>>7&^(word>>6)&0x0101010101010101)
}
