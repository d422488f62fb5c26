package bounds

import (
	"math/bits"
	"unicode/utf8"
)

// plainLength is the length of the longest beginning of data that the screen takes as it is, in bytes and in characters:
// valid UTF-8 in which nothing but newlines moves the cursor.
func plainLength(data []byte) (length, runes int) {
	i, continued := 0, 0 // continued: bytes that continue a character
	for {
		i += blandLength(data[i:])
		for i < len(data) && data[i] >= utf8.RuneSelf {
			r, size := utf8.DecodeRune(data[i:])
			if r == utf8.RuneError && size == 1 || r < 0xa0 {
				return i, i - continued
			}
			i += size
			continued += size - 1
		}
		switch {
		case i == len(data) || data[i] < ' ' && isHandled[data[i]]:
			return i, i - continued
		case data[i] < ' ':
			i++
		}
	}
}

// isHandled tells the characters below the space that the screen must not take as they are.
var isHandled = [' ']bool{'\r': true, '\b': true, bell: true, '\x0e': true, '\x0f': true, escape: true}

// blandLength is how many bytes at the beginning of data are bland: ASCII from the space on, or a tab, newline, vertical
// tab or form feed. It is the inner loop of all plain output.
func blandLength(data []byte) int {
	i := 0
	for ; len(data)-i >= 4*wordBytes; i += 4 * wordBytes {
		block := (*[4 * wordBytes]byte)(data[i:])
		odd := oddBits(wordAt(block[:], 0)) | oddBits(wordAt(block[:], wordBytes)) |
			oddBits(wordAt(block[:], 2*wordBytes)) | oddBits(wordAt(block[:], 3*wordBytes))
		if odd&highBits != 0 {
			break
		}
	}
	for ; len(data)-i >= wordBytes; i += wordBytes {
		if odd := oddBits(wordAt(data, i)) & highBits; odd != 0 {
			return i + bits.TrailingZeros64(odd)/8
		}
	}
	for i < len(data) && oddBits(uint64(data[i]))&0x80 == 0 {
		i++
	}
	return i
}

// oddBits has the highest bit of the first byte of the word set that is not bland, and of none before it; bytes behind
// a byte that is not ASCII may be wrong. Its other bits say nothing.
func oddBits(word uint64) uint64 {
	const each = highBits >> 7
	// In each sum and difference, the highest bit is set where the comparison is true, and nothing is carried as long as
	// the bytes are ASCII.
	belowSpace, belowTab, fromReturn := each*(0x80+' '-1)-word, each*(0x80+'\t'-1)-word, word+each*(0x80-'\r')
	return word | belowSpace&(belowTab|fromReturn)
}

// highBits is the highest bit of each byte of a word.
const highBits = 0x8080808080808080
