package descriptors

import (
	"os"

	"golang.org/x/sys/unix"
)

const (
	// atomicWrite is how much can be written to a writable pipe or socket without waiting, in bytes (PIPE_BUF).
	atomicWrite = 4096
	// smallestPipe is the usual capacity of a pipe, in bytes.
	smallestPipe = 64 << 10
)

// Outlet is a descriptor whose reader may be slow.
type Outlet struct {
	*os.File

	fd int
}

func newOutlet(file *os.File) *Outlet { return &Outlet{file, int(file.Fd())} }

// Takes reports whether a write of so many bytes does not have to wait for the reader.
func (o *Outlet) Takes(size int) bool { return canTake(o.fd, size) }

func canTake(fd, size int) bool {
	events := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
	// An error of the other end is for the write to find, which will not wait.
	if n, err := unix.Poll(events, 0); err != nil || n == 0 {
		return false
	}
	if size <= atomicWrite || events[0].Revents != unix.POLLOUT {
		return true
	}
	unread, err := unix.IoctlGetInt(fd, unix.TIOCINQ)
	capacity, notPipe := unix.FcntlInt(uintptr(fd), unix.F_GETPIPE_SZ, 0)
	return err == nil && notPipe == nil && unread == 0 && size <= min(capacity, smallestPipe)
}
