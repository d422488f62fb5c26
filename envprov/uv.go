package envprov

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// escapeSequence matches the escape sequences of terminals: CSI, OSC, and those of two characters.
var escapeSequence = regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])`)

// FindUV returns the uv program: on the PATH of environ, or where its installers put it. The error says what to
// install.
func FindUV(environ []string) (string, error) {
	home, path := variableOf(environ, "HOME"), variableOf(environ, "PATH")
	folders := filepath.SplitList(path)
	if home != "" {
		folders = append(folders, filepath.Join(home, ".local", "bin"), filepath.Join(home, ".cargo", "bin"))
	}
	for _, folder := range folders {
		if !filepath.IsAbs(folder) {
			continue
		}
		candidate := filepath.Join(folder, "uv")
		if info, err := os.Stat(candidate); err == nil && info.Mode().IsRegular() && unix.Access(candidate,
			unix.X_OK) == nil {
			return candidate, nil
		}
	}
	return "", errors.New("the program uv was not found on PATH; " +
		"install it (https://docs.astral.sh/uv/getting-started/installation, or " +
		"pip install uv), or unset " + varWorkspace + " and " + varActive)
}

// UVVersion asks a uv program for its version.
func UVVersion(ctx context.Context, path string) (string, error) {
	output, err := program{
		path: path, args: []string{"--version", "--no-config"}, environ: os.Environ(), dir: "/", limit: probeTimeout,
		redact: redactURLs,
	}.run(ctx)
	if err != nil {
		return "", fmt.Errorf("%s --version: %v", path, err)
	}
	return strings.TrimPrefix(output, "uv "), nil
}

func variableOf(environ []string, name string) string {
	for _, variable := range slices.Backward(environ) {
		if value, found := strings.CutPrefix(variable, name+"="); found {
			return value
		}
	}
	return ""
}

// withheld are the variables that would change what uv installs or where. Those that say from where (indexes,
// credentials, proxies, certificates, cache, offline) are passed on.
var withheld = regexp.MustCompile(`^(PYTHON.*|VIRTUAL_ENV|CONDA_(PREFIX|DEFAULT_ENV)|UV|` +
	`UV_(PYTHON.*|(NO_)?MANAGED_PYTHON|SYSTEM_PYTHON|` +
	`BREAK_SYSTEM_PACKAGES|PROJECT.*|WORKING_DIR.*|NO_CONFIG|CONFIG_FILE|VENV_.*|` +
	`(BUILD_)?CONSTRAINT|OVERRIDE|EXCLUDE|ENV_FILE|TARGET|PREFIX|` +
	`REQUIRE_HASHES|NO_WRAP|COLOR|LOG_.*))$`)

// uvEnviron is the environment that uv runs in; temporary is a private directory for its temporary files.
func uvEnviron(environ []string, temporary string) []string {
	kept := slices.DeleteFunc(slices.Clone(environ), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return withheld.MatchString(name) || name == "TMPDIR"
	})
	kept = append(kept, "TMPDIR="+temporary, "UV_NO_WRAP=1", "NO_COLOR=1")
	if variableOf(kept, "UV_CACHE_DIR") == "" && !hasCache(kept) {
		kept = append(kept, "UV_CACHE_DIR="+filepath.Join(temporary, "cache"))
	}
	return append(kept, TrustVariables(kept)...)
}

// TrustVariables makes uv trust what the machine trusts, such as the certificate of a company's proxy, where environ
// says nothing else and the machine has such a list; otherwise it is empty.
func TrustVariables(environ []string) []string {
	chosen := func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains([]string{"SSL_CERT_FILE", "SSL_CERT_DIR", "UV_SYSTEM_CERTS", "UV_NATIVE_TLS"}, name)
	}
	exists := func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && info.Size() > 0
	}
	if slices.ContainsFunc(environ, chosen) || !slices.ContainsFunc(certificateLists, exists) {
		return nil
	}
	return []string{"UV_SYSTEM_CERTS=1", "UV_NATIVE_TLS=1"} // the newer and the older name
}

// certificateLists are where the common distributions keep what they trust.
var certificateLists = []string{
	"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/cert.pem",
}

// hasCache says whether uv can write to its own choice of a cache directory.
func hasCache(environ []string) bool {
	directory := variableOf(environ, "XDG_CACHE_HOME")
	if !filepath.IsAbs(directory) {
		home := variableOf(environ, "HOME")
		if home == "" {
			return false
		}
		directory = filepath.Join(home, ".cache")
	}
	directory = filepath.Join(directory, "uv")
	for {
		if _, err := os.Stat(directory); err == nil || directory == filepath.Dir(directory) {
			return unix.Access(directory, unix.W_OK|unix.X_OK) == nil
		}
		directory = filepath.Dir(directory)
	}
}

// uv runs one phase.
type uv struct {
	path     string
	environ  []string
	dir      string // where it runs
	limit    time.Duration
	redactor *Redactor
	report   func(Progress)
}

// run runs uv with the arguments. The failure tells how it went wrong, with uv's own words.
func (u uv) run(ctx context.Context, phase, stdin string, args ...string) *Failure {
	u.report(Progress{Phase: phase})
	output, err := program{
		path: u.path, args: append(args, "--no-config", "--color", "never"), environ: u.environ, dir: u.dir,
		stdin: stdin, limit: u.limit,
		redact: u.redactor.Redact,
		line:   func(line string) { u.report(Progress{Phase: phase, Line: line}) },
	}.run(ctx)
	command := "uv"
	for _, word := range args {
		if strings.HasPrefix(word, "-") {
			break
		}
		command += " " + word
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return &Failure{phase, fmt.Sprintf("%s was ended with the start: %v", command, err)}
	case errors.Is(err, errTimeLimit):
		return &Failure{phase, fmt.Sprintf("%s took longer than %v and was ended; raise %s%s", command, u.limit,
			varSetupTimeout, said(output))}
	}
	return &Failure{phase, fmt.Sprintf("%s failed: %v%s", command, err, said(output))}
}

func said(output string) string {
	if output == "" {
		return "; it said nothing"
	}
	return "\n" + output
}
