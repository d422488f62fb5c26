package bounds

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkStream_Write measures writes of 64 KiB, the size of a pipe. Lines of 80 ASCII characters must reach
// 2 GB/s; nothing may allocate per write.
func BenchmarkStream_Write(b *testing.B) {
	units := []struct{ name, text string }{
		{"lines", strings.Repeat("x", 80) + "\n"},
		{"short lines", "1234567\n"},
		{"one line", strings.Repeat("x", 1<<16)},
		{"wide", strings.Repeat("ü€", 30) + "\n"},
		{"colour", "\x1b[31mred\x1b[0m some text that follows\n"},
		{"CRLF", "some text that follows here\r\n"},
		{"progress", "\r 50%|█████     | 1/2 [00:01<00:01, 1.0it/s]"},
		{"backspaces", strings.Repeat("€", 4000) + strings.Repeat("\b€", 4000)},
	}
	for _, unit := range units {
		data := []byte(strings.Repeat(unit.text, 1<<16/len(unit.text)))
		b.Run(unit.name, func(b *testing.B) { benchmarkWrite(b, NewStream(8192, nil), data) })
	}
	data := []byte(strings.Repeat(units[0].text, 1<<16/len(units[0].text)))
	b.Run("lines, spooled", func(b *testing.B) {
		spool := NewSpool(b.TempDir(), 64<<20)
		defer func() { _ = spool.Close() }()
		benchmarkWrite(b, NewStream(8192, spool), data)
	})
	b.Run("lines, one per write", func(b *testing.B) {
		benchmarkWrite(b, NewStream(8192, nil), []byte(units[0].text))
	})
}

func benchmarkWrite(b *testing.B, s *Stream, data []byte) {
	for range 100 {
		_, _ = s.Write(data) // grows the buffers
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		_, _ = s.Write(data)
	}
}

// BenchmarkSpool_Write measures how long it takes to fill a spool, which depends on the size of a write.
func BenchmarkSpool_Write(b *testing.B) {
	const limit = 64 << 20
	for _, size := range []int{4 << 10, 64 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("%d KiB", size>>10), func(b *testing.B) {
			data := []byte(strings.Repeat("0123456\n", size/8))
			b.SetBytes(limit)
			for b.Loop() {
				spool := NewSpool(b.TempDir(), limit)
				for range limit / size {
					_, _ = spool.Write(data)
				}
				_ = spool.Close()
			}
		})
	}
}

func BenchmarkSpool_ReadRunes(b *testing.B) {
	const size = 64 << 20
	spool := NewSpool(b.TempDir(), size)
	defer func() { _ = spool.Close() }()
	data := []byte(strings.Repeat("ü€x\n", 4096))
	for range size / len(data) {
		_, _ = spool.Write(data)
	}
	_, _, total, _ := spool.ReadRunes(0, 0)
	b.ReportAllocs()
	for offset := int64(0); b.Loop(); offset += 1_000_003 {
		if _, _, _, err := spool.ReadRunes(offset%total, 8192); err != nil {
			b.Fatal(err)
		}
	}
}
