package main

import (
	"fmt"
	"io"
	"slices"
)

// row is one line of the table.
type row struct {
	what    string
	value   string // the ratio or the amount that counts
	goal    string // empty: none, the value is for information
	met     bool
	absent  bool   // it could not be measured
	details string // what the value was computed from
}

// report prints rows as they come and counts the goals that are missed.
type report struct {
	out    io.Writer
	missed int
}

const layout = "%-7s %-62s %9s  %-10s %s\n"

func (r *report) header() {
	fmt.Fprintf(r.out, layout, "", "measured", "value", "goal", "from")
}

func (r *report) add(line row) {
	mark := "info"
	switch {
	case line.absent:
		mark = "–"
	case line.goal != "" && line.met:
		mark = "✓ met"
	case line.goal != "":
		mark = "✗ miss"
		r.missed++
	}
	fmt.Fprintf(r.out, layout, mark, line.what, line.value, line.goal, line.details)
}

func (r *report) footer() {
	if r.missed > 0 {
		fmt.Fprintf(r.out, "%d goals were missed\n", r.missed)
	}
}

// atMost adds a row whose ratio must not be above the limit.
func (r *report) atMost(what string, ratio, limit float64, details string) {
	goal := fmt.Sprintf("≤ %g×", limit)
	r.add(row{what: what, value: times(ratio), goal: goal, met: ratio <= limit, details: details})
}

// atLeast adds a row whose ratio must not be below the limit.
func (r *report) atLeast(what string, ratio, limit float64, details string) {
	goal := fmt.Sprintf("≥ %g×", limit)
	r.add(row{what: what, value: times(ratio), goal: goal, met: ratio >= limit, details: details})
}

// bytesAtMost adds a row whose amount of memory must not be above the limit. Both are in bytes.
func (r *report) bytesAtMost(what string, amount, limit int64, details string) {
	goal := "≤ " + megabytes(limit)
	r.add(row{what: what, value: megabytes(amount), goal: goal, met: amount <= limit, details: details})
}

// info adds a row without a goal.
func (r *report) info(what, value, details string) {
	r.add(row{what: what, value: value, details: details})
}

const megabyte = 1 << 20

func megabytes(amount int64) string { return fmt.Sprintf("%.1f MB", float64(amount)/megabyte) }

func times(ratio float64) string { return fmt.Sprintf("%.2f×", ratio) }

// span shows a time with three digits at most.
func span(seconds float64) string {
	switch {
	case seconds >= 1:
		return fmt.Sprintf("%.2f s", seconds)
	case seconds >= 0.1:
		return fmt.Sprintf("%.0f ms", seconds*1000)
	}
	return fmt.Sprintf("%.3g ms", seconds*1000)
}

// median returns the middle of the values, which must not be empty.
func median(values []float64) float64 {
	return quantile(values, 0.5)
}

// quantile returns the value below which the given share of the values lies.
func quantile(values []float64, share float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(int(float64(len(sorted))*share), len(sorted)-1)]
}

// medianRatio returns the median of the ratios of each round. Both slices hold one value per round.
func medianRatio(values, baselines []float64) float64 { return median(ratios(values, baselines)) }

// spread says how far the ratios of single rounds lie apart: a goal within it is neither met nor missed for certain.
func spread(values, baselines []float64) string {
	all := ratios(values, baselines)
	return fmt.Sprintf("80 %% of rounds %s–%s", times(quantile(all, 0.1)), times(quantile(all, 0.9)))
}

func ratios(values, baselines []float64) []float64 {
	all := make([]float64, len(values))
	for i, value := range values {
		all[i] = value / baselines[i]
	}
	return all
}
