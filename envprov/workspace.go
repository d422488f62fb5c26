package envprov

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ipython-mcp/internal/filelock"
)

const (
	lockSuffix      = ".lock"
	temporaryMark   = ".tmp-"
	makeAttempts    = 10 // another start may take back a directory that it has created
	removalAttempts = 3  // a process that is just being killed may still add a file
)

func lockPath(workspace, name string) string {
	return filepath.Join(workspace, "."+name+lockSuffix)
}

// temporaryPrefix is how the names of an environment's temporary directories begin. No environment's name begins with a
// dot.
func temporaryPrefix(name string) string { return "." + name + temporaryMark }

// makeWorkspace creates the directory and those above it where they are missing, and returns the ones that it created,
// the deepest first.
func makeWorkspace(workspace string) (created []string, err error) {
	for directory := workspace; ; directory = filepath.Dir(directory) {
		if _, err := os.Lstat(directory); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		created = append(created, directory)
	}
	for range makeAttempts {
		if err = os.MkdirAll(workspace, 0o755); err == nil {
			return created, nil
		}
	}
	removeEmpty(created)
	return nil, err
}

// removeEmpty removes directories where nothing is in them: another start may use them by now.
func removeEmpty(directories []string) {
	for _, directory := range directories {
		_ = os.Remove(directory)
	}
}

// sweep removes what killed starts left in the workspace: temporary directories and lock files that nobody holds. It
// cannot fail: what stays costs space, and the next start tries again.
func sweep(workspace string) {
	entries, err := os.ReadDir(workspace)
	if err != nil {
		return
	}
	leftovers := map[string][]string{} // by environment
	for _, entry := range entries {
		if name, ok := leftoverOf(entry); ok {
			leftovers[name] = append(leftovers[name], filepath.Join(workspace, entry.Name()))
		}
	}
	for name, paths := range leftovers {
		unlock, ok := filelock.Try(lockPath(workspace, name))
		if !ok {
			continue // somebody is at work
		}
		for _, path := range paths {
			if path != lockPath(workspace, name) {
				removeTree(path)
			}
		}
		unlock()
	}
}

// leftoverOf says to which environment an entry of the workspace belongs, if it is none itself.
func leftoverOf(entry fs.DirEntry) (name string, ok bool) {
	name, hidden := strings.CutPrefix(entry.Name(), ".")
	if !hidden {
		return "", false
	}
	if lock, ok := strings.CutSuffix(name, lockSuffix); ok && entry.Type().IsRegular() {
		return lock, environmentName.MatchString(lock)
	}
	at := strings.LastIndex(name, temporaryMark)
	if at < 0 || !entry.IsDir() {
		return "", false
	}
	return name[:at], environmentName.MatchString(name[:at])
}

func removeTree(path string) {
	for range removalAttempts {
		if os.RemoveAll(path) == nil {
			return
		}
		makeWritable(path)
	}
}

// makeWritable lets directories be emptied that a build left without write permission.
func makeWritable(root string) {
	_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if entry != nil && entry.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
}
