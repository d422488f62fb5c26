package envprov

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// parse reads settings from a map, in a project of its own.
func parse(t *testing.T, values map[string]string) (Settings, []Problem) {
	t.Helper()
	return ParseSettings(func(name string) (string, bool) { value, ok := values[name]; return value, ok })
}

// inProject makes a directory the working directory and the project.
func inProject(t *testing.T) string {
	t.Helper()
	project := realDir(t)
	if err := os.Mkdir(filepath.Join(project, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(project)
	return project
}

// realDir is a temporary directory without a symbolic link in its path.
func realDir(t *testing.T) string {
	t.Helper()
	directory, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return directory
}

func TestParseSettings_Defaults(t *testing.T) {
	empty := map[string]string{}
	for _, v := range Variables() {
		empty[v.Name] = ""
	}
	for name, values := range map[string]map[string]string{"unset": nil, "empty": empty} {
		s, problems := parse(t, values)
		if len(problems) > 0 {
			t.Errorf("%s: problems %v", name, problems)
		}
		want := Settings{Handshake: 5 * time.Second, SetupTimeout: 300 * time.Second}
		if diff := cmp.Diff(want, s); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestParseSettings_Everything(t *testing.T) {
	inProject(t)
	workspace, library := realDir(t), realDir(t)
	s, problems := parse(t, map[string]string{
		VarPython:       "/usr/bin/python3",
		varPreloads:     "numpy, os.path,numpy",
		varAliases:      `{"numpy": "np"}`,
		varLibraryPaths: library + "/:" + workspace,
		varEnvironment:  `{"A_1": "x=y", "b": ""}`,
		varHandshake:    "0.5",
		varWorkspace:    workspace + "/new/./one/",
		varActive:       "a.b_c-9",
		varRequirements: `["six", " Six "]`,
		varSetupTimeout: "1e300",
	})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if s.SetupTimeout < 24*time.Hour {
		t.Errorf("set-up time is %v", s.SetupTimeout)
	}
	s.SetupTimeout = 0
	want := Settings{
		Python:            "/usr/bin/python3",
		PreloadModules:    []string{"numpy", "os.path"},
		ModuleAliases:     map[string]string{"numpy": "np"},
		LibraryPaths:      []string{library, workspace},
		Environment:       map[string]string{"A_1": "x=y", "b": ""},
		Handshake:         500 * time.Millisecond,
		Workspace:         workspace + "/new/one",
		ActiveEnvironment: "a.b_c-9",
		Requirements:      []string{"six", " Six "},
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Error(diff)
	}
	if got := s.EnvironmentDir(); got != workspace+"/new/one/a.b_c-9" {
		t.Errorf("environment is %q", got)
	}
}

// What looks like half a surrogate pair, and is none.
func TestParseSettings_Text(t *testing.T) {
	value := `{"A": "\\ud800 \ud83d\ude00 \ufffd \ud7ff \ue000 \\\ud83d\uDE00 \"\ud83d\ude00\""}`
	s, problems := parse(t, map[string]string{varEnvironment: value})
	want := `\ud800 😀 ` + "\ufffd \ud7ff \ue000" + ` \😀 "😀"`
	if len(problems) > 0 || s.Environment["A"] != want {
		t.Errorf("the value is %q, want %q; %v", s.Environment["A"], want, problems)
	}
}

func TestParseSettings_Problems(t *testing.T) {
	project := inProject(t)
	free := realDir(t)
	link := filepath.Join(free, "link")
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(free, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	many := `{"V0": "x"`
	for i := range 128 {
		many += fmt.Sprintf(`, "W%d": ""`, i)
	}
	many += "}"
	tests := []struct {
		name     string
		variable string // as the message names it
		value    string
		phase    string
		want     string // part of the message
	}{
		{"preload", varPreloads, "os, 1x", PhaseConfiguration, `"1x"`},
		{"preload empty part", varPreloads, "os,,sys", PhaseConfiguration, `""`},
		{"aliases no object", varAliases, `["a"]`, PhaseConfiguration, "no JSON object"},
		{"aliases null", varAliases, `{"os": null}`, PhaseConfiguration, "no JSON object"},
		{"aliases not preloaded", varAliases, `{"os": "o"}`, PhaseConfiguration, `"os" is not in`},
		{"path relative", varLibraryPaths, "lib", PhasePathValidation, `"lib" is not absolute`},
		{"path dots", varLibraryPaths, free + "/../x", PhasePathValidation, "contains .."},
		{"path link", varLibraryPaths, link, PhasePathValidation, "symbolic link"},
		{"path missing", varLibraryPaths, free + "/none", PhasePathValidation, "no such file"},
		{"path file", varLibraryPaths, file, PhasePathValidation, "is no directory"},
		{"path empty", varLibraryPaths, free + ":", PhasePathValidation, "is empty"},
		{"variables no object", varEnvironment, `{"A": 1}`, PhaseConfiguration, "no JSON object"},
		{"variables null member", varEnvironment, `{"A": null}`, PhaseConfiguration, "no JSON object"},
		{"variables null", varEnvironment, `null`, PhaseConfiguration, "no JSON object"},
		{"variables name", varEnvironment, `{"A-B": "x"}`, PhaseConfiguration, `"A-B" is no variable name`},
		{"variables newline", varEnvironment, `{"A\n": "x"}`, PhaseConfiguration, `"A\n" is no variable name`},
		{"variables NUL", varEnvironment, `{"A": "x\u0000"}`, PhaseConfiguration, "NUL"},
		{"variables half a pair", varEnvironment, `{"B": "\ud83d\ude00", "A": "x\udc00\ud83d"}`, PhaseConfiguration, `"A" contains half`},
		{"variables bytes", varEnvironment, "{\"A\": \"\xff\"}", PhaseConfiguration, `"A" contains bytes`},
		{"aliases half a pair", varAliases, `{"os": "\uD800"}`, PhaseConfiguration, `"os" contains half`},
		{"requirement half a pair", varRequirements, `["six", "a\ud800\u0041"]`, PhaseConfiguration, "item 1 contains half"},
		{"requirement bytes", varRequirements, "[\"six\xfe\"]", PhaseConfiguration, "item 0 contains bytes"},
		{"path bytes", varLibraryPaths, "/\xff", PhasePathValidation, `"/\xff" is not in UTF-8`},
		{"workspace bytes", varWorkspace, "/\xff", PhasePathValidation, `"/\xff" is not in UTF-8`},
		{"variables long", varEnvironment, `{"A": "` + strings.Repeat("é", 8193) + `"}`, PhaseConfiguration, "8192"},
		{"variables many", varEnvironment, many, PhaseConfiguration, "128"},
		{"handshake", varHandshake, "0", PhaseConfiguration, `"0"`},
		{"handshake NaN", varHandshake, "NaN", PhaseConfiguration, `"NaN"`},
		{"timeout", varSetupTimeout, "-1", PhaseConfiguration, `"-1"`},
		{"timeout infinite", varSetupTimeout, "Inf", PhaseConfiguration, `"Inf"`},
		{"timeout word", varSetupTimeout, "long", PhaseConfiguration, `"long"`},
		{"workspace alone", varWorkspace, free, PhaseConfiguration, "without " + varActive},
		{"environment alone", varActive, "a", PhaseConfiguration, "without " + varWorkspace},
		{"requirements alone", varRequirements, `["six"]`, PhaseConfiguration, "no environment"},
		{"requirements no array", varRequirements, `{"six": 1}`, PhaseConfiguration, "no JSON array"},
		{"requirements null", varRequirements, `null`, PhaseConfiguration, "no JSON array"},
		{"requirement null", varRequirements, `[null]`, PhaseConfiguration, "item 0 is null"},
		{"requirement number", varRequirements, `[1]`, PhaseConfiguration, "no JSON array"},
		{"requirement blank", varRequirements, `["six", " "]`, PhaseConfiguration, "item 1 is blank"},
		{"requirement long", varRequirements, `["` + strings.Repeat("a", 513) + `"]`, PhaseConfiguration, "513"},
		{"requirement newline", varRequirements, `["a\n--index-url x"]`, PhaseConfiguration, "control character"},
		{"requirements many", varRequirements, `["a"` + strings.Repeat(`,"a"`, 64) + `]`, PhaseConfiguration, "65"},
		{
			"requirements sum", varRequirements, `["a"` + strings.Repeat(`,"`+strings.Repeat("b", 512)+`"`, 16) + `]`,
			PhaseConfiguration, "8193",
		},
		{"name", varActive, "-a", PhaseConfiguration, `"-a"`},
		{"name dots", varActive, "..", PhaseConfiguration, `".."`},
		{"name slash", varActive, "a/b", PhaseConfiguration, `"a/b"`},
		{"name long", varActive, strings.Repeat("a", 65), PhaseConfiguration, "64"},
		{"name newline", varActive, "a\n", PhaseConfiguration, `"a\n"`},
		{"workspace relative", varWorkspace, "ws", PhasePathValidation, "is not absolute"},
		{"workspace dots", varWorkspace, free + "/a/../b", PhasePathValidation, "contains .."},
		{"workspace link", varWorkspace, link, PhasePathValidation, "symbolic link"},
		{"workspace below link", varWorkspace, link + "/new", PhasePathValidation, "symbolic link"},
		{"workspace file", varWorkspace, file, PhasePathValidation, "is no directory"},
		{"workspace below file", varWorkspace, file + "/new", PhasePathValidation, "not a directory"},
		{"workspace is project", varWorkspace, project, PhasePathValidation, "inside the current project"},
		{"workspace in project", varWorkspace, project + "/a/b", PhasePathValidation, "inside the current project"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, problems := parse(t, map[string]string{test.variable: test.value})
			for _, p := range problems {
				if p.Phase == test.phase && strings.Contains(p.Message, test.variable) && strings.Contains(p.Message,
					test.want) {
					if strings.Contains(p.Message, "\n") {
						t.Errorf("more than one line: %q", p.Message)
					}
					return
				}
			}
			t.Errorf("no %s problem names %s and %q in %v", test.phase, test.variable, test.want, problems)
		})
	}
}

func TestParseSettings_ReportsEveryProblemAtOnceTheFirstPhaseFirst(t *testing.T) {
	_, problems := parse(t, map[string]string{
		varLibraryPaths: "relative", varWorkspace: "too", varPreloads: "1", varEnvironment: "[]", varHandshake: "x",
		varSetupTimeout: "x", varRequirements: "x", varActive: "_",
	})
	named := map[string]bool{}
	last := 0
	for _, p := range problems {
		name, _, _ := strings.Cut(p.Message, " ")
		named[strings.TrimSuffix(name, ":")] = true
		if order := phaseOrder(p.Phase); order < last {
			t.Errorf("%s comes after a later phase", p.Message)
		} else {
			last = order
		}
	}
	if len(named) != 8 {
		t.Errorf("named are %v in %v", named, problems)
	}
}

func TestParseSettings_BindingsMustDiffer(t *testing.T) {
	tests := []struct{ preloads, aliases, want string }{
		{"a.x,b.x", "", `both be bound to "x"`},
		{"a,b", `{"a": "z", "b": "z"}`, `both be bound to "z"`},
		{"a", `{"a": "_a"}`, `binding "_a"`},
		{"a", `{"a": "get_ipython"}`, `binding "get_ipython"`},
		{"a", `{"a": "for"}`, `binding "for"`},
		{"a", `{"a": "b.c"}`, `binding "b.c"`},
	}
	for _, test := range tests {
		_, problems := parse(t, map[string]string{varPreloads: test.preloads, varAliases: test.aliases})
		if len(problems) == 0 || !strings.Contains(joinMessages(problems), test.want) {
			t.Errorf("%s %s: %v, want %s", test.preloads, test.aliases, problems, test.want)
		}
	}
}

func TestCurrentProject(t *testing.T) {
	project := inProject(t)
	below := filepath.Join(project, "a", "b")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	bare := realDir(t)
	tests := []struct{ working, home, want string }{
		{project, "/nowhere", project},
		{below, "/nowhere", project},
		{bare, "/nowhere", bare},
		{bare, bare, ""},
		{"/", "/nowhere", ""},
	}
	for _, test := range tests {
		t.Chdir(test.working)
		t.Setenv("HOME", test.home)
		if got := currentProject(); got != test.want {
			t.Errorf("in %s with home %s: %q, want %q", test.working, test.home, got, test.want)
		}
	}
}
