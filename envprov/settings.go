package envprov

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Variable describes one setting: an environment variable that a flag of the program mirrors.
type Variable struct{ Name, Default, Doc string }

// Variables lists what ParseSettings reads.
func Variables() []Variable {
	return []Variable{
		{VarPython, "", "another CPython to serve: the interpreter of a 3.11 or newer with a shared library"},
		{varPreloads, "", "comma-separated modules that are imported before the namespace exists"},
		{varAliases, "{}", "JSON object: preloaded module to the name it is bound to, instead of its last dotted part"},
		{varLibraryPaths, "", "absolute directories that come first in sys.path, separated like PATH"},
		{varEnvironment, "{}", "JSON object of environment variables for the namespace"},
		{varWorkspace, "", "absolute directory outside the current project for uv environments; goes with the next"},
		{varActive, "", "name of the uv environment that serves; it is made where it is missing"},
		{varRequirements, "[]", "JSON array of PEP 508 requirements: what the environment contains"},
		{varSetupTimeout, "300", "time limit of each uv phase, in seconds"},
		{varHandshake, "5", "how long initialize waits for a start that can fail, in seconds"},
	}
}

const (
	VarPython       = "IPYTHON_MCP_PYTHON"
	varPreloads     = "IPYTHON_MCP_PRELOAD_MODULES"
	varAliases      = "IPYTHON_MCP_MODULE_ALIASES"
	varLibraryPaths = "IPYTHON_MCP_LIBRARY_PATHS"
	varEnvironment  = "IPYTHON_MCP_ENVIRONMENT_VARIABLES"
	varHandshake    = "IPYTHON_MCP_HANDSHAKE_SECONDS"

	maxVariables     = 128
	maxVariableChars = 8192
)

// Settings is the configured environment, validated.
type Settings struct {
	Python         string            // path of the interpreter; empty for the bundled one
	PreloadModules []string          // in configured order, each once
	ModuleAliases  map[string]string // module to binding
	LibraryPaths   []string          // absolute, existing directories
	Environment    map[string]string // set in the process before Python starts; values are secrets
	Handshake      time.Duration

	Workspace         string        // where uv environments live; empty for none
	ActiveEnvironment string        // the name of the one that serves; empty for none
	Requirements      []string      // as configured; Canonical checks them
	SetupTimeout      time.Duration // of each uv phase
}

// Problem is one thing wrong with the settings.
type Problem struct {
	Phase   string
	Message string // one line; names the variable, never shows a configured variable's value
}

var (
	moduleName   = regexp.MustCompile(`^[\p{L}_][\p{L}\p{N}_]*(\.[\p{L}_][\p{L}\p{N}_]*)*$`)
	bindingName  = regexp.MustCompile(`^[\p{L}][\p{L}\p{N}_]*$`)
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// reservedBindings are the names that the namespace itself protects, and Python's keywords.
var reservedBindings = strings.Fields("In Out get_ipython exit quit open " +
	"False None True and as assert async await break class continue def del elif else except finally for from " +
	"global if import in is lambda nonlocal not or pass raise return try while with yield")

// settingsParser collects problems while it reads.
type settingsParser struct {
	lookup   func(string) (string, bool)
	problems []Problem
}

// ParseSettings reads and validates all variables in one pass; lookup is os.LookupEnv or a variant that prefers flags.
// An empty variable counts as unset. With problems, the settings must not be used.
func ParseSettings(lookup func(string) (string, bool)) (Settings, []Problem) {
	p := &settingsParser{lookup: lookup}
	var s Settings
	s.Python = p.value(VarPython)
	s.PreloadModules = p.preloads()
	s.ModuleAliases = p.aliases(s.PreloadModules)
	s.LibraryPaths = p.libraryPaths()
	s.Environment = p.environment()
	s.Handshake = p.handshake()
	p.uvEnvironment(&s, currentProject())
	sortProblems(p.problems)
	return s, p.problems
}

func (p *settingsParser) value(name string) string {
	value, _ := p.lookup(name)
	return value
}

func (p *settingsParser) fail(format string, args ...any) {
	p.problems = append(p.problems, Problem{PhaseConfiguration, fmt.Sprintf(format, args...)})
}

func (p *settingsParser) preloads() []string {
	var modules []string
	value := p.value(varPreloads)
	if value == "" {
		return nil
	}
	for part := range strings.SplitSeq(value, ",") {
		module := strings.TrimSpace(part)
		switch {
		case !moduleName.MatchString(module):
			p.fail("%s: %.80q is no module name; separate dotted names with commas", varPreloads, module)
		case !slices.Contains(modules, module):
			modules = append(modules, module)
		}
	}
	return modules
}

func (p *settingsParser) aliases(preloads []string) map[string]string {
	aliases, ok := p.object(varAliases)
	if !ok {
		p.fail("%s is no JSON object of strings; write for example {\"numpy\": \"np\"}", varAliases)
		return nil
	}
	for _, module := range slices.Sorted(maps.Keys(aliases)) {
		if !slices.Contains(preloads, module) {
			p.fail("%s: module %.80q is not in %s; add it there", varAliases, module, varPreloads)
		}
	}
	p.checkBindings(preloads, aliases)
	return aliases
}

// checkBindings makes sure that every preload ends up under a name of its own that may be bound.
func (p *settingsParser) checkBindings(preloads []string, aliases map[string]string) {
	taken := map[string]string{}
	for _, module := range preloads {
		binding, aliased := aliases[module]
		source := varAliases
		if !aliased {
			binding, source = module[strings.LastIndexByte(module, '.')+1:], varPreloads
		}
		if aliased && (!bindingName.MatchString(binding) || slices.Contains(reservedBindings, binding)) {
			p.fail("%s: binding %.80q of module %.80q is protected or no identifier; choose another name", source,
				binding, module)
		}
		if other, ok := taken[binding]; ok {
			p.fail("%s: modules %.80q and %.80q would both be bound to %.80q; give one another name in %s",
				source, other, module, binding, varAliases)
		}
		taken[binding] = module
	}
}

func (p *settingsParser) libraryPaths() []string {
	var paths []string
	for _, path := range filepath.SplitList(p.value(varLibraryPaths)) {
		if reason := checkDirectory(path); reason != "" {
			p.problems = append(p.problems, Problem{
				PhasePathValidation,
				fmt.Sprintf("%s: %.200q %s", varLibraryPaths, path, reason),
			})
			continue
		}
		paths = append(paths, filepath.Clean(path))
	}
	return paths
}

// checkForm says what keeps path from being absolute and without .., or nothing.
func checkForm(path string) string {
	switch {
	case path == "":
		return "is empty; remove the extra separator"
	case !utf8.ValidString(path):
		return "is not in UTF-8; choose a path that is"
	case strings.ContainsRune(path, 0):
		return "contains a NUL character"
	case !filepath.IsAbs(path):
		return "is not absolute; write the whole path"
	case slices.Contains(strings.Split(path, string(filepath.Separator)), ".."):
		return "contains ..; write the path without it"
	}
	return ""
}

// checkDirectory says what keeps path from being an absolute directory without .. and symbolic links, or nothing.
func checkDirectory(path string) string {
	if reason := checkForm(path); reason != "" {
		return reason
	}
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Sprintf("cannot be used: %v", err)
	}
	if !info.IsDir() {
		return "is no directory"
	}
	clean := filepath.Clean(path)
	resolved, err := filepath.EvalSymlinks(clean)
	if err != nil {
		return fmt.Sprintf("cannot be resolved: %v", err)
	}
	if resolved != clean {
		return fmt.Sprintf("leads through a symbolic link; write %q", resolved)
	}
	return ""
}

// object reads a JSON object of strings; false where the variable holds something else. The decoder's own message is
// not for people: it could show a part of a secret value.
func (p *settingsParser) object(name string) (map[string]string, bool) {
	value := p.value(name)
	if value == "" {
		return nil, true
	}
	var members map[string]*jsonString // a null is no string
	if err := json.Unmarshal([]byte(value), &members); err != nil || members == nil {
		return nil, false
	}
	object := make(map[string]string, len(members))
	for _, key := range slices.Sorted(maps.Keys(members)) {
		member := members[key]
		if member == nil {
			return nil, false
		}
		if member.problem != "" {
			p.fail("%s: the value of %.80q %s", name, key, member.problem)
		}
		object[key] = member.text
	}
	return object, true
}

func (p *settingsParser) environment() map[string]string {
	variables, ok := p.object(varEnvironment)
	if !ok {
		p.fail("%s is no JSON object of strings; write for example {\"NAME\": \"value\"}", varEnvironment)
		return nil
	}
	if len(variables) > maxVariables {
		p.fail("%s has %d variables; at most %d are allowed", varEnvironment, len(variables), maxVariables)
	}
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		switch {
		case !variableName.MatchString(name):
			p.fail("%s: %.80q is no variable name; use letters, digits and _", varEnvironment, name)
		case strings.ContainsRune(variables[name], 0):
			p.fail("%s: the value of %.80q contains a NUL character", varEnvironment, name)
		case len([]rune(variables[name])) > maxVariableChars:
			p.fail("%s: the value of %.80q is longer than %d characters", varEnvironment, name, maxVariableChars)
		}
	}
	return variables
}

// maxHandshake keeps the duration in range; longer is as good as for ever.
const maxHandshake = 24 * time.Hour

func (p *settingsParser) handshake() time.Duration {
	value := p.value(varHandshake)
	if value == "" {
		return 5 * time.Second
	}
	seconds, err := strconv.ParseFloat(value, 64)
	if err != nil || !(seconds > 0) || seconds > maxHandshake.Seconds() {
		p.fail("%s: %.80q is no number of seconds above 0 and up to %.0f", varHandshake, value, maxHandshake.Seconds())
	}
	return time.Duration(seconds * float64(time.Second))
}
