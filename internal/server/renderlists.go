package server

import (
	"fmt"
	"strings"

	"ipython-mcp/shell"
)

const moreNote = "(more; the list is cut)"

func renderList(a shell.ListAnswer) string {
	var p page
	p.printed(a.Stdout, a.Stderr)
	for _, f := range a.Functions {
		p.add(line(f.Name+f.Signature, f.Description))
	}
	p.more(a.Truncated)
	p.failed(a.Error)
	return p.or("no functions are defined")
}

func renderSearch(a shell.SearchAnswer) string {
	var p page
	p.printed(a.Stdout, a.Stderr)
	for _, r := range a.Results {
		p.add(line(r.Name, r.Kind, r.QualifiedType, r.Representation, r.Description))
	}
	p.more(a.Truncated)
	p.failed(a.Error)
	return p.or("no name matches")
}

func renderReload(a shell.ReloadAnswer) string {
	var p page
	p.printed(a.Stdout, a.Stderr)
	for _, r := range a.Results {
		switch {
		case r.Error != nil:
			p.addf("%s: failed", r.Module)
			p.failed(r.Error)
		case r.Binding != nil:
			p.addf("%s: loaded, bound to %s", r.Module, *r.Binding)
		default:
			p.addf("%s: loaded", r.Module)
		}
		for _, stale := range r.Stale {
			p.addf("  stale %s%s: %s", stale.Name, calledBy(stale.Tool), stale.Reason)
		}
		p.names("  refreshed", r.Refreshed)
		p.more(r.NamesTruncated)
	}
	p.failed(a.Error)
	return p.or("no modules were named")
}

// calledBy names the tool that calls a function, if there is one.
func calledBy(tool *string) string {
	if tool == nil {
		return ""
	}
	return fmt.Sprintf(" (called by the tool %s)", *tool)
}

func renderInspect(a shell.InspectAnswer) string {
	var p page
	p.printed(a.Stdout, a.Stderr)
	if a.OK {
		p.add(a.Name + value(a.Signature))
		p.field("kind", a.Kind)
		p.field("type", a.QualifiedType)
		p.field("module", a.Module)
		p.field("value", a.Representation)
		if text := value(a.Documentation); text != "" {
			p.add("\n" + text)
		}
	}
	p.failed(a.Error)
	return p.or(a.Name)
}

func renderRemove(a shell.RemoveAnswer) string {
	var p page
	p.printed(a.Stdout, a.Stderr)
	p.names("removed", a.Removed)
	p.names("refused, protected", a.Refused)
	p.names("unknown", a.Unknown)
	p.failed(a.Error)
	return p.or("no names were given")
}

func renderReset(a shell.ResetAnswer) string {
	var p page
	p.printed(a.Stdout, a.Stderr)
	p.names("removed", a.Removed)
	p.failed(a.Error)
	if a.OK && len(a.Removed) == 0 {
		p.add("nothing was defined")
	}
	if a.OK {
		p.addf("execution count: %d", a.ExecutionCount)
	}
	return p.or("nothing was changed")
}

func (p *page) more(cut bool) {
	if cut {
		p.add(moreNote)
	}
}

func (p *page) field(name string, text *string) {
	if value(text) != "" {
		p.addf("%s: %s", name, *text)
	}
}

func (p *page) names(what string, names []string) {
	if len(names) > 0 {
		p.add(fmt.Sprintf("%s: %s", what, strings.Join(names, ", ")))
	}
}

func value(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// line joins the parts that say something with two spaces, each reduced to its first line.
func line(parts ...string) string {
	var told []string
	for _, part := range parts {
		first, _, _ := strings.Cut(strings.TrimSpace(part), "\n")
		if first != "" {
			told = append(told, first)
		}
	}
	return strings.Join(told, "  ")
}
