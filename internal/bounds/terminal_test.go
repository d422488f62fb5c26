package bounds

import (
	"strings"
	"testing"
)

// collect returns the whole text of a stream that got the input in one write.
func collect(input string) string {
	s := NewStream(1<<30, nil)
	_, _ = s.Write([]byte(input))
	return s.Close().Render("")
}

type terminalTest struct{ name, input, want string }

func checkTerminal(t *testing.T, tests []terminalTest) {
	t.Helper()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := collect(test.input); got != test.want {
				t.Errorf("%q\n got %q\nwant %q", test.input, got, test.want)
			}
			single := NewStream(1<<30, nil)
			for _, b := range []byte(test.input) {
				_, _ = single.Write([]byte{b})
				if len(test.input) < lineChars {
					_ = single.Snapshot() // must not disturb
				}
			}
			if got := single.Close().Render(""); got != test.want {
				t.Errorf("%q byte by byte\n got %q\nwant %q", test.input, got, test.want)
			}
		})
	}
}

func TestTerminal_characters(t *testing.T) {
	t.Parallel()
	checkTerminal(t, []terminalTest{
		{"empty", "", ""},
		{"plain", "a\tb \n\n  ünï€😀\n", "a\tb \n\n  ünï€😀\n"},
		{"other controls", "a\x00b\x01\vc\fd\x7f", "a\x00b\x01\vc\fd\x7f"},
		{"invalid bytes", "a\xff\xc3(\xe2\x82z\xf0\x9f", `a\xff\xc3(\xe2\x82z\xf0\x9f`},
		{"overlong", "\xc0\x80", `\xc0\x80`},
		{"surrogate", "\xed\xb2\xaf", `\xed\xb2\xaf`},
		{"replacement character", "\ufffd", "\ufffd"},
		{"bell and shifts", "a\a\x0e\x0fb", "ab"},
		{"C1", "a\u0085\u0090b", `a\x85\x90b`},
		{"first and last C1", "a\u0080\u009fb\u00a0", `a\x80\x9fb` + "\u00a0"},
		{"misread quotes", "â\u0080\u009cone\u0080\u009d and \u0080\u009ctwo", `â\x80\x9cone\x80\x9d and \x80\x9ctwo`},
	})
}

func TestTerminal_sequences(t *testing.T) {
	t.Parallel()
	checkTerminal(t, []terminalTest{
		{"colour", "\x1b[1;31mred\x1b[0m \x1b[38;2;1;2;3mx\x1b[m \x1b[4:3my", "red x y"},
		{"C1 CSI", "\u009b31mred\u009b0m", "red"},
		{"private modes", "\x1b[?25la\x1b[?1049hb\x1b[>4;2mc\x1b[?2Kd\x1b[?Je\x1b[2 Af", "abcdef"},
		{"cursor style", "\x1b[2 qx", "x"},
		{"title, BEL", "\x1b]0;title\ax", "x"},
		{"title, ST", "\x1b]2;tïtle\x1b\\x", "x"},
		{"title, C1", "\u009d0;title\u009cx", "x"},
		{"hyperlink", "\x1b]8;;http://x/\x1b\\text\x1b]8;;\x1b\\.", "text."},
		{"DCS, APC, PM, SOS", "a\x1bP1$r0m\x1b\\b\x1b_Gi=1;AAAA\x1b\\c\x1b^pm\x1b\\d\x1bXsos\x1b\\e", "abcde"},
		{"single characters", "\x1b7a\x1b8\x1bcb\x1b=\x1b>\x1bMc", "abc"},
		{"intermediate", "\x1b(B\x1b[ma\x1b#8b\x1b$(Cc\x1b(ä", `abc\x1b(ä`},
		{"long string", "\x1b]8;;" + strings.Repeat("x", maximumString-len("\\x1b]8;;")) + "\ay", "y"},
		{"double escape", "\x1b\x1b[31mx", "x"},
		{"string ended by escape", "\x1b]0;t\x1b[31mx", `\x1b]0;tx`},
		{"string ended by newline", "\x1b]0;t\nx", "\\x1b]0;t\nx"},
		{"unfinished ESC", "a\x1b", `a\x1b`},
		{"unfinished CSI", "a\x1b[31", `a\x1b[31`},
		{"unfinished string", "a\x1b]0;t", `a\x1b]0;t`},
		{"unfinished ST", "a\x1b]0;t\x1b", `a\x1b]0;t\x1b`},
		{"broken CSI", "\x1b[3ä\x1b[\nb\x1b[3\rc", "\\x1b[3ä\\x1b[\nc\\x1b[3"},
		{"broken by invalid byte", "\x1b[3\xffm\x1b]\x1b\xff", `\x1b[3\xffm\x1b]\x1b\xff`},
		{"no escape", "\x1bä\x1b\n", "\\x1bä\\x1b\n"},
		{"endless CSI", "\x1b[" + strings.Repeat("1", 300) + "mx", `\x1b[` + strings.Repeat("1", 300) + "mx"},
		{"endless intermediate", "\x1b" + strings.Repeat(" ", 300) + "Fx", `\x1b` + strings.Repeat(" ", 300) + "Fx"},
		{
			"string that ends too late", "\x1bP" + strings.Repeat("é", maximumString) + "\x1b\\x",
			`\x1bP` + strings.Repeat("é", maximumString) + "x",
		},
	})
}

func TestTerminal_cursor(t *testing.T) {
	t.Parallel()
	checkTerminal(t, []terminalTest{
		{"CRLF", "a\r\nb\r\r\n", "a\nb\n"},
		{"overlay", "12345\rab", "ab345"},
		{"overlay wide text", "ä€😀x\r12", "12😀x"},
		{"wide overlay", "abcd\r€😀", "€😀cd"},
		{"return only", "abc\r", "abc"},
		{"blanks of a redrawn line", "12345\rab   \n", "ab\n"},
		{"blanks of a plain line", "ab   \n", "ab   \n"},
		{"backspace", "abc\b\bX\b\b\b\bY", "YXc"},
		{"overstrike", "b\bbo\bo _\bx", "bo x"},
		{"left and right", "abc\x1b[2DX\x1b[3CY", "aXc  Y"},
		{"column", "abcdef\x1b[3GX\x1b[GY\x1b[9`Z", "YbXdef  Z"},
		{"up and down", "aaa\nbbb\n\x1b[2Ax\x1b[By\x1b[E z\n", "xaa\nbyb\n z\n"},
		{"previous line", "aaa\nbbb\x1b[Fx", "xaa\nbbb"},
		{"above the top", "a\nb\x1b[99AX", "aX\nb"},
		{"below the bottom", "a\x1b[2Bb", "a\n\n b"},
		{"far below", "a\x1b[9999Eb", "a" + strings.Repeat("\n", pastBottom) + "b"},
		{"far right", "a\x1b[9999Cb", "a" + strings.Repeat(" ", pastEnd-1) + "b"},
		{"right of a long line", strings.Repeat("x", 300) + "\x1b[9Cb", strings.Repeat("x", 300) + "b"},
		{
			"up from a long line", "a\n" + strings.Repeat("x", 300) + "\x1b[Ab",
			"a" + strings.Repeat(" ", pastEnd-1) + "b\n" + strings.Repeat("x", 300),
		},
		{"zero is one", "ab\x1b[0DX", "aX"},
		{"huge number", "ab\x1b[99999999999999999999DX", "Xb"},
		{"absolute position", "abc\x1b[H\x1b[2Jnew\x1b[5;7Hx\n\x1b[fy", "abc\nnew\nx\ny"},
	})
}

func TestTerminal_erasing(t *testing.T) {
	t.Parallel()
	checkTerminal(t, []terminalTest{
		{"to the end", "abcdef\x1b[3D\x1b[K", "abc"},
		{"to the start", "abcdef\x1b[3D\x1b[1K", "    ef"},
		{"to the start, wide", "ä€😀x\x1b[2D\x1b[1K", "   x"},
		{"to the start, past the end", "abc\x1b[9C\x1b[1Kx", strings.Repeat(" ", 12) + "x"},
		{"line", "abcdef\x1b[2Kx", "      x"},
		{"line, then return", "abcdef\x1b[2K\rx", "x"},
		{"cleared lines at the end", "a\nb\nc\x1b[2K\x1b[A\r\x1b[2K\x1b[A", "a"},
		{"empty lines at the end", "a\n\n\x1b[2A", "a\n\n"},
		{"unknown mode", "abc\x1b[7K", "abc"},
		{"below", "a\nb\nc\x1b[2A\r\x1b[Jx", "x"},
		{"below, in the middle", "abc\ndef\x1b[A\x1b[D\x1b[J.", "ab."},
		{"below, then more lines", "a\nb\nc\x1b[2A\x1b[J\nd\n", "a\nd\n"},
		{"screen", "a\x1b[2J\x1b[3Jb", "ab"},
		{"above", "a\nbcd\x1b[2D\x1b[1J", "a\nbcd"},
		{"long column after erasing", strings.Repeat("x", lineChars) + "\x1b[2Ky", strings.Repeat(" ", pastEnd) + "y"},
	})
}

func TestTerminal_progressBars(t *testing.T) {
	t.Parallel()
	checkTerminal(t, []terminalTest{
		{
			"tqdm", "\r  0%|          | 0/2\r 50%|█████     | 1/2\r100%|██████████| 2/2\ndone\n",
			"100%|██████████| 2/2\ndone\n",
		},
		{"tqdm, not left", "\r 50%|█    | 1/2\r               \rdone\n", "done\n"},
		{
			"nested tqdm",
			"\r0%| | 0/2\n\r0%| | 0/3\x1b[A\n\r100%|#| 3/3\x1b[A\r50%|#| 1/2" +
				"\n\r100%|#| 3/3\x1b[A\r100%|#| 2/2\n\n",
			"100%|#| 2/2\n100%|#| 3/3\n",
		},
		{
			"nested tqdm, inner not left",
			"\r0%| | 0/2\n\r0%| | 0/3\x1b[A\n\r         \r\x1b[A\r100%|#| 2/2", "100%|#| 2/2",
		},
		{
			"rich", "\x1b[?25l\x1b[34mA\x1b[0m 10%\nB 20%\r\x1b[2K\x1b[1A\x1b[2KA 90%\nB 95%\n\x1b[?25h",
			"A 90%\nB 95%\n",
		},
		{"spinner", "\x1b[?25l|\b/\b-\b\\\b \bdone\x1b[?25h\n", "done\n"},
		{"shrinking", "downloading\r\x1b[Kok\n", "ok\n"},
	})
}

// What has left the window stays as it is, the rest can still be redrawn.
func TestTerminal_window(t *testing.T) {
	t.Parallel()
	lines := func(n int) string { return strings.Repeat("line\n", n) }
	half := strings.Repeat("x", lineChars/2)
	checkTerminal(t, []terminalTest{
		{"top line", lines(windowLines-1) + "\x1b[99AX", "Xine\n" + lines(windowLines-2)},
		{"scrolled", lines(windowLines) + "\x1b[99AX", "line\nXine\n" + lines(windowLines-2)},
		{"full line", half + half + "\rX", "X" + half[1:] + half},
		{"long line", half + half + "y\rX", half + "X" + half[1:] + "y"},
		{
			"long wide line", strings.Repeat("€", 3*lineChars) + "\rX",
			strings.Repeat("€", 2*lineChars) + "X" + strings.Repeat("€", lineChars-1),
		},
		{"lines above a long one", "a\n" + half + half + "y\x1b[99A\rX", "a\n" + half + "X" + half[1:] + "y"},
		{"a long line above others", half + half + "\nb\x1b[A\x1b[9999Cy\nc", half + half + "y\nc"},
	})
}
