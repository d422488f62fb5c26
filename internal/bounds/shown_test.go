package bounds

import "testing"

func TestShown(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"":                                 "",
		"a\rb\x07 ✓\n":                     "a\rb\x07 ✓\n",
		"\x1b[1;31mred\x1b[0m":             "red",
		"\u009b31mred":                     "red",
		"\x1b]8;;http://x\x1b\\link\x1b[K": "link",
		"100\r\x1b[K99\n":                  "99\n",
		"a\x1b[3Cb":                        "a   b",
		"Â":                                "Â",
	}
	for text, want := range tests {
		if got := Shown(text); got != want {
			t.Errorf("Shown(%q) = %q, want %q", text, got, want)
		}
	}
}
