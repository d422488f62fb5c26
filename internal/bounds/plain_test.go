package bounds

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"unicode/utf8"
)

// plainLengthModel is plainLength, one character at a time.
func plainLengthModel(data []byte) (length, runes int) {
	for length < len(data) {
		r, size := utf8.DecodeRune(data[length:])
		invalid := r == utf8.RuneError && size == 1
		if invalid || r >= 0x80 && r < 0xa0 || bytes.ContainsRune([]byte("\r\b\a\x0e\x0f\x1b"), r) {
			break
		}
		length += size
		runes++
	}
	return length, runes
}

// Every byte, and some characters, at every place in a word.
func TestPlainLength(t *testing.T) {
	t.Parallel()
	pieces := []string{"é", "€", "😀", "\u0080", "\u009f", "\u00a0", "\ufffd", "\ufeff", "\xe2\x82", "\xed\xa0\x80", "\xc0\x80"}
	for b := range 0x100 {
		pieces = append(pieces, string([]byte{byte(b)}))
	}
	random := rand.New(rand.NewPCG(1, 6))
	for _, piece := range pieces {
		for before := range 6 * wordBytes {
			data := bytes.Repeat([]byte("plain\n\t~"), 6)[:before]
			data = append(data, piece...)
			for range random.IntN(6 * wordBytes) {
				data = append(data, byte(random.IntN(0x100)))
			}
			length, runes := plainLength(data)
			if wantLength, wantRunes := plainLengthModel(data); length != wantLength || runes != wantRunes {
				t.Fatalf("%q: %d bytes, %d characters; want %d, %d", data, length, runes, wantLength, wantRunes)
			}
		}
	}
}

func FuzzPlainLength(f *testing.F) {
	f.Add([]byte("plain text\n\tü€😀 and \x1b[m"))
	f.Fuzz(func(t *testing.T, data []byte) {
		length, runes := plainLength(data)
		if wantLength, wantRunes := plainLengthModel(data); length != wantLength || runes != wantRunes {
			t.Fatalf("%q: %d bytes, %d characters; want %d, %d", data, length, runes, wantLength, wantRunes)
		}
	})
}
