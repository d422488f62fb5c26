package envprov

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	varWorkspace    = "IPYTHON_MCP_ENVIRONMENT_WORKSPACE"
	varActive       = "IPYTHON_MCP_ACTIVE_ENVIRONMENT"
	varRequirements = "IPYTHON_MCP_ENVIRONMENT_REQUIREMENTS"
	varSetupTimeout = "IPYTHON_MCP_ENVIRONMENT_SETUP_TIMEOUT_SECONDS"

	maxRequirements     = 64
	maxRequirementChars = 512
	maxRequirementsSum  = 8192 // characters of all

	defaultSetupTimeout = 300 * time.Second
)

var environmentName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// uvEnvironment reads the settings of the uv environment. project is what the workspace has to lie outside of; empty
// for none.
func (p *settingsParser) uvEnvironment(s *Settings, project string) {
	s.Workspace, s.ActiveEnvironment = p.value(varWorkspace), p.value(varActive)
	s.Requirements = p.requirements()
	s.SetupTimeout = p.setupTimeout()
	switch {
	case s.Workspace != "" && s.ActiveEnvironment == "":
		p.fail("%s is set without %s; set both, or neither", varWorkspace, varActive)
	case s.Workspace == "" && s.ActiveEnvironment != "":
		p.fail("%s is set without %s; set both, or neither", varActive, varWorkspace)
	case s.Workspace == "" && len(s.Requirements) > 0:
		p.fail("%s is set, but there is no environment to install them into; set %s and %s too", varRequirements,
			varWorkspace, varActive)
	}
	if s.ActiveEnvironment != "" && !environmentName.MatchString(s.ActiveEnvironment) {
		p.fail("%s: %.80q is no name of an environment; "+
			"use up to 64 letters, digits, '.', '_' and '-', the first a letter or digit",
			varActive, s.ActiveEnvironment)
	}
	if s.Workspace == "" {
		return
	}
	if reason := checkWorkspace(s.Workspace, project); reason != "" {
		p.problems = append(p.problems, Problem{
			PhasePathValidation,
			fmt.Sprintf("%s: %.200q %s", varWorkspace, s.Workspace, reason),
		})
		return
	}
	s.Workspace = filepath.Clean(s.Workspace)
}

// checkWorkspace says what keeps path from being the workspace, or nothing. It need not exist: the first start creates
// it.
func checkWorkspace(path, project string) string {
	if reason := checkForm(path); reason != "" {
		return reason
	}
	clean := filepath.Clean(path)
	existing := clean
	for {
		_, err := os.Lstat(existing)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) || existing == filepath.Dir(existing) {
			return fmt.Sprintf("cannot be used: %v", err)
		}
		existing = filepath.Dir(existing)
	}
	if reason := checkDirectory(existing); reason != "" {
		if existing != clean {
			reason = fmt.Sprintf("cannot be created: %q %s", existing, reason)
		}
		return reason
	}
	if project != "" && within(clean, project) {
		return fmt.Sprintf("lies inside the current project %q; choose a directory outside of it", project)
	}
	return ""
}

func within(path, directory string) bool {
	relative, err := filepath.Rel(directory, path)
	return err == nil && relative != ".." && !strings.HasPrefix(relative, "../")
}

// projectMarkers are what the root of a project contains.
var projectMarkers = []string{".git", ".hg", "pyproject.toml"}

// currentProject is the directory that contains the working directory and is marked as a project's root, else the
// working directory. The home directory and / are no projects: clients that have none start servers there. Empty where
// there is no project.
func currentProject() string {
	working, err := os.Getwd()
	if err != nil {
		return "" // it was deleted
	}
	if resolved, err := filepath.EvalSymlinks(working); err == nil {
		working = resolved
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = "/"
	}
	if resolved, err := filepath.EvalSymlinks(home); err == nil {
		home = resolved
	}
	outermost := func(directory string) bool { return directory == "/" || directory == home }
	for directory := working; !outermost(directory); directory = filepath.Dir(directory) {
		for _, marker := range projectMarkers {
			if _, err := os.Lstat(filepath.Join(directory, marker)); err == nil {
				return directory
			}
		}
	}
	if outermost(working) {
		return ""
	}
	return working
}

func (p *settingsParser) requirements() []string {
	value := p.value(varRequirements)
	if value == "" {
		return nil
	}
	var items []*jsonString
	if err := json.Unmarshal([]byte(value), &items); err != nil || items == nil {
		// The decoder's message could show a part of a credential.
		p.fail("%s is no JSON array of strings; write for example [\"numpy>=2\", \"pandas\"]", varRequirements)
		return nil
	}
	if len(items) > maxRequirements {
		p.fail("%s has %d requirements; at most %d are allowed", varRequirements, len(items), maxRequirements)
	}
	var requirements []string
	sum := 0
	for i, item := range items {
		if item == nil {
			p.fail("%s: item %d is null; only strings are allowed", varRequirements, i)
			continue
		}
		chars := utf8.RuneCountInString(item.text)
		sum += chars
		switch {
		case item.problem != "":
			p.fail("%s: item %d %s", varRequirements, i, item.problem)
		case strings.TrimSpace(item.text) == "":
			p.fail("%s: item %d is blank; remove it", varRequirements, i)
		case chars > maxRequirementChars:
			p.fail("%s: item %d has %d characters; at most %d are allowed", varRequirements, i, chars,
				maxRequirementChars)
		case strings.ContainsFunc(item.text, unicode.IsControl):
			p.fail("%s: item %d, %q, contains a control character", varRequirements, i, redactURLs(item.text))
		}
		requirements = append(requirements, item.text)
	}
	if sum > maxRequirementsSum {
		p.fail("%s has %d characters in all; at most %d are allowed", varRequirements, sum, maxRequirementsSum)
	}
	return requirements
}

func (p *settingsParser) setupTimeout() time.Duration {
	value := p.value(varSetupTimeout)
	if value == "" {
		return defaultSetupTimeout
	}
	seconds, err := strconv.ParseFloat(value, 64)
	if err != nil || !(seconds > 0) || math.IsInf(seconds, 0) {
		p.fail("%s: %.80q is no positive, finite number of seconds", varSetupTimeout, value)
		return defaultSetupTimeout
	}
	return time.Duration(min(seconds*float64(time.Second), float64(math.MaxInt64/2)))
}

// EnvironmentDir is the directory of the uv environment; empty where none is configured.
func (s Settings) EnvironmentDir() string {
	if s.Workspace == "" {
		return ""
	}
	return filepath.Join(s.Workspace, s.ActiveEnvironment)
}

// joinMessages puts the messages of problems into one line.
func joinMessages(problems []Problem) string {
	messages := make([]string, len(problems))
	for i, problem := range problems {
		messages[i] = problem.Message
	}
	return strings.Join(messages, "; ")
}

// sortProblems puts those of the first phase first, as a start would meet them.
func sortProblems(problems []Problem) {
	slices.SortStableFunc(problems, func(a, b Problem) int { return phaseOrder(a.Phase) - phaseOrder(b.Phase) })
}

func phaseOrder(phase string) int {
	return slices.Index([]string{PhaseConfiguration, PhasePathValidation}, phase)
}
