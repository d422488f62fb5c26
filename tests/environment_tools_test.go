package tests

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// uvFolder is where the real uv is: on PATH, or among the Python tools that `make test` installs.
func uvFolder(t *testing.T) string {
	t.Helper()
	if path, err := exec.LookPath("uv"); err == nil {
		if path, err = filepath.Abs(path); err == nil {
			return filepath.Dir(path)
		}
	}
	for _, pattern := range []string{"../build/python/bin/uv", "../build/python/lib/python3.*/site-packages/bin/uv"} {
		if found, err := filepath.Glob(pattern); err == nil && len(found) > 0 {
			absolute, err := filepath.Abs(found[0])
			if err != nil {
				t.Fatal(err)
			}
			return filepath.Dir(absolute)
		}
	}
	missing(t, "uv")
	return ""
}

// realPath is a temporary directory without a symbolic link on the way.
func realPath(t *testing.T) string {
	t.Helper()
	path, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// workshop is what an environment is made of: a workspace that does not exist yet, and wheels that uv finds without a
// network.
type workshop struct {
	t         *testing.T
	root      string
	workspace string
	wheels    string
	path      string
}

func newWorkshop(t *testing.T) *workshop {
	t.Helper()
	root := realPath(t)
	w := &workshop{
		t: t, root: root, workspace: filepath.Join(root, "deep", "workspace"), wheels: filepath.Join(root, "wheels"),
		path: uvFolder(t) + ":" + os.Getenv("PATH"),
	}
	if err := os.Mkdir(w.wheels, 0o755); err != nil {
		t.Fatal(err)
	}
	return w
}

// env is the environment of a start that wants the environment of that name.
func (w *workshop) env(name string, requirements ...string) []string {
	w.t.Helper()
	text, err := json.Marshal(append([]string{}, requirements...))
	if err != nil {
		w.t.Fatal(err)
	}
	return []string{
		"IPYTHON_MCP_ENVIRONMENT_WORKSPACE=" + w.workspace, "IPYTHON_MCP_ACTIVE_ENVIRONMENT=" + name,
		"IPYTHON_MCP_ENVIRONMENT_REQUIREMENTS=" + string(text), "IPYTHON_MCP_HANDSHAKE_SECONDS=60",
		"PATH=" + w.path, "UV_NO_INDEX=1", "UV_FIND_LINKS=" + w.wheels, "UV_HTTP_RETRIES=0",
		"UV_CACHE_DIR=" + filepath.Join(w.root, "cache"),
	}
}

// wheel writes a pure Python wheel: a zip of files, with the metadata that installers want.
func (w *workshop) wheel(name, version string, files map[string]string) string {
	w.t.Helper()
	info := fmt.Sprintf("%s-%s.dist-info/", name, version)
	all := map[string]string{
		info + "METADATA": fmt.Sprintf("Metadata-Version: 2.1\nName: %s\nVersion: %s\n", name, version),
		info + "WHEEL":    "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
	}
	for path, text := range files {
		if strings.HasPrefix(path, "dist-info/") {
			path = info + strings.TrimPrefix(path, "dist-info/")
		}
		all[path] = text
	}
	record := info + "RECORD,,\n"
	for path := range all {
		record += path + ",,\n"
	}
	all[info+"RECORD"] = record
	var buffer bytes.Buffer
	archive := zip.NewWriter(&buffer)
	for path, text := range all {
		entry, err := archive.Create(path)
		if err != nil {
			w.t.Fatal(err)
		}
		if _, err := entry.Write([]byte(text)); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		w.t.Fatal(err)
	}
	path := filepath.Join(w.wheels, fmt.Sprintf("%s-%s-py3-none-any.whl", name, version))
	if err := os.WriteFile(path, buffer.Bytes(), 0o644); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// demo writes a wheel of the package demo, with a program and a .pth file.
func (w *workshop) demo(version string) string {
	w.t.Helper()
	return w.wheel("demo", version, map[string]string{
		"demo/__init__.py": fmt.Sprintf("version = %q\n"+
			"def main():\n    import sys\n    print(version, sys.prefix)\n", version),
		"demo_more/only_by_pth.py":   "",
		"demo.pth":                   "demo_more\n",
		"dist-info/entry_points.txt": "[console_scripts]\ndemo-tool = demo:main\n",
	})
}

// wrapUV puts a script before the real uv on PATH. In it, "$UV" is the real one.
func (w *workshop) wrapUV(script string) {
	w.t.Helper()
	folder := filepath.Join(w.root, "wrapped")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		w.t.Fatal(err)
	}
	text := "#!/bin/sh\nUV=" + uvFolder(w.t) + "/uv\n" + script + "\n"
	if err := os.WriteFile(filepath.Join(folder, "uv"), []byte(text), 0o755); err != nil {
		w.t.Fatal(err)
	}
	w.path = folder + ":" + w.path
}

// left lists what is in the workspace; nil where it does not exist.
func (w *workshop) left() []string {
	w.t.Helper()
	list, err := os.ReadDir(w.workspace)
	if err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
	var names []string
	for _, entry := range list {
		names = append(names, entry.Name())
	}
	return names
}

// untouched makes sure that a failed start left nothing.
func (w *workshop) untouched() {
	w.t.Helper()
	if _, err := os.Lstat(filepath.Dir(w.workspace)); !os.IsNotExist(err) {
		w.t.Errorf("the workspace was left, with %v (%v)", w.left(), err)
	}
}

// outcome is how a command of the program ended.
type outcome struct {
	stdout, stderr string
	status         int
}

// command makes a run of the program that is no server.
func (w *workshop) command(env []string, args ...string) *exec.Cmd {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	w.t.Cleanup(cancel)
	command := exec.CommandContext(ctx, binary, args...)
	command.Env = merge(baseEnvironment(w.root, w.root), env)
	command.Dir = w.wheels
	command.WaitDelay = time.Second
	return command
}

func (w *workshop) run(env []string, args ...string) outcome {
	w.t.Helper()
	command := w.command(env, args...)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	// Open until the program has ended: the end of its input would end a server.
	if _, err := command.StdinPipe(); err != nil {
		w.t.Fatal(err)
	}
	// A status that is not 0 is an outcome like another.
	_ = command.Run()
	return outcome{stdout.String(), stderr.String(), command.ProcessState.ExitCode()}
}

// fails starts a server that must not come up, and returns what it said.
func (w *workshop) fails(env []string) string {
	w.t.Helper()
	got := w.run(env)
	if got.status != 1 || got.stdout != "" {
		w.t.Errorf("status %d, stdout %q", got.status, got.stdout)
	}
	if !strings.HasPrefix(got.stderr, "task environment startup failed during ") {
		w.t.Errorf("stderr is %q", got.stderr)
	}
	return got.stderr
}

// mentions makes sure that a text holds each part.
func mentions(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in %.2000s", part, text)
		}
	}
}

// lacks makes sure that a text holds none of the parts.
func lacks(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if strings.Contains(text, part) {
			t.Errorf("%q is in %.2000s", part, text)
		}
	}
}
