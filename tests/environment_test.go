package tests

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestEnvironment_TwoVersionsOfOnePackage(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	w.demo("1.0")
	w.demo("2.0")
	first := connect(t, options{env: w.env("one", "demo<2"), dir: w.wheels})
	second := connect(t, options{env: w.env("two", "Demo", "demo >= 1"), dir: w.wheels})
	for version, s := range map[string]*server{"1.0": first, "2.0": second} {
		if got := s.value("import demo\ndemo.version"); got != `"`+version+`"` {
			t.Errorf("version is %s, want %s", got, version)
		}
	}
	home := filepath.Join(w.workspace, "one")
	tests := []struct{ code, want string }{
		{"import os, sys, sysconfig, only_by_pth\nsys.prefix", home},
		{"sys.executable", home + "/bin/python"},
		{"sysconfig.get_paths()['data']", home},
		{"os.environ['VIRTUAL_ENV']", home},
		{"os.path.dirname(os.path.dirname(sys.base_prefix))", filepath.Dir(cacheDir)},
		{"os.path.dirname(only_by_pth.__file__)", home + "/lib/python3.14/site-packages/demo_more"},
		{"x = !demo-tool\nx[0]", "1.0 " + home},
		{"x = !python -c 'import demo, sys; print(sys.prefix)'\nx[0]", home},
	}
	for _, test := range tests {
		if got := first.value(test.code); got != quoted(test.want) {
			t.Errorf("%s is %s, want %s", test.code, got, test.want)
		}
	}
	// Its packages come before the bundled ones.
	paths := first.value("[p for p in sys.path if p.endswith('site-packages') or 'site-' in os.path.basename(p)]")
	if at, bundled := strings.Index(paths, home), strings.Index(paths, cacheDir); at < 0 || bundled < at {
		t.Errorf("sys.path has %s", paths)
	}
}

func quoted(text string) string {
	encoded, err := json.Marshal(text)
	if err != nil {
		panic(err) // strings always encode
	}
	return string(encoded)
}

func TestEnvironment_IsReusedForTheSameRequirementsOnly(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	w.demo("1.0")
	if got := w.run(w.env("env", "demo==1.0"), "prepare"); got.status != 0 {
		t.Fatal(got.stderr)
	}
	withoutUV := slices.Concat(w.env("env", "DEMO == 1.0.0", "demo==1", "demo==1.0"), []string{"PATH=/nowhere"})
	if got := connect(t, options{env: withoutUV}).value("import demo\ndemo.version"); got != `"1.0"` {
		t.Error(got)
	}
	said := w.fails(w.env("env", "demo==1.0", "six"))
	mentions(t, said, "during reuse_validation", "the requirements differ", "six", "IPYTHON_MCP_ACTIVE_ENVIRONMENT")
	said = w.fails(w.env("env"))
	mentions(t, said, "during reuse_validation", "wanted []")
	text, err := os.ReadFile(filepath.Join(w.workspace, "env", "ipython-mcp.json"))
	if err != nil {
		t.Fatal(err)
	}
	var recorded struct {
		Format       int
		Python       string
		Requirements []string
		Fingerprint  string
	}
	if err := json.Unmarshal(text, &recorded); err != nil || recorded.Format != 1 || recorded.Python != "3.14" ||
		!slices.Equal(recorded.Requirements, []string{"demo==1"}) || len(recorded.Fingerprint) != 64 {
		t.Errorf("metadata is %s, %v", text, err)
	}
	if left := w.left(); !slices.Equal(left, []string{"env"}) {
		t.Errorf("the workspace holds %v", left)
	}
}

func TestEnvironment_RequirementsThatAreNone(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	said := w.fails(w.env("env", "demo = 1", "demo", "-r other.txt", "x @ https://user:t0ken@host/x; bad marker"))
	mentions(t, said, "during configuration", "item 0", `"demo = 1"`, "item 2", `"-r other.txt"`, "item 3", "PEP 508")
	lacks(t, said, "t0ken", "item 1")
	w.untouched()
}

func TestEnvironment_EveryProblemAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	said := w.fails([]string{
		"IPYTHON_MCP_ENVIRONMENT_WORKSPACE=relative", "IPYTHON_MCP_ENVIRONMENT_REQUIREMENTS=[1]",
		"IPYTHON_MCP_MAX_RESULTS=0",
		"IPYTHON_MCP_ENVIRONMENT_SETUP_TIMEOUT_SECONDS=nan",
		`IPYTHON_MCP_ENVIRONMENT_VARIABLES={"SECRET":"relative","B C":""}`,
	})
	mentions(t, said, "during configuration: ", "IPYTHON_MCP_ENVIRONMENT_WORKSPACE", "IPYTHON_MCP_ACTIVE_ENVIRONMENT",
		"IPYTHON_MCP_ENVIRONMENT_REQUIREMENTS", "IPYTHON_MCP_MAX_RESULTS", "SETUP_TIMEOUT_SECONDS", `"B C"`,
		"is not absolute")
	if strings.Count(said, "\n") != 1 {
		t.Errorf("it is no single line: %q", said)
	}
	lacks(t, said, `"relative"`)
}

func TestEnvironment_WorkspaceInTheProject(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	w.workspace = filepath.Join(w.wheels, "environments") // the working directory of the server is above it
	mentions(t, w.fails(w.env("env")), "during path_validation", "IPYTHON_MCP_ENVIRONMENT_WORKSPACE",
		"inside the current project")
}

// oldIPython writes a wheel of an IPython that cannot serve.
func (w *workshop) oldIPython() {
	w.t.Helper()
	w.wheel("ipython", "8.1", map[string]string{
		"IPython/__init__.py":     "raise SystemExit('too old to import')",
		"IPython/core/release.py": "_version_major = 8\n_version_minor = 1\n",
	})
}

// What the requirements lead to is known to serve before it is kept, also where it replaces what the bundled IPython needs.
func TestEnvironment_RequirementsThatCannotServe(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	w.oldIPython()
	w.wheel("traitlets", "0.0.99", map[string]string{"traitlets.py": "raise ImportError('ancient')"})
	mentions(t, w.fails(w.env("old", "ipython==8.1")), "during dependency_install", "IPython 8.1 is too old",
		"ipython>=8.15", "IPYTHON_MCP_ENVIRONMENT_REQUIREMENTS")
	w.untouched()
	mentions(t, w.fails(w.env("old", "traitlets==0.0.99")), "during dependency_install", "cannot be imported: ImportError: ancient")
	w.untouched()
}

// A session that breaks its environment does so for later starts: they say how to repair it.
func TestEnvironment_BrokenByASession(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	w.oldIPython()
	env := w.env("env")
	s := connect(t, options{env: env, dir: w.wheels})
	warned := s.succeed("%pip install -q ipython==8.1")
	mentions(t, warned.Stderr, "warning: IPython 8.1 is too old", "%pip install 'ipython>=8.15'")
	s.endsBy(s.closeInput)
	said := w.fails(env)
	mentions(t, said, "during reuse_validation", "IPython 8.1 is too old", "ipython>=8.15", "uv pip install --python",
		"delete the directory")
	lacks(t, said, "Traceback")
	report, _ := w.doctor(env)
	if report.OK {
		t.Error("doctor finds nothing wrong")
	}
	uninstall := exec.Command(filepath.Join(uvFolder(t), "uv"), "pip", "uninstall", "--python",
		filepath.Join(w.workspace, "env", "bin", "python"), "ipython")
	if output, err := uninstall.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	connect(t, options{env: env}).works("the repair")
}

// TestEnvironment_OwnIPythons needs the package index: the oldest IPython that serves, and the last ones of its line.
func TestEnvironment_OwnIPythons(t *testing.T) {
	for requirement, version := range map[string]string{"ipython==8.15.0": "8.15.0", "ipython<9": "8.", "ipython==9.0.0": "9.0.0"} {
		t.Run(requirement, func(t *testing.T) {
			t.Parallel()
			w := newWorkshop(t)
			env := append(w.env("env", requirement), "UV_NO_INDEX=", "UV_FIND_LINKS=", "UV_HTTP_RETRIES=")
			s := connect(t, options{env: env})
			if got := s.value("import IPython\nIPython.__version__"); !strings.HasPrefix(got, `"`+version) {
				t.Errorf("IPython is %s", got)
			}
			if e := s.succeed("x = !echo out\n%time print(x, open('/dev/null').read())\nawait __import__('asyncio').sleep(0, _exit_code)"); string(e.Result) != "0" {
				t.Errorf("the cell gives %+v", e)
			}
			if e := s.cell("def f(): 1/0\nf()"); e.OK || e.Error.ErrorType != "ZeroDivisionError" {
				t.Errorf("a failure gives %+v", e.Error)
			}
			s.works("an own IPython")
		})
	}
}

// TestEnvironment_OwnIPython: what an environment carries comes first.
func TestEnvironment_OwnIPython(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	connect(t, options{}) // makes sure that the bundled one is extracted
	bundled, err := filepath.Glob(filepath.Join(cacheDir, "site-*", "IPython"))
	if err != nil || len(bundled) != 1 {
		t.Fatalf("the bundled IPython is at %v, %v", bundled, err)
	}
	files := map[string]string{}
	err = filepath.WalkDir(bundled[0], func(path string, entry os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".py") || strings.Contains(path, "/tests/") {
			return err
		}
		text, err := os.ReadFile(path)
		files["IPython"+strings.TrimPrefix(path, bundled[0])] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	w.wheel("ipython", "9.0.99", files)
	s := connect(t, options{env: w.env("own", "ipython>=9")})
	if got := s.value("import IPython\nIPython.__file__"); !strings.Contains(got, filepath.Join(w.workspace, "own")) {
		t.Errorf("IPython is %s", got)
	}
}

func TestEnvironment_VariablesPathsAndPreloads(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	w.demo("1.0")
	library := realPath(t)
	if err := os.Mkdir(filepath.Join(library, "demo"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(library, "demo", "__init__.py"),
		[]byte("import os\nversion = os.environ['A']"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := connect(t, options{env: append(w.env("env", "demo"),
		`IPYTHON_MCP_ENVIRONMENT_VARIABLES={"A":"from the library"}`,
		"IPYTHON_MCP_LIBRARY_PATHS="+library, "IPYTHON_MCP_PRELOAD_MODULES=demo",
		`IPYTHON_MCP_MODULE_ALIASES={"demo":"d"}`)})
	if got := s.value("d.version"); got != `"from the library"` {
		t.Errorf("library paths do not come first: %s", got)
	}
}

func TestEnvironment_InstallingInside(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	w.demo("1.0")
	w.demo("2.0")
	w.wheel("other", "1.0", map[string]string{"other.py": "x = 1"})
	s := connect(t, options{env: w.env("env", "demo<2"), dir: w.wheels})
	if got := s.value("%pip install -q other\nimport other\nother.__file__"); !strings.Contains(got,
		filepath.Join(w.workspace, "env")) {
		t.Errorf("%%pip installed %s", got)
	}
	if got := s.value("!uv pip install -q 'demo>1'\nimport only_by_pth, demo\ndemo.version"); got != `"2.0"` {
		t.Errorf("!uv pip installed %s", got)
	}
	mentions(t, s.succeed("%pip list").Stdout, "demo", "other")

	plain := connect(t, options{
		env: []string{"PATH=" + w.path, "VIRTUAL_ENV=" + filepath.Join(w.workspace, "env")},
		dir: w.wheels,
	})
	for _, code := range []string{
		"%pip install other", "!uv pip install other", "x = !uv pip install other",
		"%uv pip install other",
	} {
		e := plain.cell(code)
		if e.OK || e.Error == nil {
			t.Fatalf("%s was not refused: %+v", code, e)
		}
		mentions(t, e.Error.Message, "IPYTHON_MCP_ENVIRONMENT_WORKSPACE", "IPYTHON_MCP_ACTIVE_ENVIRONMENT")
	}
	if e := plain.cell("!uv pip install --help"); !e.OK {
		t.Errorf("help was refused: %+v", e.Error)
	}
}

// A command of %pip or %uv that fails is a failure of the cell, wherever it stands; a shell line says its status.
func TestEnvironment_InstallingThatFails(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	s := connect(t, options{env: w.env("env"), dir: w.wheels})
	for code, command := range map[string]string{
		"%pip install --no-index nothing-like-this\nafter = 1":                                         "%pip",
		"%pip uninstall --no-such-option":                                                              "%pip",
		"%uv pip install --no-index nothing-like-this":                                                 "%uv",
		"def f():\n    %pip install --no-index nothing-like-this\nf()":                                 "%pip",
		"if True:\n    %uv pip install --no-index nothing-like-this":                                   "%uv",
		"x = %pip install --no-index nothing-like-this":                                                "%pip",
		"get_ipython().run_line_magic('pip', 'install --no-index nothing-like-this')":                  "%pip",
		"%%capture\n%pip install --no-index nothing-like-this":                                         "%pip",
		"import asyncio\nawait asyncio.sleep(0)\n%pip install --no-index nothing-like-this\nafter = 1": "%pip",
	} {
		e := s.cell(code)
		if e.OK || e.Error.ErrorType != "InstallError" || strings.Contains(e.Error.Message, "\n") {
			t.Fatalf("%s gives %+v", code, e)
		}
		mentions(t, e.Error.Message, command+" failed with exit status ")
		lacks(t, e.Error.Traceback, "installing.py", "IPython/core")
	}
	mentions(t, s.cell("%pip install --no-index nothing-like-this").Stderr, "nothing-like-this")
	s.equals("'after' in globals()", "false")
	s.equals("try:\n    %pip install --no-index nothing-like-this\nexcept Exception as error: r = str(error)\nr.startswith('%pip failed')", "true")
	s.equals("!uv pip install -q --no-index nothing-like-this\n_exit_code != 0", "true")
	s.equals("%pip list\n_exit_code", "0")
}

// TestEnvironment_CompiledWheelFromTheIndex is the one test that needs the package index.
func TestEnvironment_CompiledWheelFromTheIndex(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	env := append(w.env("env", "numpy>=2"), "UV_NO_INDEX=", "UV_FIND_LINKS=", "UV_HTTP_RETRIES=",
		"IPYTHON_MCP_PRELOAD_MODULES=numpy", `IPYTHON_MCP_MODULE_ALIASES={"numpy":"np"}`)
	s := connect(t, options{env: env})
	if got := s.value("[np.arange(4).reshape(2, 2).tolist(), np.__file__.startswith(" + quoted(w.workspace) +
		")]"); got != "[[[0,1],[2,3]],true]" {
		t.Errorf("numpy gives %s", got)
	}
}
