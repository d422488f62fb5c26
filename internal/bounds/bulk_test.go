package bounds

import (
	"slices"
	"strings"
	"testing"
)

// ends is the plainest model of what is kept of a text.
func ends(text []rune, limit int) Snapshot {
	total := int64(len(text))
	if len(text) <= limit {
		half := min(limit/2, len(text))
		return Snapshot{Head: string(text[:half]), Tail: string(text[half:]), Total: total}
	}
	head, tail := text[:limit/2], text[len(text)-(limit-limit/2):]
	return Snapshot{Head: string(head), Tail: string(tail), Total: total, Omitted: total - int64(limit)}
}

// Whatever the sizes of the writes and the looks between them, exactly the two ends are kept.
func TestStream_keepsBothEnds(t *testing.T) {
	t.Parallel()
	text := []rune(strings.Repeat("ab€\n😀c", 40))
	for limit := range len(text) + 3 {
		if limit == 0 {
			continue
		}
		for _, size := range []int{1, 2, 3, 7, limit, limit + 1, len(text)} {
			s := NewStream(limit, nil)
			written := 0
			for piece := range slices.Chunk(text, size) {
				_, _ = s.Write([]byte(string(piece)))
				written += len(piece)
				if got, want := s.Snapshot(), ends(text[:written], limit); got != want {
					t.Fatalf("limit %d, writes of %d, after %d: %+v, want %+v", limit, size, written, got, want)
				}
			}
			if got, want := s.Close(), ends(text, limit); got != want {
				t.Fatalf("limit %d, writes of %d: %+v, want %+v", limit, size, got, want)
			}
		}
	}
}

func TestStream_bulk(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, unit string
		count      int
	}{
		{"many lines", "a line of text\n", 100_000},
		{"one line of 10 MB", strings.Repeat("0123456789", 1000), 1000},
		{"one wide line", strings.Repeat("日本語", 1000), 300},
		{"empty lines", "\n", 100_000},
		{"the contract's example", "x\n", 4000},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			text := strings.Repeat(test.unit, test.count)
			want := ends([]rune(text), 8191)
			for _, size := range []int{len(test.unit), 1 << 16, len(text)} {
				s := NewStream(8191, nil)
				for piece := range slices.Chunk([]byte(text), size) {
					_, _ = s.Write(piece)
				}
				if got := s.Close(); got != want {
					t.Errorf("writes of %d: total %d, omitted %d, %d and %d bytes; want total %d, omitted %d, %d and %d bytes",
						size, got.Total, got.Omitted, len(got.Head), len(got.Tail),
						want.Total, want.Omitted, len(want.Head), len(want.Tail))
				}
			}
		})
	}
}

// Characters are code points, as a terminal's columns are here: emoji sequences count and are cut as several.
func TestStream_codePoints(t *testing.T) {
	t.Parallel()
	s := NewStream(4, nil)
	_, _ = s.Write([]byte("✓ 日本語 👩‍👩‍👧\n"))
	want := Snapshot{Head: "✓ ", Tail: "👧\n", Total: 12, Omitted: 8}
	if got := s.Close(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// Once its buffers have grown, a stream writes without allocating.
func TestStream_allocations(t *testing.T) {
	for _, unit := range []string{
		"plain text of a line\n", "ünï€😀\n", "\x1b[31mred\x1b[0m\r\n", "\r 50%|█████     | 1/2",
		"\xe2", "\x1b]0;title\a\b\xff", strings.Repeat("many plain lines\n", straightBytes/8),
	} {
		s := NewStream(1000, nil)
		data := []byte(unit)
		for range 10_000 {
			_, _ = s.Write(data)
		}
		if got := testing.AllocsPerRun(1000, func() { _, _ = s.Write(data) }); got != 0 {
			t.Errorf("%q: %v allocations per write", unit, got)
		}
	}
}
