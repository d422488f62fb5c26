package bounds

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCutMiddle(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text    string
		limit   int
		hint    string
		want    string
		omitted int
	}{
		{"", 4, "", "", 0},
		{"abcd", 4, "h", "abcd", 0},
		{"abcde", 4, "", "ab\n… 1 characters omitted (of 5) …\nde", 1},
		{"abcdefgh", 5, "", "ab\n… 3 characters omitted (of 8) …\nfgh", 3},
		{"abcdefgh", 1, "", "… 7 characters omitted (of 8) …\nh", 7},
		{"a\nbcd\ne", 4, "", "a\n… 3 characters omitted (of 7) …\n\ne", 3},
		{"äöüß€", 2, "x=1", "ä\n… 3 characters omitted (of 5); x=1 …\n€", 3},
		{"\xff\xfe", 4, "", "\\x\n… 4 characters omitted (of 8) …\nfe", 4},
	}
	for _, test := range tests {
		got, omitted := CutMiddle(test.text, test.limit, test.hint)
		if got != test.want || omitted != test.omitted {
			t.Errorf("CutMiddle(%q, %d) = %q, %d; want %q, %d",
				test.text, test.limit, got, omitted, test.want, test.omitted)
		}
	}
}

func FuzzCutMiddle(f *testing.F) {
	f.Add("abcdef", uint16(3))
	f.Add("a\n\xff€😀\n", uint16(4))
	f.Fuzz(func(t *testing.T, text string, limit16 uint16) {
		limit := int(limit16) + 1
		got, omitted := CutMiddle(text, limit, "")
		text = validText(text)
		total := utf8.RuneCountInString(text)
		if omitted != max(total-limit, 0) {
			t.Fatalf("limit %d of %d: %d omitted", limit, total, omitted)
		}
		runes := []rune(text)
		want := text
		if omitted > 0 {
			head := string(runes[:limit/2])
			if head != "" && !strings.HasSuffix(head, "\n") {
				head += "\n"
			}
			tail := string(runes[limit/2+omitted:])
			want = fmt.Sprintf("%s… %d characters omitted (of %d) …\n%s", head, omitted, total, tail)
		}
		if got != want {
			t.Fatalf("limit %d of %q: %q, want %q", limit, text, got, want)
		}
	})
}
