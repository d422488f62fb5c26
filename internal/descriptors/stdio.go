package descriptors

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// firstPrivate is the lowest number of a private descriptor, out of the way of code that closes or reuses small numbers.
const firstPrivate = 200

// pipeCapacity is asked of the kernel for each capture pipe, in bytes: the most that an unprivileged process gets by default.
const pipeCapacity = 1 << 20

// Stdio holds the original descriptors and what stands in their place.
type Stdio struct {
	// In, Out and Log are the original descriptors 0, 1 and 2, close-on-exec. In and Out belong to the MCP protocol, Log to log lines and crash
	// reports.
	In, Log *os.File
	Out     *Outlet

	null           int // /dev/null, for descriptor 0
	stdout, stderr *capture
}

// Take moves descriptors 0, 1 and 2 and starts draining. Until the first Redirect, output is discarded. Call it once, before CPython or
// any child process starts.
func Take() (*Stdio, error) {
	var originals [3]*os.File
	for number := range originals {
		private, err := duplicate(number)
		if err != nil {
			return nil, err
		}
		originals[number] = os.NewFile(uintptr(private), fmt.Sprintf("original descriptor %d", number))
	}
	s := &Stdio{In: originals[0], Out: newOutlet(originals[1]), Log: originals[2]}
	null, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot open %s: %v", os.DevNull, err)
	}
	if s.null, err = duplicate(null); err != nil {
		return nil, err
	}
	if err := unix.Close(null); err != nil {
		return nil, fmt.Errorf("cannot close descriptor %d: %v", null, err)
	}
	if s.stdout, err = newCapture(1); err != nil {
		return nil, err
	}
	if s.stderr, err = newCapture(2); err != nil {
		return nil, err
	}
	return s, s.Restore()
}

func duplicate(fd int) (int, error) {
	private, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, firstPrivate)
	if err == unix.EINVAL { // the limit of open files is lower
		private, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	}
	if err != nil {
		return -1, fmt.Errorf("cannot duplicate descriptor %d: %v", fd, err)
	}
	return private, nil
}

// Restore puts /dev/null and the pipes back on descriptors 0, 1 and 2 where user code closed or replaced them, and makes writing to
// the pipes blocking again where a child process changed that.
func (s *Stdio) Restore() error {
	if err := place(s.null, 0); err != nil {
		return err
	}
	if err := s.stdout.restore(); err != nil {
		return err
	}
	return s.stderr.restore()
}

// place makes descriptor number refer to the same open file as private, if it does not yet.
func place(private, number int) error {
	var want, have unix.Stat_t
	if err := unix.Fstat(private, &want); err != nil {
		return fmt.Errorf("user code closed the private descriptor %d: %v", private, err)
	}
	if err := unix.Fstat(number, &have); err == nil && have.Dev == want.Dev && have.Ino == want.Ino {
		return nil
	}
	if err := unix.Dup3(private, number, 0); err != nil {
		return fmt.Errorf("cannot restore descriptor %d: %v", number, err)
	}
	return nil
}

// Redirect sends what was written so far to the writers of before, and everything later to these.
func (s *Stdio) Redirect(stdout, stderr io.Writer) {
	s.stdout.redirect(stdout)
	s.stderr.redirect(stderr)
}

// Drain sends what was written so far to the writers of now.
func (s *Stdio) Drain() {
	s.stdout.drain()
	s.stderr.drain()
}

// PipeInodes identifies the two capture pipes as /proc shows them ("pipe:[INODE]"): a process that holds one of them open was started by
// this one or its children.
func (s *Stdio) PipeInodes() [2]uint64 { return [2]uint64{s.stdout.inode, s.stderr.inode} }
