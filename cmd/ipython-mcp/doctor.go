package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"ipython-mcp/envprov"
)

// check is one thing that a start depends on.
type check struct {
	Name    string `json:"name"`
	OK      bool   `json:"ok"`
	Value   string `json:"value"`             // what would be used, or what is wrong
	Why     string `json:"why,omitempty"`     // this and nothing else
	Remedy  string `json:"remedy,omitempty"`  // of a problem
	Skipped bool   `json:"skipped,omitempty"` // not looked at; ok says nothing
}

// setting is one variable as a start would read it, without secrets.
type setting struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source string `json:"source"` // flag, environment or default
}

// diagnosis is what doctor says.
type diagnosis struct {
	OK       bool      `json:"ok"` // a start would work
	Version  string    `json:"version"`
	Checks   []check   `json:"checks"`
	Settings []setting `json:"settings"`
}

// runDoctor says what a start would use and why, and returns the exit status: whether a start would work.
func runDoctor(lookup func(string) (string, bool), changed func(string) bool, asJSON bool) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	found := diagnose(ctx, lookup)
	found.Settings = describeSettings(lookup, changed)
	write := found.writeText
	if asJSON {
		write = found.writeJSON
	}
	if err := write(os.Stdout); err != nil || !found.OK {
		return exitFailure
	}
	return exitOK
}

func (d diagnosis) writeJSON(out io.Writer) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(d)
}

func (d diagnosis) writeText(out io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "ipython-mcp %s\n\n", d.Version)
	for _, c := range d.Checks {
		state := "ok"
		switch {
		case c.Skipped:
			state = "--"
		case !c.OK:
			state = "PROBLEM"
		}
		fmt.Fprintf(&b, "%-8s %-14s %s\n", state, c.Name, c.Value)
		for _, detail := range [][2]string{{"because", c.Why}, {"remedy", c.Remedy}} {
			if detail[1] != "" {
				fmt.Fprintf(&b, "%-8s %-14s %s: %s\n", "", "", detail[0], detail[1])
			}
		}
	}
	b.WriteString("\nsettings\n")
	for _, s := range d.Settings {
		if s.Source != sourceDefault {
			fmt.Fprintf(&b, "  %s=%s (%s)\n", s.Name, s.Value, s.Source)
		}
	}
	b.WriteString("  everything else has its default; --json lists all\n\n")
	if d.OK {
		b.WriteString("A start with these settings would work.\n")
	} else {
		b.WriteString("A start with these settings would fail.\n")
	}
	_, err := io.WriteString(out, b.String())
	return err
}

const sourceDefault = "default"

// describeSettings lists every variable; secrets are masked.
func describeSettings(lookup func(string) (string, bool), changed func(string) bool) []setting {
	c, _ := parseConfig(lookup)
	redactor := envprov.NewRedactor(c.settings.Environment, os.Environ())
	var all []setting
	for _, v := range variables() {
		value, _ := lookup(v.Name)
		s := setting{Name: v.Name, Value: v.Default, Source: sourceDefault}
		if value != "" {
			s.Value, s.Source = envprov.Shown(v.Name, value, redactor), "environment"
			if changed(flagName(v.Name)) {
				s.Source = "flag"
			}
		}
		all = append(all, s)
	}
	return all
}
