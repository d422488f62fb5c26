package main

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func lookupMap(values map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { value, ok := values[name]; return value, ok }
}

func TestParseConfig_ReportsEveryProblemAtOnce(t *testing.T) {
	_, problems := parseConfig(lookupMap(map[string]string{
		"IPYTHON_MCP_MAX_TEXT_CHARS":  "0",
		"IPYTHON_MCP_MAX_RESULTS":     "many",
		"IPYTHON_MCP_RESPONSE_FIELDS": "some",
		"IPYTHON_MCP_LOG_LEVEL":       "loud",

		"IPYTHON_MCP_REPLY_SECONDS":             "-1",
		"IPYTHON_MCP_EXECUTION_TIMEOUT_SECONDS": "0",
		"IPYTHON_MCP_PRELOAD_MODULES":           "1x",
	}))
	line := failureLine(problems, 10_000)
	if strings.Contains(line, "\n") || !strings.HasPrefix(line, "task environment startup failed during configuration: ") {
		t.Errorf("line is %q", line)
	}
	for _, name := range []string{
		"MAX_TEXT_CHARS", "MAX_RESULTS", "RESPONSE_FIELDS", "LOG_LEVEL", "PRELOAD_MODULES", "REPLY_SECONDS",
		"EXECUTION_TIMEOUT_SECONDS",
	} {
		if !strings.Contains(line, "IPYTHON_MCP_"+name) {
			t.Errorf("%s is not named in %q", name, line)
		}
	}
}

func TestParseConfig_EmptyIsUnset(t *testing.T) {
	values := map[string]string{}
	for _, v := range variables() {
		values[v.Name] = ""
	}
	for _, name := range retired {
		values[name] = ""
	}
	c, problems := parseConfig(lookupMap(values))
	if len(problems) != 0 || c.limits.TextChars != 8192 || c.compact || len(c.retired) != 0 {
		t.Errorf("config is %+v, problems %v", c, problems)
	}
}

func TestParseConfig_NamesRetiredVariables(t *testing.T) {
	c, problems := parseConfig(lookupMap(map[string]string{retired[0]: "5", retired[5]: "x"}))
	if len(problems) != 0 || len(c.retired) != 2 {
		t.Errorf("retired are %v, problems %v", c.retired, problems)
	}
}

func TestFlagsMirrorVariablesAndWin(t *testing.T) {
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	addFlags(flags)
	for _, v := range variables() {
		if flags.Lookup(flagName(v.Name)) == nil {
			t.Errorf("%s has no flag", v.Name)
		}
	}
	t.Setenv("IPYTHON_MCP_MAX_RESULTS", "7")
	t.Setenv("IPYTHON_MCP_MAX_REPR_CHARS", "8")
	if err := flags.Parse([]string{"--max-results=9"}); err != nil {
		t.Fatal(err)
	}
	c, problems := parseConfig(lookupIn(flags))
	if len(problems) != 0 || c.limits.Results != 9 || c.limits.ReprChars != 8 {
		t.Errorf("limits are %+v, problems %v", c.limits, problems)
	}
}
