package shell

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sync"
)

// maxFileBytes bounds all kept files together; the oldest go first.
const maxFileBytes = 256 << 20

// subtype is what of a MIME type can be the extension of a file.
var subtype = regexp.MustCompile(`^[^/]+/(?:x-)?([a-z0-9]{1,12})(?:$|;)`)

// files keeps binary payloads that are no images for user code and its user, in the scratch directory, until the end.
type files struct {
	directory string
	limit     int64 // bytes

	mu    sync.Mutex // guards everything below
	total int64      // bytes
	next  int
	order []keptFile // oldest first
}

type keptFile struct {
	path string
	size int64
}

// keep takes over a file of the directory and returns the path under which it can be read.
func (f *files) keep(path string, size int64, mime string) (string, error) {
	if size > f.limit {
		_ = os.Remove(path) // what cannot be removed goes with its directory
		return "", fmt.Errorf("files of up to %d bytes are kept", f.limit)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.total+size > f.limit {
		oldest := f.order[0]
		_ = os.Remove(oldest.path) // user code may have done it
		f.order, f.total = f.order[1:], f.total-oldest.size
	}
	f.next++
	kept := filepath.Join(f.directory, fmt.Sprintf("display-%d%s", f.next, extension(mime)))
	if err := os.Rename(path, kept); err != nil {
		return "", err
	}
	f.order, f.total = append(f.order, keptFile{kept, size}), f.total+size
	return kept, nil
}

func extension(mime string) string {
	found := subtype.FindStringSubmatch(mime)
	if found == nil {
		return ".bin"
	}
	return "." + found[1]
}
