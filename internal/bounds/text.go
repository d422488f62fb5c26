package bounds

import (
	"encoding/binary"
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

// runesFromStart is the length in bytes of the first n characters of s, or len(s) if it has fewer.
func runesFromStart[T string | []byte](s T, n int) int {
	offset := 0
	for ; n > 0 && offset < len(s); n-- {
		offset++
		for offset < len(s) && !utf8.RuneStart(s[offset]) {
			offset++
		}
	}
	return offset
}

// runesFromEnd is where the last n characters of s start, or 0 if it has fewer.
func runesFromEnd[T string | []byte](s T, n int) int {
	offset := len(s)
	for ; n > 0 && offset > 0; n-- {
		offset--
		for offset > 0 && !utf8.RuneStart(s[offset]) {
			offset--
		}
	}
	return offset
}

// wordBytes is how many bytes the scans below take at a time.
const wordBytes = 8

// countRunes counts the characters of valid UTF-8. It is several times faster than [utf8.RuneCount], which must also
// find invalid bytes.
func countRunes(text []byte) int {
	count := len(text)
	for len(text) >= wordBytes {
		word := binary.LittleEndian.Uint64(text)
		// A byte that continues a character has its highest bit set and the next one clear.
		count -= bits.OnesCount64(word >> 7 & ^(word >> 6) & 0x0101010101010101)
		text = text[wordBytes:]
	}
	for _, b := range text {
		if !utf8.RuneStart(b) {
			count--
		}
	}
	return count
}
