package envprov

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Shown is the value of a setting as people may see it.
func Shown(name, value string, redactor *Redactor) string {
	if name != varEnvironment {
		return redactor.Redact(value)
	}
	p := &settingsParser{lookup: func(string) (string, bool) { return value, true }}
	variables, ok := p.object(varEnvironment)
	if !ok {
		return mask
	}
	var members []string
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		members = append(members, fmt.Sprintf("%q: %q", name, mask))
	}
	return "{" + strings.Join(members, ", ") + "}"
}
