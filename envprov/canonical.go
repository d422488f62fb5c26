package envprov

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
)

//go:embed canonical.py
var canonicalScript string

// Canonical brings the configured requirements into their canonical form, sorted, each once. The packaging library in
// the directory site does it, in a process of the interpreter python; without requirements, nothing is run. The failure
// names every requirement that is none.
func Canonical(ctx context.Context, python, site string, requirements []string, redactor *Redactor) ([]string,
	*Failure,
) {
	if len(requirements) == 0 {
		return []string{}, nil
	}
	answers, err := runCanonical(ctx, python, site, requirements)
	if err != nil {
		return nil, &Failure{
			PhaseConfiguration,
			redactor.Redact(fmt.Sprintf("%s could not be read by %s: %v", varRequirements, python, err)),
		}
	}
	var canonical []string
	var problems settingsParser
	for i, answer := range answers {
		if answer.Problem != "" {
			problems.fail("%s: item %d, %q, is no PEP 508 requirement: %s", varRequirements, i,
				redactor.Redact(requirements[i]), redactor.Redact(answer.Problem))
		}
		canonical = append(canonical, answer.Canonical)
	}
	if len(problems.problems) > 0 {
		return nil, &Failure{PhaseConfiguration, joinMessages(problems.problems)}
	}
	slices.Sort(canonical)
	return slices.Compact(canonical), nil
}

type canonicalAnswer struct{ Canonical, Problem string }

func runCanonical(ctx context.Context, python, site string, requirements []string) ([]canonicalAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	question, err := json.Marshal(requirements)
	if err != nil {
		return nil, err
	}
	// -I: nothing of the user's environment; -S: no site packages, which could bring another packaging.
	command := exec.CommandContext(ctx, python, "-I", "-S", "-B", "-c", canonicalScript, site)
	command.Stdin = bytes.NewReader(question)
	command.Dir = site
	var stderr bytes.Buffer
	command.Stderr = &stderr
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("%v%s", err, lastLine(stderr.String()))
	}
	var answers []canonicalAnswer
	if err := json.Unmarshal(output, &answers); err != nil || len(answers) != len(requirements) {
		return nil, fmt.Errorf("its answer about %d requirements is no JSON array of as many", len(requirements))
	}
	return answers, nil
}
