// Command bench measures a built ipython-mcp against plain Python and prints ratios, each with its goal. What is
// compared is measured in one run, in turns, and the median of the rounds counts: ratios mean the same on a slow and on
// a fast machine, times do not.
//
// It is one goroutine that starts, feeds and ends processes. It imports nothing of the product.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

// measurements in the order in which they run and are printed.
var measurements = []struct {
	name string
	run  func(context.Context, *bench) error
}{
	{"trip", measureRoundTrips},
	{"start", measureStarts},
	{"print", measurePrinting},
	{"idle", measureIdle},
	{"busy", measureBusy},
	{"calls", measureCalls},
}

func main() { os.Exit(run()) }

// run returns the exit status: 0 measured, 1 a goal was missed and -strict given, or measuring failed, 2 wrong usage.
func run() int {
	o := options{}
	flag.StringVar(&o.binary, "binary", "bin/ipython-mcp", "the `program` to measure")
	flag.StringVar(&o.fastMCPPath, "fastmcp-path", "", "`directory` with the package fastmcp; empty: not compared")
	flag.IntVar(&o.calls, "calls", 100_000, "`number` of calls in which memory must not grow")
	flag.IntVar(&o.rounds, "rounds", 25, "`number` of rounds of short measurements")
	only := flag.String("only", "", "comma-separated `measurements` to run: "+strings.Join(names(), ", "))
	strict := flag.Bool("strict", false, "exit with status 1 when a goal is missed")
	flag.Parse()
	chosen, err := choose(*only)
	if err != nil || flag.NArg() > 0 || o.calls < 1 || o.rounds < 1 {
		fmt.Fprintln(os.Stderr, "bench: wrong usage:", err)
		flag.Usage()
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	missed, err := measure(ctx, o, chosen)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1
	case missed > 0 && *strict:
		return 1
	}
	return 0
}

func measure(ctx context.Context, o options, chosen []string) (missed int, err error) {
	b, err := newBench(ctx, o)
	if err != nil {
		return 0, err
	}
	defer b.close()
	b.report.header()
	for _, m := range measurements {
		if !slices.Contains(chosen, m.name) {
			continue
		}
		if err := m.run(ctx, b); err != nil {
			return 0, fmt.Errorf("measuring %q: %w", m.name, err)
		}
	}
	b.report.footer()
	return b.report.missed, nil
}

func names() []string {
	all := make([]string, len(measurements))
	for i, m := range measurements {
		all[i] = m.name
	}
	return all
}

func choose(only string) ([]string, error) {
	if only == "" {
		return names(), nil
	}
	chosen := strings.Split(only, ",")
	for _, name := range chosen {
		if !slices.Contains(names(), name) {
			return nil, fmt.Errorf("there is no measurement %q; choose from %s", name, strings.Join(names(), ", "))
		}
	}
	return chosen, nil
}
