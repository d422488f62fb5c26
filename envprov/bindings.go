package envprov

import "strings"

// ModuleBindings returns the names that the preloaded modules are bound to: their aliases, or the last part of their own names.
func (s Settings) ModuleBindings() []string {
	bindings := make([]string, 0, len(s.PreloadModules))
	for _, module := range s.PreloadModules {
		binding, aliased := s.ModuleAliases[module]
		if !aliased {
			binding = module[strings.LastIndexByte(module, '.')+1:]
		}
		bindings = append(bindings, binding)
	}
	return bindings
}
