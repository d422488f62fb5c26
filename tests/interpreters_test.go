package tests

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// selfPortrait prints what an interpreter says about itself; the server that runs it must say the same.
const selfPortrait = `__import__('json').dumps({
    'version': __import__('platform').python_version(), 'executable': sys.executable, 'prefix': sys.prefix,
    'base_prefix': sys.base_prefix, 'exec_prefix': sys.exec_prefix, 'paths': __import__('sysconfig').get_paths(),
    'platlibdir': sys.platlibdir, 'abi': __import__('sysconfig').get_config_var('SOABI'),
    'flags': [sys.flags.isolated, sys.flags.optimize, sys.flags.dev_mode]})`

// foreign is a CPython on this machine that the server should be able to load.
type foreign struct {
	Path    string `json:"-"`
	Version [2]int
	Library string // its shared library
	Real    string // the installation, to count each once
}

// foreignProbe finds the shared library as the dynamic linker of the interpreter would, without the server's way of
// doing it.
const foreignProbe = `
import sys, sysconfig, json, os, glob
v = sysconfig.get_config_var
names = ['libpython%d.%d.so.1.0' % sys.version_info[:2]]
folders = [v('LIBDIR') or '', os.path.join(v('LIBDIR') or '', v('MULTIARCH') or ''), os.path.join(sys.base_prefix, 'lib')]
found = [os.path.join(f, n) for f in folders for n in names if os.path.exists(os.path.join(f, n))]
print(json.dumps({'Version': sys.version_info[:2], 'Library': (found or [''])[0], 'Real': os.path.realpath(sys.base_prefix) + str(sys.version_info[:3])}))
`

// foreigners lists other CPythons from 3.11 to 3.14 with a shared library: on PATH, in /usr, of pyenv, of uv.
func foreigners(t *testing.T) []foreign {
	t.Helper()
	home, _ := os.UserHomeDir() // without one, its patterns match nothing
	pyenv := os.Getenv("PYENV_ROOT")
	if pyenv == "" {
		pyenv = filepath.Join(home, ".pyenv")
	}
	var candidates []string
	for _, name := range []string{"python3", "python3.14", "python3.13", "python3.12", "python3.11"} {
		if path, err := exec.LookPath(name); err == nil && !strings.Contains(path, "shims") {
			candidates = append(candidates, path)
		}
	}
	for _, pattern := range []string{
		"/usr/bin/python3*", "/usr/local/bin/python3*", "/opt/python*/bin/python3*",
		filepath.Join(pyenv, "versions/*/bin/python3"), filepath.Join(home, ".local/share/uv/python/*/bin/python3"),
	} {
		paths, _ := filepath.Glob(pattern) // the patterns are valid
		candidates = append(candidates, paths...)
	}
	var found []foreign
	for _, path := range candidates {
		output, err := exec.Command(path, "-I", "-c", foreignProbe).Output()
		f := foreign{Path: path}
		if err != nil || json.Unmarshal(output, &f) != nil || f.Library == "" {
			continue // no interpreter (python3-config), too old for the probe, or static
		}
		known := slices.ContainsFunc(found, func(other foreign) bool { return other.Real == f.Real })
		if f.Version[0] == 3 && f.Version[1] >= 11 && f.Version[1] <= 14 && !known {
			found = append(found, f)
		}
	}
	return found
}

// portrait runs selfPortrait in the interpreter itself.
func portrait(t *testing.T, path string) string {
	t.Helper()
	output, err := exec.Command(path, "-P", "-c", "import sys; print("+selfPortrait+")").Output()
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return strings.TrimSpace(string(output))
}

// isItself checks that the namespace's interpreter is the one at path in everything it says about itself.
func (s *server) isItself(path string) {
	s.t.Helper()
	var said string
	if err := json.Unmarshal([]byte(s.value("import sys\n"+selfPortrait)), &said); err != nil {
		s.t.Fatal(err)
	}
	if want := portrait(s.t, path); said != want {
		s.t.Errorf("the server's interpreter says\n%s\nand the program\n%s", said, want)
	}
}

// slowHandshake is long enough for a start that has to precompile for another Python.
const slowHandshake = "IPYTHON_MCP_HANDSHAKE_SECONDS=60"

// The server runs every CPython of the machine that has a shared library, and a virtual environment of it.
func TestInterpreters(t *testing.T) {
	all := foreigners(t)
	if len(all) == 0 {
		missing(t, "another CPython from 3.11 to 3.14 with a shared library")
	}
	for i, f := range all {
		// The name is short because it becomes part of TMPDIR, see TestInterpreters_LongTMPDIR.
		t.Run(fmt.Sprintf("%d.%d-%d", f.Version[0], f.Version[1], i), func(t *testing.T) {
			t.Parallel()
			t.Log(f.Path)
			s := connect(t, options{env: []string{"IPYTHON_MCP_PYTHON=" + f.Path, slowHandshake}})
			s.isItself(f.Path)
			s.servesAll()
			venv := filepath.Join(realPath(t), "venv")
			if output, err := exec.Command(f.Path, "-m", "venv", "--without-pip", venv).CombinedOutput(); err != nil {
				t.Fatalf("no environment can be made: %v\n%s", err, output)
			}
			servesEnvironment(t, venv, f.Version)
		})
	}
}

// servesEnvironment starts a server with a virtual environment's interpreter, with packages in it.
func servesEnvironment(t *testing.T, venv string, version [2]int) {
	t.Helper()
	packages := filepath.Join(venv, "lib", fmt.Sprintf("python%d.%d", version[0], version[1]), "site-packages")
	writeFile(t, filepath.Join(packages, "only_there.py"), "value = 'from the environment'")
	writeFile(t, filepath.Join(packages, "more.pth"), "only_by_pth\n")
	writeFile(t, filepath.Join(packages, "only_by_pth", "by_pth.py"), "")
	s := connect(t, options{env: []string{"IPYTHON_MCP_PYTHON=" + venv + "/bin/python", slowHandshake}})
	s.isItself(venv + "/bin/python")
	s.equals("import only_there, by_pth\nonly_there.value", `"from the environment"`)
	s.equals("import sys, subprocess\n"+
		"subprocess.check_output([sys.executable, '-c', 'import only_there; print(only_there.value)'], text=True)",
		`"from the environment\n"`)
	s.servesAll()
	s.equals(fmt.Sprintf("import venv, sys\nvenv.create(%q, with_pip=False, symlinks=True)\n"+
		"sys.prefix", venv+"-inside"), quoted(venv))
	s.endsBy(s.closeInput)
}

// Where TMPDIR is so long that no Unix socket fits into it, a start with another Python works all the same.
func TestInterpreters_LongTMPDIR(t *testing.T) {
	t.Parallel()
	all := foreigners(t)
	if len(all) == 0 {
		missing(t, "another CPython from 3.11 to 3.14 with a shared library")
	}
	newest := slices.MaxFunc(all, func(a, b foreign) int { return a.Version[1] - b.Version[1] })
	long := filepath.Join(t.TempDir(), strings.Repeat("long", 25))
	if err := os.Mkdir(long, 0o755); err != nil {
		t.Fatal(err)
	}
	s := connect(t, options{env: []string{
		"IPYTHON_MCP_PYTHON=" + newest.Path,
		"TMPDIR=" + long,
		"IPYTHON_MCP_CACHE_DIR=" + filepath.Join(realPath(t), "cache"),
		slowHandshake,
	}})
	s.works("the start")
	s.endsBy(s.closeInput)
	checkEmpty(t, long)
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// servesAll is a short session that touches every part that depends on the interpreter's version.
func (s *server) servesAll() {
	s.t.Helper()
	s.equals("import asyncio\nawait asyncio.sleep(0, 7)", "7")
	s.equals("asyncio.run(asyncio.sleep(0, 8))", "8")
	s.equals("!true\n%time _ = 1\n2**80", "1208925819614629174706176")
	if e := s.cell("def f():\n    1/0\n" +
		"f()"); e.OK || e.Error.ErrorType != "ZeroDivisionError" || !strings.Contains(e.Error.Traceback, "line 2, in f\n    1/0") {
		s.t.Errorf("a failure gives %v", e.Error)
	}
	if e := s.cell("def deep(n): return deep(n + 1)\ndeep(0)"); e.OK || e.Error.ErrorType != "RecursionError" {
		s.t.Errorf("recursion gives %v", e.Error)
	}
	if e := s.cell("import os, sys\n" +
		"print('a'); os.system('echo b >&2'); sys.stdout.flush()"); e.Stdout != "a\n" || e.Stderr != "b\n" {
		s.t.Errorf("the streams are %q, %q", e.Stdout, e.Stderr)
	}
	s.equals("import multiprocessing\ndef square(n): return n * n\n"+
		"with multiprocessing.Pool(2) as pool: r = pool.map(square, range(4))\nr", "[0,1,4,9]")
	// As uvloop.install() does: the policy of loops that need nobody to wait for children.
	s.equals("import warnings; warnings.simplefilter('ignore')\nPolicy = next(c for n, c in vars(asyncio.events).items() if "+
		"n.lstrip('_') == 'BaseDefaultEventLoopPolicy')\nasyncio.set_event_loop_policy(type('P', (Policy,), "+
		"{'_loop_factory': asyncio.SelectorEventLoop})())\np = await asyncio.create_subprocess_exec('sh', '-c', 'exit 3')\n"+
		"await p.wait()", "3")
	s.equals("asyncio.run(asyncio.sleep(0, 9))", "9")
	s.succeed("asyncio.set_event_loop_policy(None)")
	id := s.running("import time\ntime.sleep(600)")
	s.cancel(id)
	s.works("a cancellation")
	s.equals("import IPython\nIPython.version_info[0] >= 9", "true")
	s.equals("import sqlite3, ssl, ctypes, decimal\n1", "1")
	a := s.call("inspect", map[string]any{"name": "f"})
	mentions(s.t, string(a.Structured), `"signature":"()"`)
	a = s.call("reset", map[string]any{})
	mentions(s.t, string(a.Structured), `"ok":true`)
}

// The bundled interpreter is the default; its own virtual environment can be served as well.
func TestInterpreters_Bundled(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	var executable string
	if err := json.Unmarshal([]byte(s.value("import sys\nsys.executable")), &executable); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(executable, cacheDir) {
		t.Errorf("sys.executable is %s", executable)
	}
	s.isItself(executable)
	s.servesAll()
	venv := filepath.Join(realPath(t), "venv")
	s.succeed(fmt.Sprintf("import venv\nvenv.create(%q, with_pip=False, symlinks=True)", venv))
	servesEnvironment(t, venv, [2]int{3, 14})
}

// A relative path and a name on PATH are looked up as a shell would.
func TestInterpreters_ByName(t *testing.T) {
	t.Parallel()
	all := foreigners(t)
	if len(all) == 0 {
		missing(t, "another CPython from 3.11 to 3.14 with a shared library")
	}
	directory, name := filepath.Split(all[0].Path)
	s := connect(
		t,
		options{env: []string{"IPYTHON_MCP_PYTHON=" + name, "PATH=" + directory + ":/usr/bin:/bin", slowHandshake}},
	)
	s.isItself(all[0].Path)
	s = connect(
		t,
		options{args: []string{"serve", "--python", "./" + name}, dir: directory, env: []string{slowHandshake}},
	)
	s.works("the start")
}
