package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ipython-mcp/envprov"
	"ipython-mcp/internal/bundle"
	"ipython-mcp/internal/cpython"
)

// examination goes through what a start depends on, in its order. A step returns false where the ones after it have
// nothing to stand on.
type examination struct {
	diagnosis
	config   config
	cache    *bundle.Cache
	preparer *preparer
	found    prepared
	missing  bool // an environment is configured and has yet to be made
}

// diagnose examines everything and changes nothing but the cache of the bundled Python. It never runs uv's
// installation.
func diagnose(ctx context.Context, lookup func(string) (string, bool)) diagnosis {
	e := &examination{diagnosis: diagnosis{Version: buildVersion()}}
	cleanup := func() error { return nil }
	works := e.configuration(lookup) && e.openCache(&cleanup) && e.interpreter(ctx) && e.variables(ctx) && e.library() && e.environment(ctx)
	// What cannot be removed is a temporary directory's content.
	defer func() { _ = cleanup() }()
	switch {
	case !works:
	case e.missing:
		e.add(check{
			Name: "start", Skipped: true,
			Value: "not tried: the environment has yet to be made; ipython-mcp prepare makes it",
		})
	default:
		works = e.start(ctx, lookup)
	}
	e.OK = works
	return e.diagnosis
}

func (e *examination) add(c check) bool {
	e.Checks = append(e.Checks, c)
	return c.OK
}

// problem adds a check that failed. Most messages of this program end with what to do, after the last semicolon;
// otherwise is the remedy of the others.
func (e *examination) problem(name, message, otherwise string) bool {
	if e.preparer != nil {
		message = e.preparer.redactor.Redact(message)
	}
	remedy := otherwise
	if at := strings.LastIndex(message, "; "); at >= 0 {
		message, remedy = message[:at], message[at+len("; "):]
	}
	return e.add(check{Name: name, Value: message, Remedy: remedy})
}

func (e *examination) configuration(lookup func(string) (string, bool)) bool {
	c, problems := parseConfig(lookup)
	e.config = c
	for _, p := range problems {
		e.problem("configuration", p.Message, "correct the setting or unset it")
	}
	if len(problems) > 0 {
		return false
	}
	value := "every variable and flag is valid"
	if len(c.retired) > 0 {
		value += "; ignored because they are retired: " + strings.Join(c.retired, ", ")
	}
	return e.add(check{Name: "configuration", OK: true, Value: value})
}

func (e *examination) openCache(cleanup *func() error) bool {
	cache, done, err := bundle.OpenCache(e.config.cacheDir)
	if err != nil {
		return e.problem("cache", err.Error(), "set "+bundle.CacheDirVariable+" to a writable directory")
	}
	*cleanup = done
	e.cache = cache
	e.preparer = newPreparer(cache, e.config.settings, func(envprov.Progress) {})
	why := "the user's cache directory"
	if e.config.cacheDir != "" {
		why = bundle.CacheDirVariable + " says so"
	} else if user, err := os.UserCacheDir(); err != nil || !strings.HasPrefix(cache.Dir, user) {
		why = "the user's cache directory cannot be used; set " + bundle.CacheDirVariable + " to choose another"
	}
	return e.add(check{Name: "cache", OK: true, Value: cache.Dir, Why: why})
}

func (e *examination) interpreter(ctx context.Context) bool {
	var err error
	if e.found.site, err = e.cache.Site(ctx); err == nil {
		e.found.base, err = e.preparer.baseInterpreter(ctx)
	}
	if err != nil {
		return e.problem("interpreter", err.Error(), "repair the cache: delete the directory and start again")
	}
	e.found.chosen = e.found.base
	why := "bundled; IPYTHON_MCP_PYTHON chooses another"
	if e.config.settings.Python != "" {
		why = "IPYTHON_MCP_PYTHON says so"
	}
	e.add(check{Name: "interpreter", OK: true, Value: e.found.base.Executable, Why: why})
	return e.add(check{
		Name: "IPython", OK: true, Value: bundledVersion(e.found.site.Dir),
		Why: "bundled; an environment's own comes first",
	})
}

// bundledVersion reads the version from the name of the distribution's directory.
func bundledVersion(site string) string {
	found, err := filepath.Glob(filepath.Join(site, "ipython-*.dist-info"))
	if err != nil || len(found) != 1 {
		return "unknown"
	}
	return strings.TrimSuffix(strings.TrimPrefix(filepath.Base(found[0]), "ipython-"), ".dist-info")
}

// variables says which of Python's variables are ignored; most often there is nothing to say.
func (e *examination) variables(ctx context.Context) bool {
	if err := e.preparer.checkVariables(ctx, &e.found); err != nil {
		return e.problem("variables", e.preparer.failed(err).Message, "correct or remove it")
	}
	if len(e.found.ignored) == 0 {
		return true
	}
	return e.add(check{
		Name: "variables", OK: true, Value: "ignored: " + strings.Join(e.found.ignored, ", "),
		Why: "they describe another Python, or this one cannot start with them",
	})
}

func (e *examination) library() bool {
	library, err := cpython.Load(e.found.base.Library)
	if err != nil {
		return e.problem("library", err.Error(), "choose another interpreter with IPYTHON_MCP_PYTHON")
	}
	return e.add(check{Name: "library", OK: true, Value: fmt.Sprintf("%s, Python %s", e.found.base.Library,
		library.Version)})
}

func (e *examination) environment(ctx context.Context) bool {
	if e.config.settings.EnvironmentDir() == "" {
		e.uv(ctx, false)
		return e.add(check{
			Name: "environment", OK: true, Value: "none",
			Why: "none is configured; uv is not needed for a start",
		})
	}
	request, failure := e.preparer.request(ctx, e.found)
	if failure != nil {
		return e.problem("requirements", failure.Message, "write requirements as PEP 508 says, for example numpy>=2")
	}
	state := envprov.Look(request)
	e.missing = !state.Exists
	if !e.uv(ctx, e.missing) {
		return false
	}
	switch {
	case e.missing:
		return e.add(check{
			Name: "environment", OK: true, Value: state.Directory,
			Why: fmt.Sprintf("it does not exist; a start makes it with uv and %d requirements",
				len(request.Requirements)),
		})
	case len(state.Reasons) > 0:
		return e.add(check{
			Name: "environment", Value: state.Directory + ": " + strings.Join(state.Reasons, "; "),
			Remedy: "choose another IPYTHON_MCP_ACTIVE_ENVIRONMENT, or delete the directory to have it made anew",
		})
	}
	return e.add(check{
		Name: "environment", OK: true, Value: state.Directory,
		Why: "it exists and is what is wanted; uv is not run",
	})
}

// uv looks for the program; only where it is needed, its absence is a problem.
func (e *examination) uv(ctx context.Context, needed bool) bool {
	path, err := envprov.FindUV(e.preparer.environ)
	if err != nil {
		if needed {
			return e.problem("uv", err.Error(), "install uv")
		}
		return e.add(check{Name: "uv", OK: true, Value: "not found", Why: "it is not needed for this start"})
	}
	version, err := envprov.UVVersion(ctx, path)
	if err != nil {
		return e.problem("uv", err.Error(), "install uv again") || !needed
	}
	return e.add(check{
		Name: "uv", OK: true, Value: path + ", " + version,
		Why: "found on PATH or where its installers put it",
	})
}

func (e *examination) start(ctx context.Context, lookup func(string) (string, bool)) bool {
	if err := tryStart(ctx, lookup); err != nil {
		return e.problem("start", err.Error(),
			"correct what the message names; a module that cannot be imported has to be in the environment")
	}
	return e.add(check{Name: "start", OK: true, Value: "a trial start answered a call"})
}
