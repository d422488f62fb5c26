// Package filelock locks a path between processes, with a lock file that is there only while somebody holds it.
//
// A lock goes with its process: what is left behind by a killed one is free, and the next holder removes the file. The functions may be
// called from any goroutine, and from any number of processes on one path.
package filelock

import (
	"context"
	"os"
	"time"

	"github.com/gofrs/flock"
)

// poll is how often a waiting process looks again.
const poll = 20 * time.Millisecond

// Lock takes the lock file at path, waiting for whoever holds it. The returned function removes the file
// and releases the lock, in this order: a process that got a lock on a file which is no longer at path got
// nothing, and tries again.
func Lock(ctx context.Context, path string) (unlock func(), err error) {
	for {
		l := open(path)
		if _, err := l.TryLockContext(ctx, poll); err != nil {
			_ = l.Close()
			return nil, err
		}
		if stillAt(path, l) {
			return func() { remove(path, l) }, nil
		}
		_ = l.Close()
	}
}

// Try is Lock without waiting. It reports false where somebody else holds the lock and where none can
// be taken.
func Try(path string) (unlock func(), ok bool) {
	l := open(path)
	if ok, err := l.TryLock(); err != nil || !ok || !stillAt(path, l) {
		_ = l.Close()
		return nil, false
	}
	return func() { remove(path, l) }, true
}

func open(path string) *flock.Flock {
	return flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
}

func stillAt(path string, l *flock.Flock) bool {
	held, err := l.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(path)
	return err == nil && os.SameFile(held, there)
}

// remove ignores its errors: a lock file that stays is a leftover that the next start removes.
func remove(path string, l *flock.Flock) {
	_ = os.Remove(path)
	_ = l.Close()
}
