package dyntools

import (
	"strings"
	"unicode/utf8"
)

// protected are the names that the shell itself binds.
var protected = []string{"In", "Out", "get_ipython", "exit", "quit", "open"}

// nameRules decides about names. It is immutable.
type nameRules struct {
	protected     map[string]bool // the shell's own names and the configured module bindings
	stable        map[string]bool // the server's own tools
	toolNameChars int
}

func newNameRules(o Options) nameRules {
	return nameRules{
		protected:     setOf(append(o.ModuleBindings, protected...)),
		stable:        setOf(o.StableTools),
		toolNameChars: o.ToolNameChars,
	}
}

func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// checkSymbol accepts unprotected identifiers.
func (n nameRules) checkSymbol(symbol string) error {
	switch {
	case strings.Contains(symbol, "."):
		return refuse(InvalidSymbolName,
			"name %s is dotted: only a top-level name can be registered, so bind it to one first", quoted(symbol))
	case !isIdentifier(symbol):
		return refuse(InvalidSymbolName, "name %s is no Python identifier", quoted(symbol))
	case symbol[0] == '_':
		return refuse(InvalidSymbolName,
			"name %s is protected: choose one that does not start with an underscore", quoted(symbol))
	case n.protected[symbol]:
		return refuse(InvalidSymbolName, "name %s is protected: bind the callable to another name", quoted(symbol))
	}
	return nil
}

// checkTool accepts tool names that no stable tool has. byDefault says that the symbol's name is used.
func (n nameRules) checkTool(name string, byDefault bool) error {
	hint := ""
	if byDefault {
		hint = "; pass tool_name"
	}
	if !isToolName(name) {
		return refuse(InvalidToolName,
			"tool name %s is not valid: start with an ASCII letter and go on with ASCII letters, digits, _ and -%s",
			quoted(name), hint)
	}
	if len(name) > n.toolNameChars { // ASCII only, so that bytes are characters
		return refuse(InvalidToolName, "tool name %s has %d characters, at most %d are allowed%s",
			quoted(name), utf8.RuneCountInString(name), n.toolNameChars, hint)
	}
	if n.stable[name] {
		return refuse(StableToolCollision, "tool name %s belongs to the server: choose another one%s", quoted(name), hint)
	}
	return nil
}

func isToolName(s string) bool {
	for i := range len(s) {
		if c := s[i]; !isASCIILetter(c) && (i == 0 || c != '_' && c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return s != ""
}

func isASCIILetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
