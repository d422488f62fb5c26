package main

import (
	"testing"
	"time"
)

func TestParseClocks(t *testing.T) {
	for _, test := range []struct {
		reply, timeout, answer string
		want                   clocks
		problems               int
	}{
		{"", "", "", clocks{reply: 45 * time.Second, answer: 10 * time.Minute}, 0},
		{"0", "0.5", "0.25", clocks{0, time.Second / 2, time.Second / 4}, 0},
		{"1e2", "31622400", "31622400", clocks{100 * time.Second, maxClock, maxClock}, 0},
		{"-0.1", "0", "0", clocks{}, 3},
		{"NaN", "nan", "NaN", clocks{}, 3},
		{"inf", "Infinity", "-inf", clocks{}, 3},
		{"soon", "5s", "never", clocks{}, 3},
		{"1e300", "1e-300", "-1", clocks{}, 3},
	} {
		got, problems := parseClocks(lookupMap(map[string]string{
			varReplySeconds: test.reply, varExecutionTimeout: test.timeout, varAnswerSeconds: test.answer,
		}))
		if len(problems) != test.problems || test.problems == 0 && got != test.want {
			t.Errorf("%q, %q, %q: %+v, %v", test.reply, test.timeout, test.answer, got, problems)
		}
	}
}
