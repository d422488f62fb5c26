package envprov

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// reuse validates the environment that is there.
func (r Request) reuse(ctx context.Context) (Interpreter, *Failure) {
	r.Report(Progress{Phase: PhaseReuseValidation})
	directory := r.Settings.EnvironmentDir()
	if reasons := r.unusable(); len(reasons) > 0 {
		return Interpreter{}, r.fail(PhaseReuseValidation,
			"the environment %q cannot be used: %s; choose another %s, or delete the directory "+
				"to have it made anew", directory, strings.Join(reasons, "; "), varActive)
	}
	if failure := r.relink(ctx); failure != nil {
		return Interpreter{}, failure
	}
	found, err := r.interpreterOf(ctx, directory)
	if err == nil && majorMinor(found.Version) != majorMinor(r.Base.Version) {
		err = fmt.Errorf("its interpreter is Python %s, but it was made for %s", found.Version,
			majorMinor(r.Base.Version))
	}
	if err != nil {
		return Interpreter{}, r.fail(PhaseReuseValidation,
			"the environment %q cannot be used: %v; delete the directory to have it made anew",
			directory, err)
	}
	if reason := r.retry(ctx); reason != "" {
		return Interpreter{}, r.fail(PhaseReuseValidation,
			"the environment %q can no longer serve: %s; repair it (uv pip install --python %q --upgrade ipython), "+
				"or delete the directory to have it made anew", directory, reason, found.Executable)
	}
	return found, nil
}

// unusable says why what is at the environment's place is not what this start wants; nil where it is.
func (r Request) unusable() []string {
	directory := r.Settings.EnvironmentDir()
	info, err := os.Lstat(directory)
	switch {
	case err != nil:
		return []string{err.Error()}
	case info.Mode()&fs.ModeSymlink != 0:
		return []string{"it is a symbolic link"}
	case !info.IsDir():
		return []string{"it is no directory"}
	}
	return describe(r.Base.Version, r.Requirements, r.Redactor).differences(directory)
}

// relink points an environment whose interpreter has gone (an older program's cache that was deleted) at the present
// one, which is of the same major.minor.
func (r Request) relink(ctx context.Context) *Failure {
	if !r.orphaned() {
		return nil
	}
	unlock, failure := r.lock(ctx)
	if failure != nil {
		return failure
	}
	defer unlock()
	if !r.orphaned() {
		return nil
	}
	if err := relinkTo(r.Settings.EnvironmentDir(), r.Base.Executable); err != nil {
		return r.fail(PhaseReuseValidation,
			"the interpreter of the environment %q has gone, and it cannot be pointed at %q: %v",
			r.Settings.EnvironmentDir(), r.Base.Executable, err)
	}
	return nil
}

func (r Request) orphaned() bool {
	path := environmentPython(r.Settings.EnvironmentDir())
	_, err := os.Stat(path)
	link, linkErr := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist) && linkErr == nil && link.Mode()&fs.ModeSymlink != 0
}

// relinkTo replaces the link and the line of pyvenv.cfg that name the interpreter, each at once.
func relinkTo(environment, executable string) error {
	real, err := filepath.EvalSymlinks(executable)
	if err != nil {
		return err
	}
	config := filepath.Join(environment, "pyvenv.cfg")
	text, err := os.ReadFile(config)
	if err != nil {
		return err
	}
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		if key, _, found := strings.Cut(line, "="); found && strings.TrimSpace(key) == "home" {
			lines[i] = "home = " + filepath.Dir(real)
		}
	}
	if err := replace(config, func(path string) error {
		return os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o644)
	}); err != nil {
		return err
	}
	return replace(environmentPython(environment), func(path string) error { return os.Symlink(real, path) })
}

// replace puts what write makes beside path into its place.
func replace(path string, write func(string) error) error {
	beside := path + ".new"
	if err := os.Remove(beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := write(beside); err != nil {
		return err
	}
	return os.Rename(beside, path)
}
