package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ipython-mcp/envprov"
	"ipython-mcp/internal/bounds"
	"ipython-mcp/internal/bundle"
	"ipython-mcp/internal/children"
	"ipython-mcp/internal/cpython"
	"ipython-mcp/internal/descriptors"
	"ipython-mcp/internal/server"
	"ipython-mcp/shell"
)

// process is what one server process consists of. Everything but the last group is constant once assemble has returned.
type process struct {
	config  config
	stdio   *descriptors.Stdio
	log     *slog.Logger
	family  *children.Family
	cache   *bundle.Cache
	scratch scratch
	channel *cpython.Channel
	stacks  *cpython.Stacks
	kernel  *shell.Shell
	server  *server.Server
	startup *startupLog

	preparer *preparer
	progress *startProgress

	terminated  <-chan struct{} // closed when a signal asks for the end
	cleanups    []func() error  // in order of creation
	cleanupOnce sync.Once

	handshake     chan struct{} // closed when initialize may be answered
	handshakeOnce sync.Once
	failed        atomic.Bool   // the start failed before the handshake
	ending        atomic.Bool   // the protocol has ended
	ended         chan struct{} // closed when nothing runs in the interpreter any more
}

// serve runs one server until its client goes, and returns the exit status. It must be called on the main goroutine,
// whose thread becomes Python's.
func serve(lookup func(string) (string, bool)) int {
	warnOfLimit(os.Stderr)
	c, problems := parseConfig(lookup)
	if len(problems) > 0 {
		fmt.Fprintln(os.Stderr, failureLine(problems, c.limits.TextChars))
		return exitFailure
	}
	p, err := assemble(c)
	if err != nil {
		fmt.Fprintf(os.Stderr, "ipython-mcp: %v\n", err)
		return exitFailure
	}
	defer p.cleanup()
	return p.run()
}

// assemble makes everything that needs no Python. On failure nothing is left behind, and descriptor 2 is still the
// original; the process is then of no use.
func assemble(c config) (p *process, err error) {
	p = &process{config: c, handshake: make(chan struct{}), ended: make(chan struct{})}
	defer func() {
		if err != nil {
			p.cleanup()
		}
	}()
	cache, cleanup, err := bundle.OpenCache(c.cacheDir)
	if err != nil {
		return p, err
	}
	p.cache, p.cleanups = cache, append(p.cleanups, cleanup)
	if p.scratch.path, err = chooseScratch(); err != nil {
		return p, err
	}
	p.cleanups = append(p.cleanups, p.scratch.remove)
	if p.channel, err = cpython.NewChannel(); err != nil {
		return p, err
	}
	if p.stacks, err = cpython.NewStacks(); err != nil {
		return p, err
	}
	if p.terminated, err = terminations(); err != nil {
		return p, err
	}
	p.progress = newStartProgress()
	p.preparer = newPreparer(p.cache, c.settings, p.progress.report)
	if p.stdio, err = descriptors.Take(); err != nil {
		return p, err
	}
	// Descriptor 2 is drained by this process: the last words of Go's runtime would die with it.
	if err := debug.SetCrashOutput(p.stdio.Log, debug.CrashOptions{}); err != nil {
		return p, fmt.Errorf("cannot direct the runtime's crash output: %v", err)
	}
	return p, p.assembleServer()
}

// assembleServer wires what stands on the descriptors: log, queue, protocol.
func (p *process) assembleServer() (err error) {
	p.log = slog.New(slog.NewTextHandler(descriptors.NewLog(p.stdio.Log), &slog.HandlerOptions{Level: p.config.logLevel}))
	p.startup = &startupLog{out: p.stdio.Log, left: p.config.limits.TextChars, redactor: p.preparer.redactor}
	p.stdio.Redirect(p.startup, p.startup)
	if len(p.config.retired) > 0 {
		p.log.Warn("ignored retired variables", "names", strings.Join(p.config.retired, ", "))
	}
	if p.family, err = children.Mark(p.stdio.PipeInodes()); err != nil {
		return err
	}
	p.cleanups = append(p.cleanups, func() error { p.family.End(childrenGrace); return nil })
	p.kernel = shell.New(shell.Options{
		Engine: p.channel, Output: p.stdio, Limits: p.config.limits, Scratch: p.scratch.path, InterruptChildren: p.family.Interrupt,
		Stack: p.stacks.Read, Keep: cpython.Hide, Aside: p.channel.Aside,
	})
	p.server, err = server.New(server.Options{
		Namespace: p.kernel, Limits: p.config.limits, Compact: p.config.compact, Logger: p.log, Version: buildVersion(),
		Startup: p.progress, Thread: p.channel, ModuleBindings: p.config.settings.ModuleBindings(),
		Reply: p.config.clocks.reply, Timeout: p.config.clocks.timeout, Answer: p.config.clocks.answer,
	})
	return err
}

// run prepares the interpreter and lives inside it until the end.
func (p *process) run() int {
	ctx, stopPreparing := context.WithCancel(context.Background())
	defer stopPreparing()
	go p.serveProtocol(stopPreparing)
	time.AfterFunc(p.config.settings.Handshake, p.openHandshake)

	python, failure := p.prepareInterpreter(ctx)
	if failure != nil {
		if p.ending.Load() {
			return exitOK
		}
		return p.startFailed(failure)
	}
	cpython.Protect(p.channel, int(p.stdio.Log.Fd()), p.stacks.PythonFD())
	go p.startNamespace(python)
	status := python.library.Main(python.args)
	if p.ending.Load() {
		return exitOK
	}
	if !p.failed.Load() {
		p.log.Error("the Python interpreter ended by itself", "status", status)
	}
	return exitFailure
}

// prepareInterpreter makes everything ready for CPython. Only the namespace gets the configured variables: uv has run
// by then.
func (p *process) prepareInterpreter(ctx context.Context) (interpreter, *shell.StartupError) {
	found, failure := p.preparer.prepare(ctx)
	if failure != nil {
		return interpreter{}, failure
	}
	if len(found.ignored) > 0 {
		p.log.Warn("ignored variables that do not fit this Python", "names", strings.Join(found.ignored, ", "))
	}
	for name, value := range p.preparer.variables() {
		if err := os.Setenv(name, value); err != nil {
			return interpreter{}, p.preparer.failed(fmt.Errorf("cannot set the variable %s: %v", name, err))
		}
	}
	python, err := loadInterpreter(found, p.config.settings.Python, p.channel.PythonFD())
	if err != nil {
		return interpreter{}, p.preparer.failed(err)
	}
	phase := "shell"
	if len(p.config.settings.PreloadModules) > 0 {
		phase = "preload"
	}
	p.progress.report(envprov.Progress{Phase: phase})
	return python, nil
}

// startNamespace follows the start inside the interpreter, which runs on the main thread.
func (p *process) startNamespace(python interpreter) {
	if _, err := p.channel.Receive(); err != nil {
		return // CPython could not initialize; Main returns or ends the process, with CPython's own message
	}
	if err := p.scratch.make(); err != nil {
		failure := &shell.StartupError{Phase: "shell", Message: fmt.Sprintf("cannot create the temporary directory: %v", err)}
		p.kernel.Fail(failure)
		if p.reportFailure(failure) {
			_ = p.channel.Finish()
		}
		return
	}
	settings := p.config.settings
	if settings.Python == "" && settings.Workspace == "" && len(settings.PreloadModules) == 0 {
		p.openHandshake() // nothing that can fail is left
	}
	err := p.kernel.Start(shell.Settings{
		PreloadModules: settings.PreloadModules,
		ModuleAliases:  settings.ModuleAliases,
		LibraryPaths:   settings.LibraryPaths,
		SitePath:       python.site,
		Environment:    settings.Workspace != "",
		LogFD:          int(p.stdio.Log.Fd()),
		StackSignal:    cpython.StackSignal,
		StackFD:        p.stacks.PythonFD(),
		Redact:         p.preparer.redactor.Redact,
	}, p.startup)
	p.progress.finish()
	if err == nil {
		p.openHandshake()
		return
	}
	if p.reportFailure(err) {
		// Makes the interpreter leave its loop; run returns on the main thread.
		_ = p.channel.Finish()
	}
}

func (p *process) openHandshake() {
	p.handshakeOnce.Do(func() {
		if !p.failed.Load() {
			close(p.handshake)
		}
	})
}

// reportFailure tells of a failed start on stderr, and reports whether the process is to end: after the handshake, the
// client is told by every call instead.
func (p *process) reportFailure(err error) (ends bool) {
	p.handshakeOnce.Do(func() {
		ends = true
		p.failed.Store(true)
	})
	line, _ := bounds.Cut(err.Error(), p.config.limits.TextChars)
	fmt.Fprintln(p.stdio.Log, line)
	return ends
}

// startFailed ends a start that failed before the interpreter ran, and returns the exit status when the process may
// end.
func (p *process) startFailed(err *shell.StartupError) int {
	err.Message, _ = bounds.Cut(err.Message, p.config.limits.TextChars)
	if p.reportFailure(err) {
		return exitFailure
	}
	p.kernel.Fail(err)
	p.progress.finish()
	<-p.ended
	return exitFailure
}
