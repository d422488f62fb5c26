package bounds

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

// newTestSpool makes a spool in a directory of its own, which must be empty in the end.
func newTestSpool(t *testing.T, limit int64) (*Spool, string) {
	t.Helper()
	directory := t.TempDir()
	s := NewSpool(directory, limit)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if files := filesIn(t, directory); files != 0 {
			t.Errorf("%d files are left", files)
		}
	})
	return s, directory
}

func filesIn(t *testing.T, directory string) int {
	t.Helper()
	entries, err := os.ReadDir(directory)
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// checkRead reads and compares with the same part of want.
func checkRead(t *testing.T, s *Spool, want []rune, offset, limit int64) {
	t.Helper()
	text, next, total, err := s.ReadRunes(offset, limit)
	start := min(max(offset, 0), int64(len(want)))
	end := start + min(max(limit, 0), int64(len(want))-start)
	if err != nil || text != string(want[start:end]) || next != end || total != int64(len(want)) {
		t.Errorf("ReadRunes(%d, %d) = %d bytes, %d, %d, %v; want %d bytes, %d, %d",
			offset, limit, len(text), next, total, err, len(string(want[start:end])), end, len(want))
	}
}

func TestSpool_ReadRunes(t *testing.T) {
	t.Parallel()
	sizes := []int{0, 1, 100, indexStep - 1, indexStep, indexStep + 1, 3 * indexStep, 50_000}
	for _, size := range sizes {
		for _, step := range []int{1, 7, 4096, 30_000} {
			if step == 1 && size > indexStep+1 {
				continue // a system call each
			}
			s, _ := newTestSpool(t, 1<<20)
			want := []rune(strings.Repeat("aä€😀\n", size/5+1))[:size]
			for start := 0; start < size; start += step {
				if _, err := s.Write([]byte(string(want[start:min(start+step, size)]))); err != nil {
					t.Fatal(err)
				}
			}
			last := int64(size)
			for _, offset := range []int64{
				-5, 0, 1, indexStep - 1, indexStep, indexStep + 1, 2*indexStep - 1, last - 1, last, 1 << 60,
			} {
				for _, limit := range []int64{-1, 0, 1, 10, indexStep, indexStep + 1, 9000, 1 << 62} {
					checkRead(t, s, want, offset, limit)
				}
			}
			if s.Truncated() {
				t.Errorf("%d characters: truncated", size)
			}
		}
	}
}

func TestSpool_fileIsLazy(t *testing.T) {
	t.Parallel()
	s, directory := newTestSpool(t, 1<<20)
	for written := range spoolMemory {
		if _, err := s.Write([]byte{byte('a' + written%26)}); err != nil {
			t.Fatal(err)
		}
	}
	if files := filesIn(t, directory); files != 0 {
		t.Errorf("%d files for a small text", files)
	}
	if _, err := s.Write([]byte("!")); err != nil {
		t.Fatal(err)
	}
	if files := filesIn(t, directory); files != 1 || s.memory != nil {
		t.Errorf("%d files and %d bytes in memory for a larger one", files, len(s.memory))
	}
	text, _, total, err := s.ReadRunes(spoolMemory-2, 10)
	if want := string([]byte{'a' + (spoolMemory-2)%26, 'a' + (spoolMemory-1)%26, '!'}); err != nil || text != want ||
		total != spoolMemory+1 {
		t.Errorf("%q of %d and %v, want %q", text, total, err, want)
	}
}

func TestSpool_limit(t *testing.T) {
	t.Parallel()
	tests := []struct {
		limit     int64
		writes    []string
		want      string
		truncated bool
	}{
		{6, []string{"abc", "def"}, "abcdef", false},
		{6, []string{"abc", "defg"}, "abcdef", true},
		{6, []string{"abcdef", "g", "h"}, "abcdef", true},
		{6, []string{"abcdef", ""}, "abcdef", false},
		{7, []string{"a€", "€€", "x"}, "a€€", true},
		{6, []string{"a€", "€", "x"}, "a€", true},
		{3, []string{"😀"}, "", true},
	}
	for _, test := range tests {
		s, _ := newTestSpool(t, test.limit)
		failed := false
		for _, text := range test.writes {
			n, err := s.Write([]byte(text))
			if (n < len(text)) != (err != nil) {
				t.Errorf("%q: wrote %d and %v", test.writes, n, err)
			}
			failed = failed || err != nil
		}
		checkRead(t, s, []rune(test.want), 0, 100)
		if s.Truncated() != test.truncated || failed != test.truncated {
			t.Errorf("%q: truncated %t, failed %t, want %t", test.writes, s.Truncated(), failed, test.truncated)
		}
	}
}

// What was kept before the disk refused can still be read, and nothing is kept after a gap.
func TestSpool_noDirectory(t *testing.T) {
	t.Parallel()
	s := NewSpool(filepath.Join(t.TempDir(), "missing"), 1<<20)
	if _, err := s.Write([]byte("small")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Write(make([]byte, spoolMemory)); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("no directory: %v", err)
	}
	if n, err := s.Write([]byte("later")); n != 0 || err == nil {
		t.Errorf("wrote %d after a gap, %v", n, err)
	}
	checkRead(t, s, []rune("small"), 0, 100)
	if !s.Truncated() {
		t.Error("not truncated")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestSpool_closed(t *testing.T) {
	t.Parallel()
	s, _ := newTestSpool(t, 1<<20)
	if _, err := s.Write(make([]byte, 2*spoolMemory)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Write([]byte("x")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("write: %v", err)
	}
	if _, _, _, err := s.ReadRunes(0, 1); !errors.Is(err, errSpoolClosed) {
		t.Errorf("read: %v", err)
	}
}

// Readers page through the text while it is written; for the race detector.
func TestSpool_hammer(t *testing.T) {
	t.Parallel()
	const unit, writes = "0123456789€\n", 20_000
	period := int64(utf8.RuneCountInString(unit))
	s, _ := newTestSpool(t, 1<<20)
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for offset := int64(0); offset < writes*period; {
				text, next, _, err := s.ReadRunes(offset, 5000*period)
				if err != nil || text != strings.Repeat(unit, int((next-offset)/period)) {
					t.Errorf("at %d to %d: another text, %v", offset, next, err)
					return
				}
				offset = next
			}
		})
	}
	for range writes {
		if _, err := s.Write([]byte(unit)); err != nil {
			t.Error(err)
		}
	}
	readers.Wait()
}
