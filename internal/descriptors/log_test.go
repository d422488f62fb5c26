package descriptors

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
)

// Nobody has to read the log, and who reads it late gets what has waited, in order, and what was dropped told.
func TestLog_nobodyReads(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	log := NewLog(write)
	const lines = 20_000
	for i := range lines {
		fmt.Fprintf(log, "line %d of many\n", i)
	}
	reader := bufio.NewScanner(read)
	got, dropped := 0, 0
	for got+dropped < lines && reader.Scan() {
		if _, err := fmt.Sscanf(reader.Text(), "%d log lines were dropped here", &dropped); err == nil {
			continue
		}
		if want := fmt.Sprintf("line %d of many", got); reader.Text() != want {
			t.Fatalf("the log says %q, want %q", reader.Text(), want)
		}
		got++
	}
	if dropped == 0 || got*len("line 10000 of many\n") < maxWaiting {
		t.Errorf("%d lines were written, %d dropped", got, dropped)
	}
	// From here on there is room again.
	fmt.Fprintln(log, "the last")
	if !reader.Scan() || reader.Text() != "the last" {
		t.Errorf("the log goes on with %q", reader.Text())
	}
	if err := write.Close(); err != nil {
		t.Error(err)
	}
}

func TestOutlet_Takes(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	outlet := newOutlet(write)
	expect := func(when string, size int, want bool) {
		t.Helper()
		if got := outlet.Takes(size); got != want {
			t.Errorf("%s: a write of %d bytes does not wait: %v", when, size, got)
		}
	}
	expect("empty", 1, true)
	expect("empty", 64<<10, true)
	expect("empty", 64<<10+1, false)
	fill := func(size int) {
		if _, err := outlet.WriteString(strings.Repeat("x", size)); err != nil {
			t.Fatal(err)
		}
	}
	fill(1)
	expect("with a byte", 4096, true)
	expect("with a byte", 4097, false)
	fill(60 << 10)
	expect("full", 1, false)
	_ = read.Close()
	expect("without a reader", 1<<20, true)
	_ = write.Close()
}
