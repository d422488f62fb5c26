package main

import (
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"ipython-mcp/envprov"
	"ipython-mcp/internal/bounds"
	"ipython-mcp/internal/bundle"
)

const (
	varResponseFields = "IPYTHON_MCP_RESPONSE_FIELDS"
	varLogLevel       = "IPYTHON_MCP_LOG_LEVEL"
	variablePrefix    = "IPYTHON_MCP_"
)

// retired lists the predecessor's variables that mean nothing any more. They are ignored with one warning.
var retired = []string{
	"IPYTHON_MCP_OPERATION_TIMEOUT_SECONDS", "IPYTHON_MCP_INTERRUPTION_GRACE_SECONDS",
	"IPYTHON_MCP_WORKER_STARTUP_TIMEOUT_SECONDS", "IPYTHON_MCP_MAX_PENDING_OPERATIONS",
	"IPYTHON_MCP_QUEUE_WAIT_TIMEOUT_SECONDS", "IPYTHON_MCP_MAX_IPC_MESSAGE_BYTES",
}

// config is everything that flags and variables say, validated.
type config struct {
	limits   bounds.Limits
	clocks   clocks
	settings envprov.Settings
	cacheDir string
	compact  bool
	logLevel slog.Level
	retired  []string // retired variables that are set
}

// variables lists every setting in the order of the help text.
func variables() []envprov.Variable {
	all := envprov.Variables()
	all = append(all,
		envprov.Variable{Name: varResponseFields, Default: "full", Doc: "full, or compact to leave out what says nothing"},
		envprov.Variable{Name: varLogLevel, Default: "info", Doc: "debug, info, warn or error"},
		envprov.Variable{Name: bundle.CacheDirVariable, Doc: "where the bundled Python is extracted (default: the user's cache directory)"},
	)
	all = append(all, clockVariables()...)
	for _, v := range bounds.Variables() {
		all = append(all, envprov.Variable{Name: v.Name, Default: v.Default, Doc: v.Doc})
	}
	return all
}

// flagName is the flag that mirrors a variable: IPYTHON_MCP_MAX_RESULTS becomes max-results.
func flagName(variable string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(variable, variablePrefix)), "_", "-")
}

// addFlags declares a flag for every variable. All are strings: the same parsers validate both.
func addFlags(flags *pflag.FlagSet) {
	for _, v := range variables() {
		doc := v.Doc
		if v.Default != "" {
			doc += fmt.Sprintf(" (default %s)", v.Default)
		}
		flags.String(flagName(v.Name), "", fmt.Sprintf("%s [%s]", doc, v.Name))
	}
}

// lookupIn finds a setting: a flag that was given wins over the environment. Empty counts as unset.
func lookupIn(flags *pflag.FlagSet) func(string) (string, bool) {
	return func(variable string) (string, bool) {
		if flag := flags.Lookup(flagName(variable)); flag != nil && flag.Changed {
			return flag.Value.String(), true
		}
		return os.LookupEnv(variable)
	}
}

// parseConfig reads and validates everything; with problems, the config must not be used.
func parseConfig(lookup func(string) (string, bool)) (config, []envprov.Problem) {
	var c config
	problem := func(format string, args ...any) envprov.Problem {
		return envprov.Problem{Phase: envprov.PhaseConfiguration, Message: fmt.Sprintf(format, args...)}
	}
	limits, errs := bounds.Parse(lookup)
	clocks, wrong := parseClocks(lookup)
	settings, found := envprov.ParseSettings(lookup)
	var problems []envprov.Problem
	for _, err := range append(errs, wrong...) {
		problems = append(problems, problem("%v", err))
	}
	c.limits, c.clocks, c.settings = limits, clocks, settings
	c.cacheDir, _ = lookup(bundle.CacheDirVariable)

	switch fields, _ := lookup(varResponseFields); fields {
	case "", "full":
	case "compact":
		c.compact = true
	default:
		problems = append(problems, problem("%s: %.80q is neither full nor compact", varResponseFields, fields))
	}
	if level, _ := lookup(varLogLevel); level != "" {
		if err := c.logLevel.UnmarshalText([]byte(level)); err != nil {
			problems = append(problems, problem("%s: %.80q is none of debug, info, warn and error", varLogLevel, level))
		}
	}
	for _, name := range retired {
		if value, set := lookup(name); set && value != "" {
			c.retired = append(c.retired, name)
		}
	}
	// Last, because they are sorted: what concerns a later phase than configuration stands at the end.
	problems = append(problems, found...)
	redactor := envprov.NewRedactor(settings.Environment, os.Environ())
	for i := range problems {
		problems[i].Message = redactor.Redact(problems[i].Message)
	}
	return c, problems
}

// failureLine is the one line that a failed start leaves on stderr.
func failureLine(problems []envprov.Problem, limit int) string {
	messages := make([]string, len(problems))
	for i, p := range problems {
		messages[i] = p.Message
	}
	line, _ := bounds.Cut(fmt.Sprintf("task environment startup failed during %s: %s", problems[0].Phase, strings.Join(messages, "; ")), limit)
	return line
}
