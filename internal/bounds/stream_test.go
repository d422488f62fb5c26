package bounds

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

// writeSplit writes the input in pieces of random sizes.
func writeSplit(s *Stream, input []byte, random *rand.Rand, size int) {
	for len(input) > 0 {
		n := min(1+random.IntN(size), len(input))
		_, _ = s.Write(input[:n])
		input = input[n:]
	}
}

// randomOutput is about so many bytes of everything that programs write, and of what none should.
func randomOutput(random *rand.Rand, size int) []byte {
	pieces := []string{
		"plain ", "line\n", "\r\n", "\r", "\b", "\n", "ünï", "█▌", "😀", "\a", "\x00", "\x7f",
		"\xff", "\xe2\x82", "\xed\xa0\x80", "\x1b[31m", "\x1b[0m", "\x1b(B", "\x1b[?25l",
		"\x1b[A", "\x1b[3A", "\x1b[2B", "\x1b[4C", "\x1b[2D", "\x1b[E", "\x1b[F", "\x1b[7G", "\x1b[H",
		"\x1b[99A", "\x1b[999B", "\x1b[999C", "\x1b[K", "\x1b[1K", "\x1b[2K", "\x1b[J",
		"\x1b]0;title\a", "\x1b]8;;x\x1b\\", "\x1bP", "\x1b", "\x1b[", "\x1b[9", "\u009b", "\u009d", "\u009c", "\u0085",
		strings.Repeat("long€", 1000), strings.Repeat("x", 5000), strings.Repeat("many\n", 90),
		strings.Repeat(" ", 200), strings.Repeat("\b", 50),
		strings.Repeat("very many\n", straightBytes/8), strings.Repeat(strings.Repeat("wide€", 30)+"\n", 100),
	}
	var out []byte
	for len(out) < size {
		out = append(out, pieces[random.IntN(len(pieces))]...)
	}
	return out
}

func TestStream_splits(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 2))
		input := randomOutput(random, random.IntN(100_000))
		checkSplits(t, input, 1+random.IntN(5000), random)
	}
}

// checkSplits checks everything that must hold for a stream, whatever is written to it and in which pieces.
func checkSplits(t *testing.T, input []byte, limit int, random *rand.Rand) {
	t.Helper()
	var whole bytes.Buffer
	large := NewStream(1<<40, &whole)
	_, _ = large.Write(input)
	text := large.Close().Render("")
	if whole.String() != text {
		t.Fatalf("%.200q: the spool got another text", input)
	}
	isActive := func(r rune) bool { return r == escape || r >= 0x80 && r < 0xa0 }
	if !utf8.ValidString(text) || strings.ContainsFunc(text, isActive) {
		t.Fatalf("%.200q: control sequences are left in %.200q", input, text)
	}

	var spool bytes.Buffer
	s := NewStream(limit, &spool)
	writeSplit(s, input, random, 1+random.IntN(9000))
	before := s.Snapshot()
	got := s.Close()
	if got != before || s.Snapshot() != got || s.Close() != got {
		t.Fatalf("%.200q: snapshot and close differ", input)
	}
	if spool.String() != text {
		t.Fatalf("%.200q: another text after other writes", input)
	}
	total := utf8.RuneCountInString(text)
	kept := utf8.RuneCountInString(got.Head) + utf8.RuneCountInString(got.Tail)
	if got.Total != int64(total) || kept != min(total, limit) || got.Omitted != int64(total-kept) {
		t.Fatalf("%.200q: %d characters, limit %d: kept %d, total %d, omitted %d",
			input, total, limit, kept, got.Total, got.Omitted)
	}
	if cut, _ := CutMiddle(text, limit, "hint"); got.Render("hint") != cut {
		t.Fatalf("%.200q: cut differently: %.200q, want %.200q", input, got.Render("hint"), cut)
	}
}

// Text without control characters comes out as it went in.
func TestStream_plain(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 3))
		var input []byte
		for range random.IntN(3000) {
			input = append(input, []string{"word ", "\n", "ü€😀", "\t", "x", strings.Repeat("y", 70)}[random.IntN(6)]...)
		}
		s := NewStream(1<<40, nil)
		writeSplit(s, input, random, 4*straightBytes)
		if got := s.Close(); got.Render("") != string(input) || got.Omitted != 0 {
			t.Fatalf("seed %d: %d bytes changed", seed, len(input))
		}
	}
}

// An incomplete character at the end of one write may turn out whole or broken with the next.
func TestStream_splitCharacters(t *testing.T) {
	t.Parallel()
	tests := []struct {
		writes []string
		want   string
	}{
		{[]string{"\xe2", "\x82", "\xac"}, "€"},
		{[]string{"\xe2\x82", "", "\xac\xf0\x9f", "\x98\x80x"}, "€😀x"},
		{[]string{"\xe2\x82", "A"}, `\xe2\x82A`},
		{[]string{"\xe2\x82", "\xe2", "\x82\xac"}, `\xe2\x82€`},
		{[]string{"\xf0\x9f\x98", "\xe2\x82\xac\n"}, "\\xf0\\x9f\\x98€\n"},
		{[]string{"\xc2", "\x9b31mx"}, "x"},
		{[]string{"\x1b]0;\xe2", "\x82\xac\a."}, "."},
		{[]string{"\xe2\x82"}, `\xe2\x82`},
	}
	for _, test := range tests {
		s := NewStream(100, nil)
		for _, text := range test.writes {
			if n, err := s.Write([]byte(text)); n != len(text) || err != nil {
				t.Errorf("%q: wrote %d and %v", test.writes, n, err)
			}
		}
		if got := s.Close().Render(""); got != test.want {
			t.Errorf("%q: %q, want %q", test.writes, got, test.want)
		}
	}
}

func TestStream_contractExample(t *testing.T) {
	t.Parallel()
	s := NewStream(Defaults().TextChars, nil)
	_, _ = s.Write([]byte(strings.Repeat("x", 20_000) + "\n"))
	want := strings.Repeat("x", 4096) + "\n… 11809 characters omitted (of 20001); read_output execution_id=e1 …\n" +
		strings.Repeat("x", 4095) + "\n"
	if got := s.Close(); got.Render("read_output execution_id=e1") != want || got.Omitted != 11809 {
		t.Errorf("omitted %d of %d: %q", got.Omitted, got.Total, got.Render("read_output execution_id=e1"))
	}
}

// footprint is the memory that a stream holds on to, in bytes.
func (s *Stream) footprint() int {
	total := cap(s.batch) + cap(s.partial) + cap(s.kept.head) + cap(s.kept.tail)
	if s.terminal != nil {
		total += cap(s.terminal.parser.text)
		for i := range s.terminal.screen.lines {
			total += cap(s.terminal.screen.lines[i].text)
		}
	}
	return total
}

func TestStream_memory(t *testing.T) {
	t.Parallel()
	const limit, bound, size = 8192, 2 << 20, 3 << 20
	tests := map[string]string{
		"lines":           strings.Repeat("x", 80) + "\n",
		"one line":        strings.Repeat("x", 1<<16),
		"one wide line":   strings.Repeat("😀", 1<<14),
		"wide lines":      strings.Repeat("😀", lineChars) + "\n",
		"empty lines":     strings.Repeat("\n", 1<<10),
		"redrawn":         "\r" + strings.Repeat("😀", lineChars),
		"moving":          strings.Repeat("\x1b[999B\x1b[999C", 100),
		"growing upwards": strings.Repeat("😀", lineChars) + "\n\x1b[99A\x1b[99999C",
		"unended strings": "\x1b]" + strings.Repeat("😀", 1<<14),
		"unended CSI":     "\x1b[" + strings.Repeat("1;", 1<<15),
		"invalid":         strings.Repeat("\xff", 1<<14),
	}
	for name, unit := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := NewStream(limit, nil)
			_, _ = s.Write([]byte("\x1b]")) // a string that nothing ends
			for written := 0; written < size; written += len(unit) {
				_, _ = s.Write([]byte(unit))
				if got := s.footprint(); got > bound {
					t.Fatalf("%d bytes held after %d", got, written)
				}
			}
			if s.Close(); s.footprint() > 0 {
				t.Errorf("%d bytes held after close", s.footprint())
			}
		})
	}
}

type failingWriter struct{ calls int }

func (w *failingWriter) Write([]byte) (int, error) {
	w.calls++
	return 0, errors.New("disk full")
}

// A spool that fails costs nothing but the spooled text.
func TestStream_spoolFails(t *testing.T) {
	t.Parallel()
	input := []byte(strings.Repeat("some text\n", 100_000))
	spool := &failingWriter{}
	failing, plain := NewStream(50, spool), NewStream(50, nil)
	for _, s := range []*Stream{failing, plain} {
		if n, err := s.Write(input); n != len(input) || err != nil {
			t.Errorf("wrote %d and %v", n, err)
		}
	}
	if got, want := failing.Close(), plain.Close(); got != want || spool.calls == 0 {
		t.Errorf("%+v after %d failures, want %+v", got, spool.calls, want)
	}
}

func TestStream_writeAfterClose(t *testing.T) {
	t.Parallel()
	s := NewStream(10, nil)
	_, _ = s.Write([]byte("kept"))
	want := s.Close()
	if n, err := s.Write([]byte("late")); n != 4 || err != nil {
		t.Errorf("wrote %d and %v", n, err)
	}
	if got := s.Close(); got != want || got.Head+got.Tail != "kept" {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// One goroutine writes while others look; for the race detector.
func TestStream_hammer(t *testing.T) {
	t.Parallel()
	const lines = 5000
	spool := NewSpool(t.TempDir(), 1<<20)
	s := NewStream(1000, spool)
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for last := int64(0); ; {
				select {
				case <-done:
					return
				default:
				}
				now := s.Snapshot()
				if now.Total < last || now.Total-now.Omitted > 1000 {
					t.Errorf("total %d after %d, omitted %d", now.Total, last, now.Omitted)
					return
				}
				last = now.Total
				if _, _, _, err := spool.ReadRunes(last/2, 100); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range lines {
		_, _ = s.Write([]byte("a line of \x1b[31mcolour\x1b[0m\n"))
	}
	got := s.Close()
	close(done)
	readers.Wait()
	if want := int64(lines * len("a line of colour\n")); got.Total != want {
		t.Errorf("total %d, want %d", got.Total, want)
	}
	if err := spool.Close(); err != nil {
		t.Error(err)
	}
}
