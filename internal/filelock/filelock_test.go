package filelock

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

func TestLock_file(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	unlock, err := Lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := Try(path); ok {
		t.Error("locked twice")
	}
	if !exists(path) {
		t.Error("no lock file while locked")
	}
	unlock()
	if exists(path) {
		t.Error("the lock file is there after unlocking")
	}
}

// A lock on a file that is no longer at its path, or that another file replaced, is none.
func TestLock_replaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	l := open(path)
	defer l.Close()
	if ok, err := l.TryLock(); err != nil || !ok || !stillAt(path, l) {
		t.Fatalf("the lock is not at its path (%v)", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if stillAt(path, l) {
		t.Error("the lock counts after its file was removed")
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if stillAt(path, l) {
		t.Error("the lock counts after its file was replaced")
	}
}

// Many goroutines that lock and unlock never hold the lock together, although its file is removed each time.
func TestLock_hammer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	holders := make(chan struct{}, 1)
	done := make(chan error)
	const workers, turns = 6, 20
	for range workers {
		go func() { done <- hammer(t, path, holders, turns) }()
	}
	for range workers {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if exists(path) {
		t.Error("the lock file is there after all unlocked")
	}
}

func hammer(t *testing.T, path string, holders chan struct{}, turns int) error {
	for range turns {
		unlock, err := Lock(t.Context(), path)
		if err != nil {
			return err
		}
		select {
		case holders <- struct{}{}:
		default:
			t.Error("two hold the lock")
		}
		<-holders
		unlock()
	}
	return nil
}
