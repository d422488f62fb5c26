package envprov

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// pythonPrefix begins the names of the variables that CPython reads.
const pythonPrefix = "PYTHON"

// UnusableVariables names the variables of environ, all of them CPython's, with which the interpreter at path cannot
// even initialize: what it takes differs between versions, so it is asked. Without such variables, nothing is run.
func UnusableVariables(ctx context.Context, path string, environ []string) []string {
	others := withoutPythonVariables(environ)
	if len(others) == len(environ) || initializes(ctx, path, environ) || !initializes(ctx, path, others) {
		return nil
	}
	var unusable []string
	for _, variable := range environ {
		if strings.HasPrefix(variable, pythonPrefix) && !initializes(ctx, path, append(others, variable)) {
			name, _, _ := strings.Cut(variable, "=")
			unusable = append(unusable, name)
		}
	}
	return unusable
}

// RefuseVariables is the failure of a start whose configured variables, of the given names, cannot be used.
func RefuseVariables(names []string) *Failure {
	slices.Sort(names)
	return &Failure{PhaseConfiguration, fmt.Sprintf(
		"%s: Python cannot start with the value of %q; correct or remove it", varEnvironment, names)}
}

// initializes says whether an interpreter starts in an environment; true where that cannot be told. Site packages are
// left out: what they run would run twice.
func initializes(ctx context.Context, path string, environ []string) bool {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, path, "-S", "-P", "-c", "")
	command.Env = environ
	var failed *exec.ExitError
	return !errors.As(command.Run(), &failed) || ctx.Err() != nil
}
