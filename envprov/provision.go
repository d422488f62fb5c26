package envprov

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ipython-mcp/internal/filelock"
)

// Progress is what Provision is doing.
type Progress struct {
	Phase string
	Line  string // uv's last line, redacted; empty at the beginning of a phase
}

// Request is what Provision and Look are asked for.
type Request struct {
	Settings     Settings       // names an environment
	Base         Interpreter    // the server's own
	Requirements []string       // as Canonical returned them
	Environ      []string       // the server's own environment, without the configured variables
	Trial        []string       // arguments for an interpreter: it fails, with a reason, where it cannot serve
	Redactor     *Redactor      // of this start
	Report       func(Progress) // called by one goroutine at a time; may be nil
}

// Made says whether Provision made the environment or found it.
type Made bool

// Provision makes the environment, or validates the one that is there, and returns its interpreter. After a failure,
// and when ctx ends, the workspace is as it was.
func Provision(ctx context.Context, r Request) (Interpreter, Made, *Failure) {
	if r.Report == nil {
		r.Report = func(Progress) {}
	}
	r.Redactor = r.Redactor.WithURLs(r.Requirements...)
	created, err := makeWorkspace(r.Settings.Workspace)
	if err != nil {
		return Interpreter{}, false, r.fail(PhaseProvisioning, "the workspace cannot be created: %v", err)
	}
	found, made, failure := provision(ctx, r)
	if failure != nil {
		removeEmpty(created)
	}
	return found, made, failure
}

func provision(ctx context.Context, r Request) (Interpreter, Made, *Failure) {
	sweep(r.Settings.Workspace)
	if r.exists() {
		found, failure := r.reuse(ctx)
		return found, false, failure
	}
	unlock, failure := r.lock(ctx)
	if failure != nil {
		return Interpreter{}, false, failure
	}
	defer unlock()
	if r.exists() { // another start has made it meanwhile
		found, failure := r.reuse(ctx)
		return found, false, failure
	}
	found, failure := r.create(ctx)
	return found, true, failure
}

func (r Request) fail(phase, format string, args ...any) *Failure {
	return &Failure{phase, r.Redactor.Redact(fmt.Sprintf(format, args...))}
}

func (r Request) exists() bool {
	_, err := os.Lstat(r.Settings.EnvironmentDir())
	return !errors.Is(err, fs.ErrNotExist)
}

// lock waits for a start that makes the same environment. It cannot last longer than that start's phases.
func (r Request) lock(ctx context.Context) (func(), *Failure) {
	path := lockPath(r.Settings.Workspace, r.Settings.ActiveEnvironment)
	if unlock, ok := filelock.Try(path); ok {
		return unlock, nil
	}
	r.Report(Progress{PhaseProvisioning, "waiting for another start that makes the same environment"})
	limit := 3*min(r.Settings.SetupTimeout, time.Hour*24*365) + 10*time.Second
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	unlock, err := filelock.Lock(limited, path)
	// Starts that fail take back the workspace that they created.
	for errors.Is(err, fs.ErrNotExist) && limited.Err() == nil {
		if _, err = makeWorkspace(r.Settings.Workspace); err == nil {
			unlock, err = filelock.Lock(limited, path)
		}
	}
	if err == nil {
		return unlock, nil
	}
	if limited.Err() != nil && ctx.Err() == nil {
		return nil, r.fail(PhaseProvisioning,
			"another start has been making the environment %q for more than %v; end it and try again", path, limit)
	}
	return nil, r.fail(PhaseProvisioning, "%q cannot be locked: %v", path, err)
}

// create makes the environment in a temporary directory and renames it into its place. The caller holds the lock.
func (r Request) create(ctx context.Context) (Interpreter, *Failure) {
	program, err := FindUV(r.Environ)
	if err != nil {
		return Interpreter{}, r.fail(PhaseProvisioning, "%v", err)
	}
	workspace, name := r.Settings.Workspace, r.Settings.ActiveEnvironment
	temporary, err := os.MkdirTemp(workspace, temporaryPrefix(name))
	if err != nil {
		return Interpreter{}, r.fail(PhaseProvisioning, "%s %q cannot be written to: %v", varWorkspace, workspace, err)
	}
	defer removeTree(temporary)
	scratch := filepath.Join(temporary, "tmp")
	if err := os.Mkdir(scratch, 0o700); err != nil {
		return Interpreter{}, r.fail(PhaseProvisioning, "%v", err)
	}
	environment := filepath.Join(temporary, "environment")
	u := uv{program, uvEnviron(r.Environ, scratch), temporary, r.Settings.SetupTimeout, r.Redactor, r.Report}
	if failure := r.build(ctx, u, environment); failure != nil {
		return Interpreter{}, failure
	}
	found, err := r.interpreterOf(ctx, environment)
	if err != nil {
		return Interpreter{}, r.fail(PhaseProvisioning, "what uv made cannot be used: %v", err)
	}
	if reason := r.try(ctx, environment); reason != "" {
		return Interpreter{}, r.fail(PhaseDependencyInstall, "what %s ask for cannot serve: %s; change them, "+
			"or leave IPython out of them to have the bundled one", varRequirements, reason)
	}
	if err := describe(r.Base.Version, r.Requirements, r.Redactor).write(environment); err != nil {
		return Interpreter{}, r.fail(PhaseProvisioning, "the environment cannot be described: %v", err)
	}
	if err := os.Rename(environment, r.Settings.EnvironmentDir()); err != nil {
		return Interpreter{}, r.fail(PhaseProvisioning, "the environment cannot be moved to its place: %v", err)
	}
	return found, nil
}

// build runs the two phases of uv.
func (r Request) build(ctx context.Context, u uv, environment string) *Failure {
	// Relocatable: its scripts find the interpreter beside them, also after the rename.
	failure := u.run(ctx, PhaseProvisioning, "", "venv", "--no-project", "--relocatable", "--no-python-downloads",
		"--prompt", r.Settings.ActiveEnvironment, "--python", r.Base.Executable, environment)
	if failure != nil {
		return failure
	}
	if len(r.Requirements) > 0 {
		// On stdin: a command line can be read by everybody.
		failure = u.run(ctx, PhaseDependencyInstall, strings.Join(r.Requirements, "\n")+"\n",
			"pip", "install", "--python", environmentPython(environment), "--requirements", "-")
	}
	return failure
}

func environmentPython(environment string) string { return filepath.Join(environment, "bin", "python") }

// interpreterOf is the interpreter that the environment in the directory has, or will have at its place. Its library is
// that of the interpreter beneath it.
func (r Request) interpreterOf(ctx context.Context, directory string) (Interpreter, error) {
	path := environmentPython(directory)
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return Interpreter{}, fmt.Errorf("its interpreter has gone: %v", err)
	}
	found := r.Base
	if base, err := filepath.EvalSymlinks(r.Base.Executable); err != nil || base != real {
		if found, err = examine(ctx, path); err != nil {
			return Interpreter{}, fmt.Errorf("its interpreter %s cannot serve: %v", path, err)
		}
	}
	found.Executable = environmentPython(r.Settings.EnvironmentDir())
	return found, nil
}
