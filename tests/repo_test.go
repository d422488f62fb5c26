package tests

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// House rules, as tests. The sources are those of the checkout that the tests are in.

const module = "ipython-mcp"

// mayImport lists the packages of this module that each one may import, with the reason for each edge. Imports run
// downward only; DESIGN.md has the picture.
var mayImport = map[string]map[string]string{
	"cmd/ipython-mcp": {
		"envprov":              "which interpreter, and the environment",
		"internal/bounds":      "limits come from variables and flags",
		"internal/bundle":      "the interpreter inside the binary",
		"internal/children":    "the end takes processes along",
		"internal/cpython":     "runs the interpreter on the main thread",
		"internal/descriptors": "takes descriptors 0 to 2 before anything else",
		"internal/server":      "speaks the protocol",
		"shell":                "owns the namespace",
	},
	"dyntools":        {"internal/bounds": "cuts descriptions, canonical JSON"},
	"envprov":         {"internal/filelock": "starts that make the same environment"},
	"internal/beat":   {},
	"internal/bounds": {},
	"internal/bundle": {
		"internal/bundle/archive": "the form of what is embedded",
		"internal/filelock":       "starts that extract the same tree",
	},
	"internal/bundle/archive":  {},
	"internal/bundle/mkbundle": {"internal/bundle/archive": "packs what the program unpacks"},
	"internal/children":        {},
	"internal/cpython":         {"internal/beat": "guards handlers while code runs"},
	"internal/descriptors":     {},
	"internal/filelock":        {},
	"internal/pictures":        {},
	"internal/server": {
		"dyntools":        "dynamic tools are MCP tools",
		"internal/beat":   "notices long calls",
		"internal/bounds": "limits of texts",
		"shell":           "every tool is an operation of the shell",
	},
	"shell": {
		"internal/bounds":   "collects streams within limits",
		"internal/pictures": "makes displayed images fit",
	},
	// Black box: they see the built program only.
	"tests":       {},
	"tests/bench": {},
	"tests/demo":  {},
}

// pure are the packages that build without a C compiler and are tested without Python.
var pure = []string{"./internal/bounds", "./dyntools", "./envprov", "./shell", "./internal/server", "./internal/pictures"}

type goPackage struct {
	ImportPath, Dir, Doc string
	GoFiles, CgoFiles    []string
	Imports              []string
}

func packages(t *testing.T) []goPackage {
	t.Helper()
	list := exec.Command("go", "list", "-json", "./...")
	list.Dir = ".."
	output, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []goPackage
	for decoder := json.NewDecoder(bytes.NewReader(output)); ; {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		p.ImportPath = strings.TrimPrefix(p.ImportPath, module+"/")
		all = append(all, p)
	}
}

func TestRepo_Packages(t *testing.T) {
	for _, p := range packages(t) {
		edges, known := mayImport[p.ImportPath]
		allowed := maps.Clone(edges)
		if !known {
			t.Errorf("package %s is not in the table of imports", p.ImportPath)
		}
		if p.Doc == "" && len(p.GoFiles) > 0 {
			t.Errorf("package %s has no doc comment", p.ImportPath)
		}
		for _, path := range p.Imports {
			own, isOwn := strings.CutPrefix(path, module+"/")
			if isOwn && allowed[own] == "" {
				t.Errorf("%s imports %s", p.ImportPath, own)
			}
			delete(allowed, own)
			if strings.HasPrefix(path, "github.com/mark3labs/mcp-go") && p.ImportPath != "internal/server" &&
				!strings.HasPrefix(p.ImportPath, "tests/") {
				t.Errorf("%s imports the MCP library", p.ImportPath)
			}
		}
		for unused, reason := range allowed {
			t.Errorf("%s does not import %s any more (%s)", p.ImportPath, unused, reason)
		}
		if len(p.CgoFiles) > 0 && (p.ImportPath != "internal/cpython" || len(p.CgoFiles) > 1) {
			t.Errorf("%s uses C in %v", p.ImportPath, p.CgoFiles)
		}
	}
}

// The pure packages are vetted without cgo: nothing in them may need a C compiler, tests included.
func TestRepo_PurePackages(t *testing.T) {
	t.Parallel()
	vet := exec.Command("go", append([]string{"vet"}, pure...)...)
	vet.Dir, vet.Env = "..", append(os.Environ(), "CGO_ENABLED=0")
	if output, err := vet.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}

// What is embedded of the Python package is what is in its directory: no module is forgotten, no byte code shipped.
func TestRepo_EmbeddedPython(t *testing.T) {
	t.Parallel()
	list := exec.Command("go", "list", "-f", "{{join .EmbedFiles \"\\n\"}}", "./shell")
	list.Dir = ".."
	output, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	var present []string
	err = filepath.WalkDir("../shell/python", func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && !strings.Contains(path, "__pycache__") {
			present = append(present, strings.TrimPrefix(path, "../shell/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	embedded := strings.Fields(string(output))
	slices.Sort(embedded)
	slices.Sort(present)
	if !slices.Equal(embedded, present) {
		t.Errorf("embedded are %v\npresent are %v", embedded, present)
	}
}

func TestRepo_SizesOfGoFiles(t *testing.T) {
	for _, p := range packages(t) {
		for _, name := range p.GoFiles {
			checkSizes(t, filepath.Join(p.Dir, name))
		}
	}
}

const (
	maxFileLines     = 500
	maxFunctionLines = 80
)

func checkSizes(t *testing.T, path string) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	if lines := files.Position(file.End()).Line; lines > maxFileLines {
		t.Errorf("%s has %d lines", path, lines)
	}
	for _, declaration := range file.Decls {
		if function, ok := declaration.(*ast.FuncDecl); ok {
			lines := files.Position(function.End()).Line - files.Position(function.Pos()).Line
			if lines > maxFunctionLines {
				t.Errorf("%s: %s has %d lines", path, function.Name.Name, lines)
			}
		}
	}
}

func TestRepo_PythonModulesAreSmall(t *testing.T) {
	modules, err := filepath.Glob("../shell/python/ipymcp/*.py")
	if err != nil || len(modules) == 0 {
		t.Fatalf("modules are %v, %v", modules, err)
	}
	for _, path := range modules {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if lines := bytes.Count(text, []byte("\n")); lines > 300 {
			t.Errorf("%s has %d lines", path, lines)
		}
	}
}

// unwanted is what no tracked file may contain: paths of a machine, and hosts of package registries.
var unwanted = regexp.MustCompile(
	`/root/|/work/|/home/[a-z]|pypi\.org|files\.pythonhosted|registry\.npmjs|proxy\.golang`,
)

func TestRepo_TrackedFiles(t *testing.T) {
	list := exec.Command("git", "ls-files", "-z")
	list.Dir = ".."
	output, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(strings.Trim(string(output), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			continue // removed and not committed yet
		}
		if found := unwanted.Find(text); found != nil && name != "tests/repo_test.go" {
			t.Errorf("%s contains %s", name, found)
		}
		if name == "go.mod" && bytes.Contains(text, []byte("\nreplace ")) {
			t.Error("go.mod replaces a module")
		}
	}
}
