package bounds

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func FuzzStream(f *testing.F) {
	for _, seed := range []string{
		"plain\ntext ü€😀\n", "a\r\nb\r\n", "\x1b[31mred\x1b[0m", "\xff\xe2\x82\xed\xa0\x80",
		"\r0%| | 0/2\n\r0%| | 0/3\x1b[A\n\r100%|█| 3/3\x1b[A\r\x1b[2K50%",
		"\x1b]0;title\a\x1bP1\x1b\\x\u009b2Kx\u009d0;t\u009c",
		"\x1b[5Ax\x1b[9By\x1b[3Cz\x1b[2D\x1b[1K\x1b[J\b\b\x1b[H.", strings.Repeat("x", lineChars+1) + "\rX",
		"a\n\x1b[A" + strings.Repeat("line\n", straightBytes/4) + "\x1b[99AX\n",
	} {
		f.Add([]byte(seed), uint16(5), uint64(1))
	}
	f.Fuzz(func(t *testing.T, input []byte, limit uint16, seed uint64) {
		checkSplits(t, input, int(limit)+1, rand.New(rand.NewPCG(seed, 4)))
	})
}

func FuzzSpool(f *testing.F) {
	f.Add("text ü€😀\n", uint16(20), uint16(3), uint16(5))
	f.Fuzz(func(t *testing.T, text string, bytes, offset, limit uint16) {
		text = validText(text)
		s := NewSpool(t.TempDir(), int64(bytes))
		_, err := s.Write([]byte(text))
		want := text
		for i := range text + "\n" { // every place between characters
			if i <= int(bytes) {
				want = text[:i]
			}
		}
		if (err != nil) != (want != text) {
			t.Fatalf("%q up to %d bytes: %v", text, bytes, err)
		}
		checkRead(t, s, []rune(want), int64(offset), int64(limit))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
