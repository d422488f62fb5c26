package cpython

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"ipython-mcp/internal/beat"
)

// maximumFrame bounds what a reply may claim to be long, so that a damaged header is an error and not an allocation: 1 GiB.
const maximumFrame = 1 << 30

// ErrClosed is returned by Call, Send and Receive when the interpreter's end of the channel is gone.
var ErrClosed = errors.New("the Python interpreter has ended")

// Channel carries frames between goroutines and the interpreter: an 8-byte big-endian length, then that many bytes. Receive is for the
// frame that the interpreter sends by itself at its start; after that, each Call writes one request and reads frames up to its reply.
type Channel struct {
	python  int // the interpreter's descriptor; close-on-exec, owned by Python once Main runs
	signals int // readable when a signal has come that Python handles

	exchange sync.Mutex // one Call at a time
	writing  sync.Mutex // one frame at a time
	file     *os.File

	guards *beat.Beat  // guard, while requests run
	up     atomic.Bool // the interpreter has sent a frame

	state   sync.Mutex // guards waiting
	waiting bool       // a request is with Python and its reply has not been read
}

// NewChannel makes a connected pair of descriptors, both close-on-exec.
func NewChannel() (*Channel, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot make the channel to the Python interpreter: %v", err)
	}
	signals, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("cannot make the event that signals for Python cause: %v", err)
	}
	wakeBy(signals)
	// Blocking: a thread that waits in the read itself is woken with less ado than one that the runtime's poller wakes.
	c := &Channel{python: pair[1], signals: signals, file: os.NewFile(uintptr(pair[0]), "python-channel")}
	c.guards = beat.New(guardInterval, c.guard)
	return c, nil
}

// PythonFD is the descriptor number that the interpreter reads requests from and writes replies to.
func (c *Channel) PythonFD() int { return c.python }

// Receive waits for one frame. It fails with ErrClosed when the interpreter ends first.
func (c *Channel) Receive() ([]byte, error) {
	var header [8]byte
	if _, err := io.ReadFull(c.file, header[:]); err != nil {
		return nil, ErrClosed
	}
	length := binary.BigEndian.Uint64(header[:])
	if length > maximumFrame {
		return nil, fmt.Errorf("the Python interpreter announced a frame of %d bytes; at most %d are allowed", length, maximumFrame)
	}
	frame := make([]byte, length)
	if _, err := io.ReadFull(c.file, frame); err != nil {
		return nil, ErrClosed
	}
	c.up.Store(true)
	return frame, nil
}

// Call sends one request and hands over the frames that Python sends then, until take says that one was the reply, however long Python takes.
// It may be called from any goroutine; calls do not overlap.
func (c *Channel) Call(request []byte, take func(frame []byte) (last bool)) error {
	c.exchange.Lock()
	defer c.exchange.Unlock()
	c.setWaiting(true)
	defer c.setWaiting(false)
	c.guards.Start()
	defer repairGuard()
	defer combineWrites()()

	if isPythonThread() {
		return callHere(request, take)
	}
	if err := c.Send(request); err != nil {
		return err
	}
	for {
		frame, err := c.Receive()
		FlushC()
		if err != nil {
			return err
		}
		if take(frame) {
			return nil
		}
	}
}

// Send writes one frame. Beside the requests of Call, these are answers to what Python asks before its reply. It may be called from any
// goroutine, and blocks while Python does not read.
func (c *Channel) Send(frame []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	whole := make([]byte, 8, 8+len(frame))
	binary.BigEndian.PutUint64(whole, uint64(len(frame)))
	if _, err := c.file.Write(append(whole, frame...)); err != nil {
		return ErrClosed
	}
	return nil
}

// guardInterval is how often the signal handlers are put back while user code may be replacing them, and how long output is collected.
const guardInterval = 20 * time.Millisecond

// guard does what is due while a request runs. Late, after its end, it does no harm.
func (c *Channel) guard() (busy bool) {
	if busy = c.isWaiting(); busy {
		repairGuard()
		flushCombined()
	}
	return busy
}

func (c *Channel) isWaiting() bool {
	c.state.Lock()
	defer c.state.Unlock()
	return c.waiting
}

func (c *Channel) setWaiting(waiting bool) {
	c.state.Lock()
	defer c.state.Unlock()
	c.waiting = waiting
}

// Interrupt raises KeyboardInterrupt in the request that runs now and reports whether there was one. The signal is sent under the lock
// that the end of a Call takes, so it can never reach a later request: Python has seen it before the next one is written.
func (c *Channel) Interrupt() bool {
	c.state.Lock()
	defer c.state.Unlock()
	if c.waiting {
		interrupt()
	}
	return c.waiting
}

// Finish tells the interpreter that no request will follow: it leaves its loop and finalizes. Call it while no Call runs, or the running
// one will be the last.
func (c *Channel) Finish() error {
	raw, err := c.file.SyscallConn()
	if err != nil {
		return err
	}
	var shut error
	if err := raw.Control(func(fd uintptr) { shut = unix.Shutdown(int(fd), unix.SHUT_WR) }); err != nil {
		return err
	}
	return shut
}
