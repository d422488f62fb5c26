package bundle

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// CacheDirVariable names the variable that chooses the cache directory.
const CacheDirVariable = "IPYTHON_MCP_CACHE_DIR"

// cacheName is the cache's directory below the user's cache directory, and the beginning of its name below
// a temporary one.
const cacheName = "ipython-mcp"

// OpenCache chooses the cache directory, creates it where it is missing, and removes what killed processes
// left there.
//
// An explicit directory (the value of IPYTHON_MCP_CACHE_DIR, else empty) is taken or is an error. It may
// be read-only if the trees are there. Without one it is ipython-mcp in the user's cache directory; where
// that is of no use (no HOME, read-only, mounted noexec), a private directory below TMPDIR, /tmp or
// /var/tmp: ipython-mcp-<uid>, and a fresh one if something that is not ours has that name.
//
// The caller calls cleanup when no tree is needed any more. It removes a fresh directory, and nothing
// otherwise.
func OpenCache(explicit string) (c *Cache, cleanup func() error, err error) {
	dir, cleanup, err := chooseDir(explicit)
	if err != nil {
		return nil, nil, fmt.Errorf("bundle: %w", err)
	}
	sweep(dir)
	return &Cache{Dir: dir, cpython: embedded(cpythonName), site: embedded(siteName)}, cleanup, nil
}

func nothing() error { return nil }

func chooseDir(explicit string) (dir string, cleanup func() error, err error) {
	if explicit != "" {
		return explicit, nothing, openExplicit(explicit)
	}
	dir, userErr := openUser()
	if userErr == nil {
		return dir, nothing, nil
	}
	dir, cleanup, tmpErr := openTemporary(temporaryDirs())
	if tmpErr == nil {
		return dir, cleanup, nil
	}
	return "", nil, fmt.Errorf("no directory for the cache: %v; %v; set %s to a writable directory",
		userErr, tmpErr, CacheDirVariable)
}

func temporaryDirs() []string { return []string{os.Getenv("TMPDIR"), "/tmp", "/var/tmp"} }

// openExplicit does not ask for write permission: a cache that was filled before may be read-only.
func openExplicit(dir string) error {
	err := errors.New("not an absolute path")
	if filepath.IsAbs(dir) {
		err = text(dir)
	}
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		err = executable(dir)
	}
	if err != nil {
		return fmt.Errorf("%s %q cannot be used: %w; set it to a writable directory or leave it out",
			CacheDirVariable, dir, cause(err))
	}
	return nil
}

// cause drops the path from an error's text where the text around it names the path already.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// openUser never creates a home directory: one that does not exist was not meant to.
func openUser() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(base) {
		return "", fmt.Errorf("user cache directory %q is not absolute", base)
	}
	if err := text(base); err != nil {
		return "", fmt.Errorf("user cache directory %q is %w", base, err)
	}
	if home := os.Getenv("HOME"); os.Getenv("XDG_CACHE_HOME") == "" && !isDir(home) {
		return "", fmt.Errorf("HOME %q is no directory", home)
	}
	dir := filepath.Join(base, cacheName)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	return dir, usable(dir)
}

// text says whether a path can cross to Python, in JSON.
func text(path string) error {
	if !utf8.ValidString(path) {
		return errors.New("not a path in UTF-8")
	}
	return nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// usable says whether files can be created in dir and libraries loaded from it.
func usable(dir string) error {
	if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
		return &fs.PathError{Op: "write", Path: dir, Err: err}
	}
	return executable(dir)
}

var errNoExec = errors.New("no program or library can be loaded from there (mounted noexec)")

func executable(dir string) error {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return &fs.PathError{Op: "statfs", Path: dir, Err: err}
	}
	if st.Flags&unix.ST_NOEXEC != 0 {
		return &fs.PathError{Op: "use", Path: dir, Err: errNoExec}
	}
	return nil
}

// openTemporary tries the given temporary directories in turn.
func openTemporary(candidates []string) (string, func() error, error) {
	var reasons []string
	for _, tmp := range candidates {
		if !filepath.IsAbs(tmp) || text(tmp) != nil {
			continue
		}
		if err := usable(tmp); err != nil {
			reasons = append(reasons, err.Error())
			continue
		}
		dir := filepath.Join(tmp, cacheName+"-"+strconv.Itoa(os.Getuid()))
		if ownPrivate(dir) == nil {
			return dir, nothing, nil
		}
		dir, err := os.MkdirTemp(tmp, cacheName+"-")
		if err == nil {
			return dir, func() error { return os.RemoveAll(dir) }, nil
		}
		reasons = append(reasons, err.Error())
	}
	return "", nil, errors.New(strings.Join(reasons, "; "))
}

// ownPrivate makes sure that dir is a directory of ours that nobody else can enter. Everybody may write
// where it lies, so whatever is there already may be somebody's trap.
func ownPrivate(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || int(st.Uid) != os.Getuid() || info.Mode().Perm() != 0o700 {
		return fmt.Errorf("%q is not a private directory of this user", dir)
	}
	return usable(dir)
}
