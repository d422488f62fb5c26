package main

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"ipython-mcp/envprov"
)

// clocks is how long calls wait and code runs, where a call does not say it, and how long questions of parked code do.
type clocks struct {
	reply   time.Duration
	timeout time.Duration // 0: for ever
	answer  time.Duration // of questions
}

const (
	varReplySeconds     = "IPYTHON_MCP_REPLY_SECONDS"
	varExecutionTimeout = "IPYTHON_MCP_EXECUTION_TIMEOUT_SECONDS"
	varAnswerSeconds    = "IPYTHON_MCP_ANSWER_SECONDS"

	defaultReply  = 45 * time.Second // most clients give up after a minute
	defaultAnswer = 10 * time.Minute // a person may be away for a moment
	// maxClock keeps durations in range; longer is as good as for ever.
	maxClock = 366 * 24 * time.Hour
)

func clockVariables() []envprov.Variable {
	return []envprov.Variable{
		{
			Name: varReplySeconds, Default: strconv.Itoa(int(defaultReply.Seconds())),
			Doc: "how long a call waits before it answers that its code still runs, or that another call does; 0: not at all",
		},
		{Name: varExecutionTimeout, Doc: "after how many seconds running code is interrupted (default: never)"},
		{
			Name: varAnswerSeconds, Default: strconv.Itoa(int(defaultAnswer.Seconds())),
			Doc: "how long input() waits for a client of revision 2026-07-28 to come back with the answer",
		},
	}
}

// parseClocks reads the variables; with problems, the clocks must not be used.
func parseClocks(lookup func(string) (string, bool)) (clocks, []error) {
	c := clocks{reply: defaultReply, answer: defaultAnswer}
	problems := []error{
		parseSeconds(lookup, varReplySeconds, 0, &c.reply),
		parseSeconds(lookup, varExecutionTimeout, time.Nanosecond, &c.timeout),
		parseSeconds(lookup, varAnswerSeconds, time.Nanosecond, &c.answer),
	}
	return c, slices.DeleteFunc(problems, func(err error) bool { return err == nil })
}

// parseSeconds sets a duration that is at least so long, where the variable is set.
func parseSeconds(lookup func(string) (string, bool), variable string, least time.Duration, to *time.Duration) error {
	value, _ := lookup(variable)
	if value == "" {
		return nil
	}
	seconds, err := strconv.ParseFloat(value, 64)
	if err == nil && seconds >= 0 && seconds <= maxClock.Seconds() {
		*to = time.Duration(seconds * float64(time.Second))
		if *to >= least {
			return nil
		}
	}
	from := "from 0"
	if least > 0 {
		from = "above 0"
	}
	return fmt.Errorf("%s: %.80q is no number of seconds %s to %.0f", variable, value, from, maxClock.Seconds())
}
