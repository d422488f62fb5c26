package bounds

import (
	"fmt"
	"math"
	"strconv"
)

// Limits holds the bounds of one server, all positive.
type Limits struct {
	TextChars            int   // a stream, a JSON string, docs, signatures, names in arguments, startup diagnostics
	ReprChars            int   // a representation
	TracebackChars       int   // a traceback
	Results              int   // items of a collection, entries of list and search, names in one request
	DisplayItems         int   // display payloads kept per execution
	JSONDepth            int   // nesting of a translated value
	ToolNameChars        int   // a dynamic tool's name
	ToolDescriptionChars int   // a description in list and search and of a dynamic tool
	DynamicTools         int   // registrations
	SpoolBytes           int64 // whole text of one stream, UTF-8
}

// Variable describes one limit: an environment variable that a flag of the program mirrors.
type Variable struct{ Name, Default, Doc string }

// limit ties a variable to its field.
type limit struct {
	name   string
	number int64 // default
	doc    string
	set    func(*Limits, int64)
}

// limits is the table of everything that can be configured here, in the order of the help text.
var limits = []limit{
	{
		"IPYTHON_MCP_MAX_TEXT_CHARS", 8192, "characters of stdout, stderr, a string, a document or a name",
		func(l *Limits, n int64) { l.TextChars = int(n) },
	},
	{
		"IPYTHON_MCP_MAX_REPR_CHARS", 1024, "characters of a representation",
		func(l *Limits, n int64) { l.ReprChars = int(n) },
	},
	{
		"IPYTHON_MCP_MAX_TRACEBACK_CHARS", 4096, "characters of a traceback",
		func(l *Limits, n int64) { l.TracebackChars = int(n) },
	},
	{
		"IPYTHON_MCP_MAX_RESULTS", 100, "items of a collection, entries of a list, names in one request",
		func(l *Limits, n int64) { l.Results = int(n) },
	},
	{
		"IPYTHON_MCP_MAX_DISPLAY_ITEMS", 20, "display payloads kept per execution",
		func(l *Limits, n int64) { l.DisplayItems = int(n) },
	},
	{
		"IPYTHON_MCP_MAX_JSON_DEPTH", 6, "nesting of a translated value",
		func(l *Limits, n int64) { l.JSONDepth = int(n) },
	},
	{
		"IPYTHON_MCP_MAX_TOOL_NAME_CHARS", 64, "characters of a dynamic tool's name",
		func(l *Limits, n int64) { l.ToolNameChars = int(n) },
	},
	{
		"IPYTHON_MCP_MAX_TOOL_DESCRIPTION_CHARS", 1024, "characters of a description",
		func(l *Limits, n int64) { l.ToolDescriptionChars = int(n) },
	},
	{
		"IPYTHON_MCP_MAX_DYNAMIC_TOOLS", 100, "registered dynamic tools",
		func(l *Limits, n int64) { l.DynamicTools = int(n) },
	},
	{
		"IPYTHON_MCP_MAX_SPOOL_BYTES", 64 << 20, "bytes of one stream's whole text kept for read_output",
		func(l *Limits, n int64) { l.SpoolBytes = n },
	},
}

const (
	// maximumLimit is the largest value accepted. It survives every JSON reader, and sums of a few fit an int.
	maximumLimit = min(1<<53, math.MaxInt>>4)
	// quotedValueChars bounds a refused value in an error.
	quotedValueChars = 40
)

// Defaults returns the limits of an unconfigured server.
func Defaults() Limits {
	var l Limits
	for _, entry := range limits {
		entry.set(&l, entry.number)
	}
	return l
}

// Variables lists what Parse reads.
func Variables() []Variable {
	all := make([]Variable, len(limits))
	for i, entry := range limits {
		all[i] = Variable{Name: entry.name, Default: strconv.FormatInt(entry.number, 10), Doc: entry.doc}
	}
	return all
}

// Parse reads the limits; lookup is [os.LookupEnv] or the like. It reports all problems at once; what they concern
// keeps its default.
func Parse(lookup func(string) (string, bool)) (Limits, []error) {
	l := Defaults()
	var problems []error
	for _, entry := range limits {
		value, _ := lookup(entry.name)
		if err := entry.parse(&l, value); err != nil {
			problems = append(problems, err)
		}
	}
	return l, problems
}

// Set changes the one limit that the variable names, with the checks of Parse: a positive integer, or an empty value,
// which changes nothing.
func (l *Limits) Set(name, value string) error {
	for _, entry := range limits {
		if entry.name == name {
			return entry.parse(l, value)
		}
	}
	name, _ = Cut(name, quotedValueChars)
	return fmt.Errorf("cannot set %q to a number: no limit has this name", name)
}

func (entry limit) parse(l *Limits, value string) error {
	if value == "" {
		return nil
	}
	number, err := strconv.ParseInt(value, 10, 64)
	if err != nil || number < 1 || number > maximumLimit {
		value, _ = Cut(value, quotedValueChars)
		return fmt.Errorf("%s is %q: set it to a positive integer of at most %d, or leave it empty for %d",
			entry.name, value, int64(maximumLimit), entry.number)
	}
	entry.set(l, number)
	return nil
}
