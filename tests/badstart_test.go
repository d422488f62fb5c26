package tests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// refuses starts a server that must not come up: one line on stderr, nothing on stdout, a failing exit status and
// nothing left behind, not even a cache directory. It returns the line.
func refuses(t *testing.T, o options) string {
	t.Helper()
	cache := filepath.Join(t.TempDir(), "cache")
	ownCache := variable(o.env, "IPYTHON_MCP_CACHE_DIR") == ""
	if ownCache {
		o.env = append([]string{"IPYTHON_MCP_CACHE_DIR=" + cache}, o.env...)
	}
	s := start(t, o)
	s.sendLineAnyway(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`)
	select {
	case <-s.exited:
	case <-time.After(patience):
		t.Fatal("the server came up")
	}
	line := s.stderrAtEnd()
	if s.state.ExitCode() != 1 {
		t.Errorf("the exit status is %v", s.state)
	}
	if strings.Count(line, "\n") != 1 || !strings.HasSuffix(line, "\n") {
		t.Errorf("stderr is no single line: %q", line)
	}
	if len(s.messages) > 0 {
		t.Errorf("stdout has %s", s.messages)
	}
	return line
}

// refusesEarly is refuses for what is wrong before anything is extracted.
func refusesEarly(t *testing.T, o options) string {
	t.Helper()
	cache := filepath.Join(t.TempDir(), "early")
	o.env = append([]string{"IPYTHON_MCP_CACHE_DIR=" + cache}, o.env...)
	line := refuses(t, o)
	if _, err := os.Lstat(cache); !os.IsNotExist(err) {
		t.Errorf("a cache was made: %v", err)
	}
	return line
}

// sendLineAnyway sends to a server that may have ended.
func (s *server) sendLineAnyway(line string) { _, _ = fmt.Fprintln(s.stdin, line) }

var limitVariables = []string{
	"IPYTHON_MCP_MAX_TEXT_CHARS",
	"IPYTHON_MCP_MAX_REPR_CHARS",
	"IPYTHON_MCP_MAX_TRACEBACK_CHARS",
	"IPYTHON_MCP_MAX_RESULTS",
	"IPYTHON_MCP_MAX_DISPLAY_ITEMS",
	"IPYTHON_MCP_MAX_JSON_DEPTH",
	"IPYTHON_MCP_MAX_TOOL_NAME_CHARS",
	"IPYTHON_MCP_MAX_TOOL_DESCRIPTION_CHARS",
	"IPYTHON_MCP_MAX_DYNAMIC_TOOLS",
}

// Each limit is a positive integer; anything else stops the start with a message that names the variable and the value.
func TestBadStart_Limits(t *testing.T) {
	t.Parallel()
	values := []string{"0", "-1", "many", "1.5", "1e3", "99999999999999999999", "0x10", "٣", "8192 chars"}
	for i, name := range limitVariables {
		value := values[i%len(values)]
		mentions(t, refusesEarly(t, options{env: []string{name + "=" + value}}), name, value)
	}
	for _, value := range values {
		mentions(
			t,
			refusesEarly(t, options{env: []string{"IPYTHON_MCP_MAX_RESULTS=" + value}}),
			"IPYTHON_MCP_MAX_RESULTS",
			value,
		)
	}
}

// All problems are said at once, in one line.
func TestBadStart_EverythingAtOnce(t *testing.T) {
	t.Parallel()
	var env []string
	for _, name := range limitVariables {
		env = append(env, name+"=none")
	}
	env[0] = "IPYTHON_MCP_MAX_TEXT_CHARS=0"
	others := map[string]string{
		"IPYTHON_MCP_RESPONSE_FIELDS":       "tiny",
		"IPYTHON_MCP_LOG_LEVEL":             "loud",
		"IPYTHON_MCP_HANDSHAKE_SECONDS":     "-1",
		"IPYTHON_MCP_PRELOAD_MODULES":       "no module,json",
		"IPYTHON_MCP_MODULE_ALIASES":        "{",
		"IPYTHON_MCP_LIBRARY_PATHS":         "relative",
		"IPYTHON_MCP_ENVIRONMENT_VARIABLES": `{"A B":"secret_value"}`,
		"IPYTHON_MCP_MAX_SPOOL_BYTES":       "-5",
	}
	for name, value := range others {
		env = append(env, name+"="+value)
	}
	line := refusesEarly(t, options{env: env})
	for name := range others {
		mentions(t, line, name)
	}
	mentions(t, line, limitVariables...)
	lacks(t, line, "secret_value")
}

// Settings that contradict themselves or the machine.
func TestBadStart_Settings(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	touch(t, file)
	for _, test := range []struct {
		variable, value string
		says            []string
	}{
		{"IPYTHON_MCP_PRELOAD_MODULES", "json,,re", nil},
		{"IPYTHON_MCP_PRELOAD_MODULES", "json re", []string{"json re"}},
		{"IPYTHON_MCP_MODULE_ALIASES", `{"json":"j"}`, []string{"json"}},
		{"IPYTHON_MCP_MODULE_ALIASES", `["json"]`, nil},
		{"IPYTHON_MCP_MODULE_ALIASES", `{"json":5}`, nil},
		{"IPYTHON_MCP_LIBRARY_PATHS", "/nowhere/at/all", []string{"/nowhere/at/all"}},
		{"IPYTHON_MCP_LIBRARY_PATHS", file, []string{file}},
		{"IPYTHON_MCP_LIBRARY_PATHS", "/tmp/../tmp", []string{".."}},
		{"IPYTHON_MCP_ENVIRONMENT_VARIABLES", "[]", nil},
		{"IPYTHON_MCP_ENVIRONMENT_VARIABLES", `{"A":1}`, []string{"A"}},
		{"IPYTHON_MCP_ENVIRONMENT_VARIABLES", `{"A":"\u0000"}`, []string{"A"}},
		{"IPYTHON_MCP_ENVIRONMENT_VARIABLES", `{"A":"\ud800"}`, []string{`"A"`}},
		{"IPYTHON_MCP_HANDSHAKE_SECONDS", "soon", []string{"soon"}},
		{"IPYTHON_MCP_RESPONSE_FIELDS", "Compact", []string{"Compact"}},
		{"IPYTHON_MCP_LOG_LEVEL", "verbose", []string{"verbose"}},
	} {
		line := refusesEarly(t, options{env: []string{test.variable + "=" + test.value}})
		mentions(t, line, append(test.says, test.variable)...)
	}
	for _, test := range []struct {
		aliases string
		says    []string
	}{
		{`{"json":"get_ipython"}`, []string{"get_ipython"}},
		{`{"json":"_hidden"}`, []string{"_hidden"}},
		{`{"json":"no identifier"}`, []string{"no identifier"}},
		{`{"json":"class"}`, []string{"class"}},
		{`{"json":"same","re":"same"}`, []string{"same"}},
		{`{"json":"re"}`, []string{"re"}},
	} {
		line := refusesEarly(
			t,
			options{env: []string{"IPYTHON_MCP_PRELOAD_MODULES=json,re", "IPYTHON_MCP_MODULE_ALIASES=" + test.aliases}},
		)
		mentions(t, line, append(test.says, "IPYTHON_MCP_MODULE_ALIASES")...)
	}
}

// A failing preload stops the start and names the module and the exception's class, not its text.
func TestBadStart_Preloads(t *testing.T) {
	t.Parallel()
	library := map[string]string{
		"raises.py": "raise ValueError('the text')", "leaves.py": "raise SystemExit(0)", "wrong.py": "def (",
		"interrupts.py": "raise KeyboardInterrupt", "pack/__init__.py": "", "odd.py": "class E(BaseException):\n" +
			"    def __str__(self): 1/0\nraise E",
	}
	for module, class := range map[string]string{
		"raises": "ValueError", "leaves": "SystemExit", "wrong": "SyntaxError", "interrupts": "KeyboardInterrupt",
		"pack.missing": "ModuleNotFoundError", "not_there": "ModuleNotFoundError", "odd": "E",
	} {
		line := refuses(t, options{
			library: library,
			env:     []string{"IPYTHON_MCP_PRELOAD_MODULES=json," + module, "IPYTHON_MCP_CACHE_DIR=" + cacheDir},
		})
		mentions(t, line, "during preload", module, class)
	}
}

// oldPythons lists interpreters that are too old, or no CPython 3.
func oldPythons() []string {
	home, _ := os.UserHomeDir() // without one, the pattern matches nothing
	var old []string
	pyenv := home + "/.pyenv/versions/"
	for _, pattern := range []string{
		"/usr/bin/python2*", pyenv + "2.*/bin/python2", pyenv + "3.[6-9].*/bin/python3", pyenv + "3.10.*/bin/python3",
		pyenv + "pypy*/bin/python3",
	} {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			if exec.Command(path, "-c", "1").Run() == nil {
				old = append(old, path)
			}
		}
	}
	return old
}

// An interpreter that cannot serve: one line that names the variable, the path and the way out.
func TestBadStart_Interpreters(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	script := func(name, text string) string {
		path := filepath.Join(directory, name)
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	answer := func(changes string) string {
		fields := `"implementation": "CPython", "version": "3.12.0", "version_info": [3, 12], "free_threaded": false, "cache_tag": "cpython-312"`
		return "#!/bin/sh\necho '{" + fields + ", " + changes + "}'\n"
	}
	notExecutable := filepath.Join(directory, "text")
	writeFile(t, notExecutable, "print('python')")
	library := filepath.Join(directory, "libpython3.12.so.1.0")
	touch(t, library)
	paths := map[string][]string{
		"/nowhere/python": nil,
		"no-such-python":  nil,
		directory:         nil,
		notExecutable:     nil,
		script("fails", "#!/bin/sh\necho 'out of order' >&2\nexit 3\n"): {"out of order"},
		script("crashes", "#!/bin/sh\nkill -SEGV $$\n"):                 nil,
		script("silent", "#!/bin/sh\nexit 0\n"):                         nil,
		script("talks", "#!/bin/sh\necho hello\n"):                      nil,
		script("no_shebang", "\x7fELF nonsense"):                        nil,
		script("bad_shebang", "#!/nowhere/sh\n"):                        nil,
		script("static", answer(`"executable": "/bin/sh", "library": null`)): {
			"static",
			"shared",
		},
		script("lies", answer(`"executable": "/bin/sh", "library": "/bin/sh"`)):              nil,
		script("empty_library", answer(`"executable": "/bin/sh", "library": "`+library+`"`)): {library},
		script("lost_library", answer(`"executable": "/bin/sh", "library": "/nowhere/libpython"`)): {
			"/nowhere/libpython",
		},
		script("pypy", `#!/bin/sh
echo '{"implementation": "PyPy", "version": "3.11.0", "version_info": [3, 11], "library": "/x", "executable": "/x"}'`): {"PyPy", "CPython"},
		script("free", `#!/bin/sh
echo '{"implementation": "CPython", "version": "3.14.0", "version_info": [3, 14], "free_threaded": true, "library": "/x", "executable": "/x"}'`): {"free-threaded"},
	}
	for _, path := range oldPythons() {
		paths[path] = []string{"3.11"}
	}
	for path, says := range paths {
		line := refuses(
			t,
			options{
				env: []string{
					"IPYTHON_MCP_PYTHON=" + path,
					"IPYTHON_MCP_CACHE_DIR=" + cacheDir,
					"IPYTHON_MCP_HANDSHAKE_SECONDS=60",
				},
			},
		)
		mentions(t, line, append(says, "IPYTHON_MCP_PYTHON", path)...)
		if !wayOut(line) {
			t.Errorf("%s: no way out in %q", path, line)
		}
	}
}

// wayOut reports whether a message says what to do.
func wayOut(line string) bool {
	for _, advice := range []string{"use ", "give ", "install ", "choose ", "unset ", "needed"} {
		if strings.Contains(line, advice) {
			return true
		}
	}
	return false
}

// An interpreter that hangs, or prints for ever, holds up neither the handshake nor the end, and costs no memory.
func TestBadStart_InterpretersThatDoNotEnd(t *testing.T) {
	for name, text := range map[string]string{"hangs": "#!/bin/sh\nsleep 600\n", "floods": "#!/bin/sh\n" +
		"exec yes 'a long line of nothing'\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "python")
			if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
				t.Fatal(err)
			}
			s := start(t, options{env: []string{"IPYTHON_MCP_PYTHON=" + path, "IPYTHON_MCP_HANDSHAKE_SECONDS=0.3"}})
			s.initialize("2025-06-18")
			s.promptly("ping", nil)
			time.Sleep(500 * time.Millisecond) // what a flood does in this time
			if size := resident(t, s.command.Process.Pid); size > 300<<20 {
				t.Errorf("the server has %d MB", size>>20)
			}
			s.closeInput()
			if took := s.ends(); took > endLimit {
				t.Errorf("the end took %v", took)
			}
		})
	}
}

// Wrong usage: status 2, and a hint.
func TestBadStart_Usage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"nonsense"}, {"--nonsense"}, {"serve", "more"}, {"--max-results"}, {"-x"}} {
		output, err := exec.Command(binary, args...).CombinedOutput()
		if status, is := err.(*exec.ExitError); !is || status.ExitCode() != 2 {
			t.Errorf("%v: %v", args, err)
		}
		mentions(t, string(output), "--help")
	}
	for _, args := range [][]string{{"--help"}, {"--version"}, {"serve", "--help"}, {"help"}} {
		output, err := exec.Command(binary, args...).Output()
		if err != nil || len(output) == 0 {
			t.Errorf("%v: %v", args, err)
		}
	}
	output, _ := exec.Command(binary, "--help").Output() // looked at above
	mentions(t, string(output), append(limitVariables, "Exit status", "codex mcp add", "claude mcp add")...)
}
