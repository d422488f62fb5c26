package archive

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestCheckName(t *testing.T) {
	for _, tc := range []struct {
		name string
		ok   bool
	}{
		{"a", true},
		{"a/b.py", true},
		{"a/..b", true},
		{"name with spaces/ünïcode", true},
		{"", false},
		{".", false},
		{"..", false},
		{"../a", false},
		{"a/../../b", false},
		{"a/..", false},
		{"a/../b", false},
		{"/a", false},
		{"a/", false},
		{"a//b", false},
		{"./a", false},
		{"a/./b", false},
		{`a\b`, false},
		{`..\a`, false},
		{"a\x00b", false},
		{"a\nb", false},
		{"a\tb", false},
		{"a\x7f", false},
	} {
		if err := CheckName(tc.name); (err == nil) != tc.ok {
			t.Errorf("CheckName(%q) = %v, want ok = %v", tc.name, err, tc.ok)
		}
	}
}

// Whatever name is accepted leads to exactly one place strictly below the root.
func FuzzCheckName(f *testing.F) {
	for _, name := range []string{"a/b", "../a", "/", "a/../..", "a\x00", "..."} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if CheckName(name) != nil {
			return
		}
		const root = "/cache/tree"
		joined := filepath.Join(root, name)
		rel, err := filepath.Rel(root, joined)
		if joined != root+"/"+name || err != nil || rel != name || strings.HasPrefix(rel, "../") {
			t.Errorf("%q was accepted and leads to %q", name, joined)
		}
	})
}

// Whatever manifest is accepted holds only checked names, each below a directory of its own, and is its
// entries' one text.
func FuzzParseManifest(f *testing.F) {
	for _, text := range []string{
		"", "d\t0\t\ta\nf\t3\tabc\ta/b\n", "l\t4\t../b\ta/b\n", "f\t1\t\t../x\n", "x\t-1\t\ta\n", "f\t1\t\ta",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := ParseManifest(text)
		if err != nil {
			return
		}
		directories := map[string]bool{".": true}
		for _, e := range m.Entries {
			if err := CheckName(e.Name); err != nil {
				t.Error(err)
			}
			if !directories[filepath.Dir(e.Name)] {
				t.Errorf("%q lies in no directory", e.Name)
			}
			directories[e.Name] = e.Kind == Directory
			if e.Kind == Link && !filepath.IsLocal(filepath.Join(filepath.Dir(e.Name), e.Target)) {
				t.Errorf("link %q leads to %q", e.Name, e.Target)
			}
		}
		again, err := newManifest(m.Entries)
		if err != nil || len(again.Entries) != len(m.Entries) {
			t.Errorf("entries of an accepted manifest are refused: %v", err)
		}
	})
}
