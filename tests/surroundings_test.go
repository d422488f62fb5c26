package tests

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// What Python itself reads from the environment. A server starts with each of them, the namespace works, and a cell
// shows what became of the variable: all but those that name another Python are honoured.
var pythonVariables = []struct {
	variable, code, want string
}{
	{"PYTHONHOME=/nowhere", "import os\n'PYTHONHOME' in os.environ", "false"},
	{"PYTHONPLATLIBDIR=lib64", "import sys\nsys.platlibdir", `"lib"`},
	{"PYTHONEXECUTABLE=/nowhere/python", "import sys, os\nos.path.exists(sys.executable)", "true"},
	{"PYTHONPATH=$DIR", "import from_the_path\nfrom_the_path.value", `"from PYTHONPATH"`},
	{"PYTHONSTARTUP=$DIR/startup.py", "'started' in globals()", "false"},
	{"PYTHONWARNINGS=error", "import warnings\ntry: warnings.warn('x')\nexcept UserWarning: r = 'raised'\n" +
		"r", `"raised"`},
	{"PYTHONDONTWRITEBYTECODE=1", "import sys\nsys.dont_write_bytecode", "true"},
	{"PYTHONOPTIMIZE=2", "import sys\nassert False\nsys.flags.optimize", "2"},
	{"PYTHONINSPECT=1", "1", "1"},
	{"PYTHONUNBUFFERED=1", "print('unbuffered')\n1", "1"},
	{"PYTHONDEVMODE=1", "import sys\nsys.flags.dev_mode", "true"},
	{"PYTHONASYNCIODEBUG=1", "import asyncio\nawait asyncio.sleep(0, 1)", "1"},
	{"PYTHONUTF8=0", "print('\\u2713')\n1", "1"},
	{"PYTHONUTF8=1", "print('\\u2713')\n1", "1"},
	{"PYTHONIOENCODING=ascii:strict", "print('\\u2713')\n1", "1"},
	{"PYTHONHASHSEED=0", "hash('a') == hash('a')", "true"},
	{"PYTHONSAFEPATH=1", "1", "1"},
	{"PYTHONNOUSERSITE=1", "import site\nsite.ENABLE_USER_SITE", "false"},
	{"PYTHONUSERBASE=/nowhere", "1", "1"},
	{"PYTHONINTMAXSTRDIGITS=640", "10**1000 > 0", "true"},
	{"PYTHONMALLOC=debug", "1", "1"},
	{"PYTHONTRACEMALLOC=1", "import tracemalloc\ntracemalloc.is_tracing()", "true"},
	{"PYTHONFAULTHANDLER=1", "1", "1"},
	{"PYTHONVERBOSE=1", "1", "1"},
	{"PYTHONPROFILEIMPORTTIME=1", "1", "1"},
	{"PYTHONBREAKPOINT=0", "breakpoint()\n1", "1"},
	{"PYTHON_COLORS=1", "1", "1"},
	{"FORCE_COLOR=1", "1", "1"},
	{"CLICOLOR_FORCE=1", "1", "1"},
	{"PYTHON_BASIC_REPL=1", "1", "1"},
	{"PYTHONCOERCECLOCALE=0", "print('\\u2713')\n1", "1"},
	{"PYTHON_GIL=1", "1", "1"},
	{"IPYTHONDIR=$DIR/ipython", "import os\nos.path.exists(os.environ['IPYTHONDIR'])", "false"},
	{"LD_LIBRARY_PATH=$DIR", "1", "1"},
	{"OMP_NUM_THREADS=", "1", "1"},
}

func TestSurroundings_PythonVariables(t *testing.T) {
	for _, test := range pythonVariables {
		t.Run(test.variable, func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			writeFile(t, filepath.Join(directory, "from_the_path.py"), "value = 'from PYTHONPATH'")
			writeFile(t, filepath.Join(directory, "startup.py"), "started = True\nprint('started')\n1/0")
			s := connect(t, options{env: []string{strings.ReplaceAll(test.variable, "$DIR", directory)}})
			s.equals(test.code, test.want)
			if e := s.cell("1/0"); e.OK || strings.Contains(e.Error.Traceback, "\x1b") {
				t.Errorf("a failure gives %v", e.Error)
			}
			s.works("the variable")
			s.endsBy(s.closeInput)
		})
	}
}

// Values with which CPython itself cannot start. Which they are differs between its versions.
var unusableVariables = []string{
	"PYTHONUTF8=x", "PYTHONHASHSEED=abc", "PYTHONIOENCODING=nonsense", "PYTHONMALLOC=x", "PYTHONTRACEMALLOC=x",
	"PYTHONINTMAXSTRDIGITS=1", "PYTHON_GIL=x", "PYTHON_CPU_COUNT=0", "PYTHON_FROZEN_MODULES=x",
	"PYTHON_CONTEXT_AWARE_WARNINGS=x",
}

// In the client's environment they are ignored, with one line; the others still count.
func TestSurroundings_VariablesThatStopPython(t *testing.T) {
	t.Parallel()
	broken := t.TempDir()
	writeFile(t, filepath.Join(broken, "encodings", "__init__.py"), "raise ImportError('of another Python')")
	variables := append([]string{"PYTHONPATH=" + broken, "PYTHONHOME=/nowhere"}, unusableVariables...)
	s := connect(t, options{env: append(variables, "PYTHONDEVMODE=1")})
	s.equals("import sys\nsys.flags.dev_mode", "true")
	s.equals("import subprocess\nsubprocess.run([sys.executable, '-c', '1']).returncode", "0")
	warnings := 0
	for line := range strings.Lines(s.stderr()) {
		if !strings.Contains(line, "level=WARN") {
			continue
		}
		warnings++
		for _, variable := range variables {
			name, _, _ := strings.Cut(variable, "=")
			mentions(t, line, name)
		}
		lacks(t, line, "PYTHONDEVMODE", "nonsense")
	}
	if warnings != 1 {
		t.Errorf("%d warnings: %s", warnings, s.stderr())
	}
}

// Configured, they are an error that names them; one that names another Python is ignored like the client's.
func TestSurroundings_ConfiguredVariablesThatStopPython(t *testing.T) {
	t.Parallel()
	for _, variable := range unusableVariables {
		name, value, _ := strings.Cut(variable, "=")
		line := refuses(t, options{env: []string{
			fmt.Sprintf("IPYTHON_MCP_ENVIRONMENT_VARIABLES={%q: %q, \"PYTHONDEVMODE\": \"1\"}", name, value),
			"IPYTHON_MCP_CACHE_DIR=" + cacheDir, slowHandshake,
		}})
		mentions(t, line, "during configuration", "IPYTHON_MCP_ENVIRONMENT_VARIABLES", name, "correct or remove it")
		lacks(t, line, "PYTHONDEVMODE")
	}
	s := connect(t, options{env: []string{
		`IPYTHON_MCP_ENVIRONMENT_VARIABLES={"PYTHONHOME": "/nowhere", "PYTHONUTF8": "1"}`, "PYTHONUTF8=x", slowHandshake,
	}})
	s.equals("import os\n[os.environ['PYTHONUTF8'], 'PYTHONHOME' in os.environ]", `["1",false]`)
}

// A sitecustomize or usercustomize that prints or fails reaches the log, never the wire.
func TestSurroundings_Sitecustomize(t *testing.T) {
	for name, text := range map[string]string{
		"prints": "import os, sys\nprint('from sitecustomize')\nos.write(1, b'raw from sitecustomize\\n')\n" +
			"sys.stdout.flush()\nvalue = 1",
		"fails":          "print('from sitecustomize')\n1/0",
		"sets a timeout": "print('from sitecustomize')\nimport socket\nsocket.setdefaulttimeout(2)",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			writeFile(t, filepath.Join(directory, "sitecustomize.py"), text)
			s := connect(t, options{env: []string{"PYTHONPATH=" + directory}})
			if e := s.succeed("1"); e.Stdout != "" {
				t.Errorf("it is in the first cell's output: %q", e.Stdout)
			}
			mentions(t, s.stderr(), "from sitecustomize")
		})
	}
}

// Environments that clients and container images give.
func TestSurroundings_Environments(t *testing.T) {
	unset := []string{"HOME=", "PATH=", "SHELL=", "USER=", "LANG=", "TERM=", "TZ=", "TMPDIR="}
	for name, env := range map[string][]string{
		"Codex's":                 {"SHELL=/bin/bash", "USER=someone", "LANG=en_US.UTF-8", "TERM=xterm", "TZ=UTC"},
		"nothing at all":          unset,
		"LANG=C":                  {"LANG=C"},
		"no LANG":                 {"LANG="},
		"LC_ALL=POSIX":            {"LC_ALL=POSIX"},
		"LC_ALL that is unknown":  {"LC_ALL=xx_XX.UTF-8"},
		"Latin-1":                 {"LC_ALL=de_DE.ISO-8859-1"},
		"TERM=dumb":               {"TERM=dumb"},
		"TMPDIR missing":          {"TMPDIR=/nowhere/tmp"},
		"TMPDIR a file":           {"TMPDIR=/etc/hostname"},
		"TMPDIR empty":            {"TMPDIR=" + emptyValue},
		"HOME missing":            {"HOME=/nowhere/home"},
		"HOME empty":              {"HOME=" + emptyValue},
		"HOME unset":              {"HOME="},
		"HOME a file":             {"HOME=/etc/hostname"},
		"HOME relative":           {"HOME=home"},
		"unknown variables":       {"IPYTHON_MCP_NO_SUCH_THING=1"},
		"a variable that is long": {"LONG=" + strings.Repeat("x", 100_000)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := connect(t, options{env: env})
			e := s.succeed("print('\\u2713', '日本語', '👩‍👩‍👧', '\\udcaf')\nimport os\n" +
				"os.write(1, 'é\\n'.encode())\nlen('é')")
			if e.Stdout != "✓ 日本語 👩‍👩‍👧 \\udcaf\né\n" || string(e.Result) != "1" {
				t.Errorf("the output is %q", e.Stdout)
			}
			s.equals("os.system('exit 0')", "0")
			s.endsBy(s.closeInput)
		})
	}
}

// Every variable of ours set to the empty string counts as unset.
func TestSurroundings_EmptyVariables(t *testing.T) {
	t.Parallel()
	var env []string
	for _, name := range append([]string{
		"PYTHON", "LIBRARY_PATHS", "PRELOAD_MODULES", "MODULE_ALIASES", "ENVIRONMENT_VARIABLES", "ENVIRONMENT_WORKSPACE",
		"ACTIVE_ENVIRONMENT", "ENVIRONMENT_REQUIREMENTS", "ENVIRONMENT_SETUP_TIMEOUT_SECONDS", "HANDSHAKE_SECONDS",
		"RESPONSE_FIELDS", "LOG_LEVEL", "MAX_SPOOL_BYTES",
		"OPERATION_TIMEOUT_SECONDS",
	}, limitVariables...) {
		env = append(env, "IPYTHON_MCP_"+strings.TrimPrefix(name, "IPYTHON_MCP_")+"="+emptyValue)
	}
	s := connect(t, options{env: env})
	if e := s.succeed("print('x' * 9000)"); e.Truncated.StdoutOmitted != 9001-8192 {
		t.Errorf("%d characters omitted", e.Truncated.StdoutOmitted)
	}
	lacks(t, s.stderr(), "level=WARN")
}

// Without a cache that can be written, the bundled Python goes into a private temporary directory of the user's, where
// the next start finds it.
func TestSurroundings_NoCache(t *testing.T) {
	noText := filepath.Join(t.TempDir(), "\xff")
	if err := os.Mkdir(noText, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, env := range map[string][]string{
		"HOME missing":           {"HOME=/proc/nowhere"},
		"HOME a file":            {"HOME=/etc/hostname"},
		"HOME unset":             {"HOME="},
		"XDG_CACHE_HOME missing": {"XDG_CACHE_HOME=/proc/nowhere"},
		"XDG_CACHE_HOME no text": {"XDG_CACHE_HOME=/tmp/\xff"},
		"HOME no text":           {"HOME=" + noText},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := connect(t, options{env: append(env, "IPYTHON_MCP_CACHE_DIR="+emptyValue), untidy: true})
			s.works("the start")
			cache := fmt.Sprintf("%s/ipython-mcp-%d", s.tmp, os.Getuid())
			s.equals(fmt.Sprintf("import sys\nsys.executable.startswith(%q)", cache+"/"), "true")
			s.endsBy(s.closeInput)
			if info, err := os.Stat(cache); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("the cache is %v, %v", info, err)
			}
			checkCache(t, cache)
			if entries, err := os.ReadDir(s.tmp); err != nil || len(entries) != 1 {
				t.Errorf("TMPDIR holds %v, %v", entries, err)
			}
		})
	}
}

// A temporary directory whose name is no text serves as little as one that is missing, and gets no twin.
func TestSurroundings_TemporaryDirectoryOutsideUTF8(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	noText := filepath.Join(root, "\xff")
	if err := os.Mkdir(noText, 0o755); err != nil {
		t.Fatal(err)
	}
	s := connect(t, options{env: []string{"TMPDIR=" + noText}})
	if e := s.succeed("print('x' * 9000)"); e.Truncated.StdoutOmitted == 0 {
		t.Errorf("the output is %+v", e)
	}
	s.endsBy(s.closeInput)
	if entries, err := os.ReadDir(root); err != nil || len(entries) != 1 {
		t.Errorf("beside it there are %v, %v", entries, err)
	}
	checkEmpty(t, noText)
}

// By default the cache is the user's own.
func TestSurroundings_UsersCache(t *testing.T) {
	t.Parallel()
	s := connect(t, options{env: []string{"IPYTHON_MCP_CACHE_DIR=" + emptyValue}, untidy: true})
	s.works("the start")
	s.equals(fmt.Sprintf("import sys\nsys.executable.startswith(%q)", filepath.Join(s.home, ".cache")+"/"), "true")
	s.endsBy(s.closeInput)
	checkEmpty(t, s.tmp)
}

// The working directory replaces nothing of Python's, whatever lies in it, and its own modules can be imported.
func TestSurroundings_WorkingDirectory(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	for _, name := range []string{
		"random", "types", "json", "re", "os", "site", "sitecustomize", "usercustomize",
		"encodings/__init__", "IPython/__init__", "traitlets",
		"ipymcp/__init__", "asyncio/__init__", "cloudpickle", "pickle",
	} {
		writeFile(t, filepath.Join(directory, name+".py"), "raise RuntimeError('the user\\'s own')")
	}
	writeFile(t, filepath.Join(directory, "own_module.py"), "value = 'own'")
	s := connect(t, options{dir: directory})
	s.equals("import own_module, random, json, types\nown_module.value", `"own"`)
	s.equals("import sys\nsys.path[-1] in ('', "+quoted(directory)+")", "true")
	s.equals("import multiprocessing\ndef square(n): return n * n\n"+
		"with multiprocessing.Pool(1) as pool: r = pool.map(square, [3])\nr", "[9]")
	s.equals("import os\nos.getcwd()", quoted(directory))
}

func TestSurroundings_WorkingDirectoryThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	gone := filepath.Join(t.TempDir(), "gone")
	if err := os.Mkdir(gone, 0o755); err != nil {
		t.Fatal(err)
	}
	s := connect(
		t,
		options{binary: "/bin/sh", args: []string{"-c", `cd "$0" && rmdir "$0" && exec "$1"`, gone, binary}},
	)
	s.works("the start in a directory that is gone")
	s.succeed("import json, asyncio")
	s.endsBy(s.closeInput)

	closed := filepath.Join(t.TempDir(), "closed")
	if err := os.Mkdir(closed, 0o755); err != nil {
		t.Fatal(err)
	}
	// For the superuser of a container the mode means nothing, and the start is an ordinary one.
	s = connect(
		t,
		options{binary: "/bin/sh", args: []string{"-c", `cd "$0" && chmod 000 "$0" && exec "$1"`, closed, binary}},
	)
	s.works("the start in a directory that cannot be read")
	s.endsBy(s.closeInput)
	if err := os.Chmod(closed, 0o755); err != nil {
		t.Fatal(err)
	}
}

// The user's IPython profile, start-up files and history are neither read nor written.
func TestSurroundings_ProfileIsLeftAlone(t *testing.T) {
	t.Parallel()
	directory := filepath.Join(t.TempDir(), "ipython")
	profile := filepath.Join(directory, "profile_default")
	writeFile(t, filepath.Join(profile, "startup", "00-first.py"), "started = True\nprint('startup ran')")
	writeFile(
		t,
		filepath.Join(profile, "ipython_config.py"),
		"c.InteractiveShellApp.exec_lines = ['configured = True']\nprint('config ran')",
	)
	writeFile(t, filepath.Join(profile, "history.sqlite"), "no database")
	before := listing(t, directory)
	s := start(t, options{env: []string{"IPYTHONDIR=" + directory}, untidy: true})
	if err := os.Symlink(directory, filepath.Join(s.home, ".ipython")); err != nil {
		t.Fatal(err)
	}
	s.initialize("2025-06-18")
	s.equals("[n for n in ('started', 'configured') if n in globals()]", "[]")
	s.succeed("%alias_magic t timeit\n%history -n 1-3")
	s.cell("%store x")
	s.endsBy(s.closeInput)
	lacks(t, s.stderrAtEnd(), "startup ran", "config ran")
	if after := listing(t, directory); after != before {
		t.Errorf("the profile changed from\n%s\nto\n%s", before, after)
	}
}

// listing describes every file below a directory: name, size, time of change.
func listing(t *testing.T, directory string) string {
	t.Helper()
	var list strings.Builder
	err := filepath.WalkDir(directory, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			fmt.Fprintln(&list, path, info.Size(), info.ModTime())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list.String()
}

// Flags mirror the variables, and win.
func TestSurroundings_Flags(t *testing.T) {
	t.Parallel()
	s := connect(
		t,
		options{
			args: []string{"serve", "--max-text-chars", "100", "--response-fields=compact"},
			env:  []string{"IPYTHON_MCP_MAX_TEXT_CHARS=200"},
		},
	)
	a := s.call("execute", map[string]any{"code": "print('x' * 299)"})
	mentions(t, string(a.Structured), `"stdout_omitted_chars":200}`)
	lacks(t, string(a.Structured), "stderr")
}

// A limit on open files, as containers set it, is enough.
func TestSurroundings_FewFiles(t *testing.T) {
	t.Parallel()
	s := connect(t, options{binary: "/bin/sh", args: []string{"-c", `ulimit -n 64 && exec "$0"`, binary}})
	for range 60 {
		s.works("a small limit of open files")
	}
}

// A limit of the address space that is too low is never silent, whatever fails first: the loader, Python, or Go, which
// may not even come to our code.
func TestSurroundings_LittleAddressSpace(t *testing.T) {
	t.Parallel()
	limited := func(mebibytes int) options {
		return options{
			binary: "/bin/sh", args: []string{"-c", fmt.Sprintf(`ulimit -v %d && exec "$0"`, mebibytes<<10), binary},
		}
	}
	for _, mebibytes := range []int{1024, 1200, 1300} {
		o := limited(mebibytes)
		command := exec.CommandContext(t.Context(), o.binary, o.args...)
		command.Env = baseEnvironment(t.TempDir(), t.TempDir())
		var stderr bytes.Buffer
		command.Stderr = &stderr
		if _, err := command.StdinPipe(); err != nil { // open until the end: its end would end a server
			t.Fatal(err)
		}
		if err := command.Run(); err == nil || stderr.Len() == 0 {
			t.Errorf("with %d MiB: %v, %q", mebibytes, err, &stderr)
		}
	}
	s := start(t, limited(4095))
	s.closeInput()
	s.ends()
	mentions(t, s.stderrAtEnd(), "limited to 4095 MiB (ulimit -v)", "raise it to 4096 MiB")
	s = connect(t, limited(4096))
	s.works("a limit that is high enough")
	lacks(t, s.stderr(), "ulimit")
}

// Standard descriptors that are closed at the start are no trouble where they are not the protocol's.
func TestSurroundings_ClosedStderr(t *testing.T) {
	t.Parallel()
	s := connect(t, options{binary: "/bin/sh", args: []string{"-c", `exec "$0" 2>&-`, binary}})
	if e := s.succeed("import os, sys\n" +
		"os.write(2, b'error\\n'); print('out')"); e.Stderr != "error\n" || e.Stdout != "out\n" {
		t.Errorf("the streams are %q, %q", e.Stdout, e.Stderr)
	}
	s.endsBy(s.closeInput)
}

// nohup's SIGHUP stays ignored; SIGTERM still ends the server.
func TestSurroundings_Nohup(t *testing.T) {
	t.Parallel()
	s := connect(t, options{binary: "/bin/sh", args: []string{"-c", `trap "" HUP; exec "$0"`, binary}})
	s.works("the start")
	s.signal(syscall.SIGHUP)
	s.works("SIGHUP")
	s.endsBy(func() { s.signal(syscall.SIGTERM) })
}
