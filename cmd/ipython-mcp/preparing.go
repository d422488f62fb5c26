package main

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"

	"ipython-mcp/envprov"
	"ipython-mcp/internal/bundle"
	"ipython-mcp/shell"
)

// phaseInterpreter is the phase of a start that finds, extracts and loads an interpreter.
const phaseInterpreter = "interpreter"

// preparer does what a start does before CPython runs. Its methods are called one after the other, as prepare does.
type preparer struct {
	cache    *bundle.Cache
	settings envprov.Settings
	environ  []string // the process's, without the configured variables: what uv gets
	redactor *envprov.Redactor
	report   func(envprov.Progress) // called by one goroutine at a time
}

// newPreparer must be called before the configured variables are set in this process.
func newPreparer(cache *bundle.Cache, settings envprov.Settings, report func(envprov.Progress)) *preparer {
	environ := os.Environ()
	return &preparer{
		cache: cache, settings: settings, environ: environ, report: report,
		redactor: envprov.NewRedactor(settings.Environment, environ).WithURLs(settings.Requirements...),
	}
}

// prepared is what there is before CPython runs.
type prepared struct {
	base   envprov.Interpreter // bundled, or the configured one
	chosen envprov.Interpreter // the environment's where there is one, else base
	made   envprov.Made
	site   bundle.Tree // the bundled IPython
	code   bundle.Tree // the Python half of package shell

	ignored []string // variables of the client's that this Python must not see
}

// prepare extracts what is missing from the cache and provisions the environment.
func (p *preparer) prepare(ctx context.Context) (prepared, *shell.StartupError) {
	var found prepared
	var err error
	p.report(envprov.Progress{Phase: phaseInterpreter})
	if found.site, err = p.cache.Site(ctx); err != nil {
		return found, p.failed(err)
	}
	if found.code, err = p.cache.Files(ctx, "ipymcp", shell.PythonFiles()); err != nil {
		return found, p.failed(err)
	}
	if found.base, err = p.baseInterpreter(ctx); err != nil {
		return found, p.failed(err)
	}
	if err = p.checkVariables(ctx, &found); err != nil {
		return found, p.failed(err)
	}
	if err = p.precompile(ctx, found); err != nil {
		return found, p.failed(err)
	}
	found.chosen = found.base
	if p.settings.EnvironmentDir() != "" {
		request, failure := p.request(ctx, found)
		if failure == nil {
			found.chosen, found.made, failure = envprov.Provision(ctx, request)
		}
		if failure != nil {
			return found, p.failed(failure)
		}
		p.report(envprov.Progress{Phase: phaseInterpreter})
	}
	return found, nil
}

// checkVariables finds the variables that would keep CPython from starting, or mislead it. The client's are ignored;
// configured ones that cannot work are an error.
func (p *preparer) checkVariables(ctx context.Context, found *prepared) error {
	var environ []string
	merged := p.variables()
	for _, variable := range p.environ {
		name, value, _ := strings.Cut(variable, "=")
		if _, configured := merged[name]; !configured {
			merged[name] = value
		}
	}
	for name, value := range merged {
		if !slices.Contains(misleading, name) {
			environ = append(environ, name+"="+value)
		} else if value != "" {
			found.ignored = append(found.ignored, name)
		}
	}
	var wrong []string
	for _, name := range envprov.UnusableVariables(ctx, found.base.Executable, environ) {
		if _, configured := p.settings.Environment[name]; configured {
			wrong = append(wrong, name)
		} else {
			found.ignored = append(found.ignored, name)
		}
	}
	slices.Sort(found.ignored)
	if len(wrong) > 0 {
		return envprov.RefuseVariables(wrong)
	}
	return nil
}

// precompile makes sure that importing our Python, and the bundled one, costs no compiling. An environment's interpreter
// reads the byte code of the one beneath it.
func (p *preparer) precompile(ctx context.Context, found prepared) error {
	trees := []string{found.code.Dir}
	if found.base.CacheTag != bundle.CacheTag {
		trees = append(trees, found.site.Dir) // it carries the bundled interpreter's byte code only
	}
	err := p.cache.Precompile(ctx, found.base.Executable, found.base.CacheTag, trees...)
	if err != nil && ctx.Err() == nil {
		// Importing without byte code is slow, but works; an interpreter that is none fails when it is loaded.
		p.report(envprov.Progress{Phase: phaseInterpreter, Line: p.redactor.Redact(err.Error())})
		err = nil
	}
	return err
}

// baseInterpreter is the configured interpreter, or the bundled one.
func (p *preparer) baseInterpreter(ctx context.Context) (envprov.Interpreter, error) {
	if p.settings.Python != "" {
		return envprov.Locate(ctx, p.settings.Python)
	}
	tree, err := p.cache.CPython(ctx)
	if err != nil {
		return envprov.Interpreter{}, err
	}
	return envprov.Interpreter{
		Executable: tree.Path(bundle.Interpreter),
		Library:    tree.Path(bundle.Library),
		Version:    bundle.Version,
		CacheTag:   bundle.CacheTag,
	}, nil
}

// request is what package envprov is asked for about the configured environment.
func (p *preparer) request(ctx context.Context, found prepared) (envprov.Request, *envprov.Failure) {
	requirements, failure := envprov.Canonical(ctx, found.base.Executable, found.site.Dir, p.settings.Requirements,
		p.redactor)
	return envprov.Request{
		Settings: p.settings, Base: found.base, Requirements: requirements,
		Environ: p.environ, Redactor: p.redactor, Report: p.report,
		Trial: []string{"-I", "-c", trial, found.code.Dir, found.site.Dir},
	}, failure
}

// variables are what the namespace finds in its environment, beside the process's: the configured variables, and what
// the uv that user code runs has in common with ours.
func (p *preparer) variables() map[string]string {
	all := maps.Clone(p.settings.Environment)
	if all == nil {
		all = map[string]string{}
	}
	for _, variable := range envprov.TrustVariables(p.environ) {
		name, value, _ := strings.Cut(variable, "=")
		if _, configured := all[name]; !configured {
			all[name] = value
		}
	}
	return all
}

// failed is a start's failure, without secrets.
func (p *preparer) failed(err error) *shell.StartupError {
	var failure *envprov.Failure
	if errors.As(err, &failure) {
		return &shell.StartupError{Phase: failure.Phase, Message: failure.Message}
	}
	return &shell.StartupError{Phase: phaseInterpreter, Message: p.redactor.Redact(err.Error())}
}
