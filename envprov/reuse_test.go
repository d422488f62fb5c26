package envprov

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReuse_SaysWhatDiffers(t *testing.T) {
	const url = "pkg @ https://user:t0ken@host/pkg.whl"
	tests := []struct {
		name   string
		change func(t *testing.T, r *Request, environment string)
		want   string // empty: it is reused
	}{
		{"nothing", func(*testing.T, *Request, string) {}, ""},
		{"patch version", func(_ *testing.T, r *Request, _ string) { r.Base.Version = "3.14.7" }, ""},
		{"another token", func(_ *testing.T, r *Request, _ string) {
			r.Requirements = []string{"pkg @ https://other@host/pkg.whl"}
		}, ""},
		{
			"Python", func(_ *testing.T, r *Request, _ string) { r.Base.Version = "3.13.1" },
			"Python differs (recorded 3.14, wanted 3.13)",
		},
		{
			"requirements", func(_ *testing.T, r *Request, _ string) { r.Requirements = []string{"six"} },
			`the requirements differ (recorded ["pkg`,
		},
		{"fewer", func(_ *testing.T, r *Request, _ string) { r.Requirements = []string{} }, "wanted []"},
		{"format", edit(func(m *metadata) { m.Format = 7 }), "the metadata format differs (recorded 7, wanted 1)"},
		{"fingerprint", edit(func(m *metadata) { m.Fingerprint = "x" }), "fingerprint differs"},
		{"two at once", func(t *testing.T, r *Request, environment string) {
			edit(func(m *metadata) { m.Fingerprint = "x" })(t, r, environment)
			r.Base.Version = "3.15.0"
		}, "fingerprint differs"},
		{
			"no metadata", func(t *testing.T, _ *Request, e string) { remove(t, filepath.Join(e, metadataName)) },
			"this program did not make it",
		},
		{"broken metadata", func(t *testing.T, _ *Request, e string) {
			if err := os.WriteFile(filepath.Join(e, metadataName), []byte("{"), 0o644); err != nil {
				t.Fatal(err)
			}
		}, "no JSON"},
		{"empty directory", func(t *testing.T, _ *Request, e string) {
			remove(t, e)
			if err := os.Mkdir(e, 0o755); err != nil {
				t.Fatal(err)
			}
		}, "this program did not make it"},
		{"a file", func(t *testing.T, _ *Request, e string) {
			remove(t, e)
			if err := os.WriteFile(e, nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}, "it is no directory"},
		{"a link", func(t *testing.T, _ *Request, e string) {
			if err := os.Rename(e, e+"2"); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(e+"2", e); err != nil {
				t.Fatal(err)
			}
		}, "it is a symbolic link"},
		{
			"no interpreter", func(t *testing.T, _ *Request, e string) { remove(t, filepath.Join(e, "bin", "python")) },
			"its interpreter has gone",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r, log := fakeRequest(t)
			r.Requirements = []string{url}
			provisionOK(t, r)
			test.change(t, &r, r.Settings.EnvironmentDir())
			_, made, failure := Provision(context.Background(), r)
			switch {
			case test.want == "" && failure != nil:
				t.Fatal(failure)
			case test.want == "":
				if made {
					t.Error("it was made again")
				}
			case failure == nil:
				t.Error("it was used")
			case failure.Phase != PhaseReuseValidation || !strings.Contains(failure.Message, test.want):
				t.Errorf("%v lacks %q", failure, test.want)
			case !strings.Contains(failure.Message, varActive) && !strings.Contains(failure.Message, "delete"):
				t.Errorf("%v says no way out", failure)
			case strings.Contains(failure.Message, "t0ken"):
				t.Errorf("a secret is in %v", failure)
			}
			if len(calls(t, log)) != 2 {
				t.Error("uv ran again")
			}
		})
	}
}

func edit(change func(*metadata)) func(*testing.T, *Request, string) {
	return func(t *testing.T, _ *Request, environment string) {
		m, err := readMetadata(environment)
		if err != nil {
			t.Fatal(err)
		}
		change(&m)
		if err := m.write(environment); err != nil {
			t.Fatal(err)
		}
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

func TestMetadata_HoldsNoSecret(t *testing.T) {
	r, _ := fakeRequest(t)
	r.Redactor = NewRedactor(map[string]string{"A": "v4riable"}, nil)
	r.Requirements = []string{
		"a @ https://user:t0ken@host/v4riable/a.whl",
		"b @ https://host/b.whl?access_token=abcdef",
	}
	provisionOK(t, r)
	text, err := os.ReadFile(filepath.Join(r.Settings.EnvironmentDir(), metadataName))
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"t0ken", "v4riable", "abcdef", "user:"} {
		if strings.Contains(string(text), secret) {
			t.Errorf("%q is in %s", secret, text)
		}
	}
	var members map[string]any
	if err := json.Unmarshal(text, &members); err != nil || len(members) != 4 {
		t.Errorf("metadata is %s, %v", text, err)
	}
	if provisionOK(t, r) {
		t.Error("it was made again")
	}
}

// TestReuse_PointsAtThePresentInterpreter covers an older program's cache that was deleted.
func TestReuse_PointsAtThePresentInterpreter(t *testing.T) {
	r, _ := fakeRequest(t)
	provisionOK(t, r)
	moved := filepath.Join(filepath.Dir(filepath.Dir(r.Base.Executable)), "..", "newer")
	moved = filepath.Clean(moved)
	if err := os.Rename(filepath.Dir(filepath.Dir(r.Base.Executable)), moved); err != nil {
		t.Fatal(err)
	}
	r.Base.Executable = filepath.Join(moved, "bin", "python3.14")
	if provisionOK(t, r) {
		t.Error("it was made again")
	}
	environment := r.Settings.EnvironmentDir()
	link, err := os.Readlink(filepath.Join(environment, "bin", "python"))
	if err != nil || link != r.Base.Executable {
		t.Errorf("the link points at %q, %v", link, err)
	}
	config, err := os.ReadFile(filepath.Join(environment, "pyvenv.cfg"))
	if want := "home = " + filepath.Join(moved, "bin") + "\nversion = 1\n"; err != nil || string(config) != want {
		t.Errorf("pyvenv.cfg is %q, %v", config, err)
	}
	if left := entries(t, filepath.Join(environment, "bin")); len(left) != 1 {
		t.Errorf("left are %v", left)
	}
}
