package bounds

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCut(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text string
		n    int
		want string
		cut  bool
	}{
		{"", 1, "", false},
		{"", 0, "", false},
		{"abc", 3, "abc", false},
		{"abcd", 3, "ab…", true},
		{"abcd", 1, "…", true},
		{"abcd", 0, "", true},
		{"abcd", -1, "", true},
		{"äöü", 3, "äöü", false},
		{"äöüß", 3, "äö…", true},
		{"😀😀😀", 2, "😀…", true},
		{"e\u0301e\u0301", 3, "e\u0301…", true},
		{"a\xffb", 6, `a\xffb`, false},
		{"a\xffb", 5, `a\xf…`, true},
		{"\xed\xa0\x80", 12, `\xed\xa0\x80`, false},
		{"\ufffd", 1, "\ufffd", false},
		{strings.Repeat("x", 9000), 8192, strings.Repeat("x", 8191) + "…", true},
	}
	for _, test := range tests {
		if got, cut := Cut(test.text, test.n); got != test.want || cut != test.cut {
			t.Errorf("Cut(%.20q, %d) = %.20q, %t; want %.20q, %t", test.text, test.n, got, cut, test.want, test.cut)
		}
	}
}

// All places in texts of characters of all sizes, in bytes and in characters.
func TestRuneOffsets(t *testing.T) {
	t.Parallel()
	for size := range 40 {
		for _, unit := range []string{"a", "ä", "€", "😀", "a€ä😀"} {
			text := []byte(strings.Repeat(unit, size))
			runes := utf8.RuneCount(text)
			if got := countRunes(text); got != runes {
				t.Errorf("countRunes(%q) = %d, want %d", text, got, runes)
			}
			for n := range runes + 3 {
				offset := len(string([]rune(string(text))[:min(n, runes)]))
				if got := runesFromStart(text, n); got != offset {
					t.Errorf("runesFromStart(%q, %d) = %d, want %d", text, n, got, offset)
				}
				if got := runeOffset(text, runes, n); got != offset {
					t.Errorf("runeOffset(%q, %d, %d) = %d, want %d", text, runes, n, got, offset)
				}
				if got := runesFromEnd(text, max(runes-n, 0)); got != offset {
					t.Errorf("runesFromEnd(%q, %d) = %d, want %d", text, runes-n, got, offset)
				}
				if got := runesBefore(text, runes, offset); got != min(n, runes) {
					t.Errorf("runesBefore(%q, %d, %d) = %d, want %d", text, runes, offset, got, n)
				}
			}
		}
	}
}

func FuzzCut(f *testing.F) {
	f.Add("abc", 2)
	f.Add("a\xffb€😀", 5)
	f.Fuzz(func(t *testing.T, text string, n int) {
		got, cut := Cut(text, n)
		if !utf8.ValidString(got) {
			t.Fatalf("Cut(%q, %d) = %q: not UTF-8", text, n, got)
		}
		runes := utf8.RuneCountInString(got)
		switch {
		case cut && n >= 1 && (runes != n || !strings.HasSuffix(got, ellipsis)):
			t.Fatalf("Cut(%q, %d) = %q: %d characters", text, n, got, runes)
		case cut && !strings.HasPrefix(validText(text), strings.TrimSuffix(got, ellipsis)):
			t.Fatalf("Cut(%q, %d) = %q: another text", text, n, got)
		case !cut && (got != validText(text) || got != "" && runes > n):
			t.Fatalf("Cut(%q, %d) = %q uncut", text, n, got)
		}
	})
}
