package envprov

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// try asks the interpreter of the environment in the directory whether the namespace can be served with the packages
// that are there. It returns why not, or nothing.
func (r Request) try(ctx context.Context, directory string) (reason string) {
	output, err := program{
		path: environmentPython(directory), args: r.Trial, environ: withoutPythonVariables(r.Environ), dir: directory,
		limit: r.Settings.SetupTimeout, redact: r.Redactor.Redact,
	}.run(ctx)
	switch {
	case err == nil:
		return ""
	case ctx.Err() != nil:
		return "it was ended with the start"
	case errors.Is(err, errTimeLimit):
		return "it did not answer; raise " + varSetupTimeout
	case output == "":
		return err.Error()
	}
	return strings.ReplaceAll(output, "\n", " ")
}

// retry is try for an environment that is there, where packages have been installed or removed since the last time: the
// time of its metadata file is that of the packages that were tried.
func (r Request) retry(ctx context.Context) (reason string) {
	directory := r.Settings.EnvironmentDir()
	metadataPath := filepath.Join(directory, metadataName)
	packages := changed(filepath.Join(directory, "lib", "python"+majorMinor(r.Base.Version), "site-packages"))
	if !packages.After(changed(metadataPath)) {
		return ""
	}
	if reason := r.try(ctx, directory); reason != "" {
		return reason
	}
	// Where this cannot be written, the next start tries again.
	_ = os.Chtimes(metadataPath, packages, packages)
	return ""
}

// changed is when a file or the list of a directory's entries last changed; the zero time where it cannot be told.
func changed(path string) time.Time {
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
