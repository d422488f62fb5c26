package envprov

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
	"unicode/utf8"
)

//go:embed probe.py
var probe string

// probeTimeout bounds how long an interpreter may take to answer the probe.
const probeTimeout = 20 * time.Second

// minimumMinor is the oldest supported Python 3.
const minimumMinor = 11

// Interpreter is a CPython that can be loaded into the process.
type Interpreter struct {
	Executable string // what sys.executable will be
	Library    string // its shared library
	Version    string
	CacheTag   string // sys.implementation.cache_tag: which byte code it reads
}

// Locate asks the interpreter at path (also the one of a virtual environment) for its shared library. The error is one
// line that says why it cannot serve and what to do.
func Locate(ctx context.Context, path string) (Interpreter, error) {
	absolute, err := exec.LookPath(path)
	if err != nil && !errors.Is(err, exec.ErrDot) {
		err = fmt.Errorf("%v; give the path of a Python interpreter, or unset the variable to use the bundled one", err)
		return Interpreter{}, fmt.Errorf("%s=%s cannot serve: %v", VarPython, path, err)
	}
	found, err := examine(ctx, absolute)
	if err != nil {
		return Interpreter{}, fmt.Errorf("%s=%s cannot serve: %v", VarPython, path, err)
	}
	return found, nil
}

// examine is Locate for a program that is known to be one.
func examine(ctx context.Context, path string) (Interpreter, error) {
	answer, err := runProbe(ctx, path)
	if err != nil {
		return Interpreter{}, fmt.Errorf(
			"it did not answer as a Python interpreter: %v; give the path of a CPython 3.%d or newer", err, minimumMinor)
	}
	switch {
	case answer.Implementation != "CPython":
		return Interpreter{}, fmt.Errorf("it is %s; a CPython is needed", answer.Implementation)
	case len(answer.VersionInfo) != 2 || answer.VersionInfo[0] != 3 || answer.VersionInfo[1] < minimumMinor:
		return Interpreter{}, fmt.Errorf("it is Python %s; 3.%d or newer is needed", answer.Version, minimumMinor)
	case answer.FreeThreaded:
		return Interpreter{}, fmt.Errorf("it is a free-threaded build of Python %s; use a regular build",
			answer.Version)
	case strings.ContainsRune(answer.Executable+answer.Library, utf8.RuneError):
		return Interpreter{}, fmt.Errorf("its path or that of its library %q is not in UTF-8; "+
			"use one at another place", answer.Library)
	case answer.Library == "":
		return Interpreter{}, fmt.Errorf("it is a static build of Python %s with no shared library; "+
			"use one built with --enable-shared, or "+
			"install its libpython%d.%d package", answer.Version, answer.VersionInfo[0], answer.VersionInfo[1])
	}
	return Interpreter{
		Executable: answer.Executable, Library: answer.Library, Version: answer.Version,
		CacheTag: answer.CacheTag,
	}, nil
}

type probeAnswer struct {
	Implementation string `json:"implementation"`
	Version        string `json:"version"`
	VersionInfo    []int  `json:"version_info"`
	FreeThreaded   bool   `json:"free_threaded"`
	CacheTag       string `json:"cache_tag"`
	Executable     string `json:"executable"`
	Library        string `json:"library"`
}

func runProbe(ctx context.Context, executable string) (probeAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, executable, "-I", "-c", probe)
	command.Env = withoutPythonVariables(os.Environ())
	// What is no Python may write for ever.
	var stdout, stderr tail
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		return probeAnswer{}, fmt.Errorf("%v%s", err, lastLine(string(stderr.kept)))
	}
	// A sitecustomize that prints may have written before the answer, which is the last line.
	lines := strings.Split(strings.TrimSpace(string(stdout.kept)), "\n")
	var answer probeAnswer
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &answer); err != nil {
		return probeAnswer{}, fmt.Errorf("its answer is no JSON: %v", err)
	}
	return answer, nil
}

// tailBytes is how much of the end of a stream is kept at least.
const tailBytes = 64 << 10

// tail keeps the end of what is written to it, at most twice tailBytes.
type tail struct{ kept []byte }

func (t *tail) Write(data []byte) (int, error) {
	t.kept = append(t.kept, data[max(0, len(data)-tailBytes):]...)
	if excess := len(t.kept) - tailBytes; excess > tailBytes {
		t.kept = append(t.kept[:0], t.kept[excess:]...)
	}
	return len(data), nil
}

// lastLine is the end of a message, where Python says what went wrong, bounded to 200 bytes.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	line := lines[len(lines)-1]
	if line == "" {
		return ""
	}
	return fmt.Sprintf(" (%.200s)", line)
}

// withoutPythonVariables drops what would make another interpreter look for its library in the wrong place.
func withoutPythonVariables(environment []string) []string {
	var kept []string
	for _, variable := range environment {
		if !strings.HasPrefix(variable, pythonPrefix) {
			kept = append(kept, variable)
		}
	}
	return kept
}
