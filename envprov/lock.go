package envprov

import (
	"context"
	"os"
	"time"

	"github.com/gofrs/flock"
)

// lockPoll is how often a waiting start looks again.
const lockPoll = 20 * time.Millisecond

// lock takes the lock file at path, waiting for whoever holds it. The returned function removes the file and releases
// the lock, in this order: a process that got a lock on a file which is no longer at path got nothing, and tries again.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	for {
		l := newLock(path)
		if _, err := l.TryLockContext(ctx, lockPoll); err != nil {
			_ = l.Close()
			return nil, err
		}
		if stillAt(path, l) {
			return func() { removeLock(path, l) }, nil
		}
		_ = l.Close()
	}
}

// tryLock is lock without waiting; false where somebody else holds it or none can be taken.
func tryLock(path string) (unlock func(), ok bool) {
	l := newLock(path)
	if ok, err := l.TryLock(); err != nil || !ok || !stillAt(path, l) {
		_ = l.Close()
		return nil, false
	}
	return func() { removeLock(path, l) }, true
}

func newLock(path string) *flock.Flock {
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

// removeLock ignores its errors: a lock file that stays is a leftover that the next start removes.
func removeLock(path string, l *flock.Flock) {
	_ = os.Remove(path)
	_ = l.Close()
}
