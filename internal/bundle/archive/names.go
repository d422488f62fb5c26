package archive

import (
	"fmt"
	"path"
	"path/filepath"
)

// CheckName refuses a name that is not the one clean spelling of a path strictly below a tree's root, and
// one that a manifest line could not hold.
func CheckName(name string) error {
	for i := range len(name) {
		if c := name[i]; c < ' ' || c == 0x7f || c == '\\' {
			return fmt.Errorf("archive: name %q holds a control character or a backslash", name)
		}
	}
	if name == "." || path.Clean(name) != name || !filepath.IsLocal(name) {
		return fmt.Errorf("archive: name %q is not a clean path inside the tree", name)
	}
	return nil
}

// checkLink refuses a symbolic link that leads out of the tree.
func checkLink(name, target string) error {
	if err := checkTarget(name, target); err != nil {
		return fmt.Errorf("archive: link %q to %q: %w", name, target, err)
	}
	return nil
}

func checkTarget(name, target string) error {
	if target == "" || path.IsAbs(target) {
		return fmt.Errorf("not a relative path")
	}
	return CheckName(path.Join(path.Dir(name), target))
}
