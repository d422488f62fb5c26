package main

import (
	"testing"
	"time"
)

func TestParseClocks(t *testing.T) {
	for _, test := range []struct {
		reply, timeout string
		want           clocks
		problems       int
	}{
		{"", "", clocks{reply: 45 * time.Second}, 0},
		{"0", "0.5", clocks{0, time.Second / 2}, 0},
		{"1e2", "31622400", clocks{100 * time.Second, maxClock}, 0},
		{"-0.1", "0", clocks{}, 2},
		{"NaN", "nan", clocks{}, 2},
		{"inf", "Infinity", clocks{}, 2},
		{"soon", "5s", clocks{}, 2},
		{"1e300", "1e-300", clocks{}, 2},
	} {
		got, problems := parseClocks(lookupMap(map[string]string{varReplySeconds: test.reply, varExecutionTimeout: test.timeout}))
		if len(problems) != test.problems || test.problems == 0 && got != test.want {
			t.Errorf("%q, %q: %+v, %v", test.reply, test.timeout, got, problems)
		}
	}
}
