package tests

import (
	"encoding/json"
	"os"
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

// TestEnvironment_OwnIPython: what an environment carries comes first, if it is recent enough.
func TestEnvironment_OwnIPython(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	w.wheel("ipython", "8.1", map[string]string{
		"IPython/__init__.py":     "raise SystemExit('too old to import')",
		"IPython/core/release.py": "_version_major = 8\n_version_minor = 1\n",
	})
	mentions(t, w.fails(w.env("old", "ipython==8.1")), "during shell", "IPython 8.1", "too old", "9.0 or newer")

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
