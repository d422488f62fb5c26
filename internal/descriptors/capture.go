package descriptors

import (
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// readSize is the buffer of one read, in bytes: a full pipe, since collectors take it faster in one piece.
	readSize = pipeCapacity
	// pause lets a pipe fill between two reads. Without it, a program that writes line by line pays for waking the drain at each line.
	pause = time.Millisecond
	// rush is how many bytes in the pipe allow no pause: it would be full before the pause ends, and the program would wait.
	rush = pipeCapacity / 4
)

// capture is one pipe in place of descriptor 1 or 2.
type capture struct {
	number int
	write  int // private duplicate of the writing end, to restore from
	read   int // reading end, non-blocking
	inode  uint64

	mu     sync.Mutex // guards sink and buffer, and makes read-and-deliver one step
	sink   io.Writer
	buffer []byte
}

// newCapture makes the pipe and starts its drain goroutine, which lives as long as the process.
func newCapture(number int) (*capture, error) {
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
		return nil, fmt.Errorf("cannot make the capture pipe of descriptor %d: %v", number, err)
	}
	c := &capture{number: number, sink: io.Discard, buffer: make([]byte, readSize)}
	for i, private := range []*int{&c.read, &c.write} {
		var err error
		if *private, err = duplicate(ends[i]); err != nil {
			return nil, err
		}
		if err := unix.Close(ends[i]); err != nil {
			return nil, fmt.Errorf("cannot close descriptor %d: %v", ends[i], err)
		}
	}
	if err := unix.SetNonblock(c.read, true); err != nil {
		return nil, fmt.Errorf("cannot set up the capture pipe of descriptor %d: %v", number, err)
	}
	// The default capacity of 64 KiB works too, only slower: a refusal is no error.
	_, _ = unix.FcntlInt(uintptr(c.write), unix.F_SETPIPE_SZ, pipeCapacity)
	var stat unix.Stat_t
	if err := unix.Fstat(c.read, &stat); err != nil {
		return nil, fmt.Errorf("cannot examine the capture pipe of descriptor %d: %v", number, err)
	}
	c.inode = stat.Ino
	go c.run()
	return c, nil
}

func (c *capture) restore() error {
	if err := place(c.write, c.number); err != nil {
		return err
	}
	// The mode belongs to the pipe's end, which children share: one that makes its own stdout non-blocking makes everybody's so.
	if err := unix.SetNonblock(c.write, false); err != nil {
		return fmt.Errorf("cannot make descriptor %d blocking again: %v", c.number, err)
	}
	return nil
}

// run delivers what arrives while nobody asks. It waits in a system call of its own and not in the runtime's poller, which every
// single write to the pipe would wake.
func (c *capture) run() {
	events := []unix.PollFd{{Fd: int32(c.read), Events: unix.POLLIN}}
	for {
		if _, err := unix.Poll(events, -1); err != nil && err != unix.EINTR {
			return
		}
		if events[0].Revents&unix.POLLNVAL != 0 {
			return
		}
		if c.drain() < rush {
			time.Sleep(pause)
		}
	}
}

// drain delivers what is in the pipe now, and returns its size in bytes. What is written meanwhile may stay, so that an endless writer
// cannot hold the caller.
func (c *capture) drain() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.drainLocked()
}

func (c *capture) drainLocked() int {
	waiting, err := unix.IoctlGetInt(c.read, unix.TIOCINQ)
	if err != nil {
		return 0
	}
	delivered := 0
	for delivered < waiting {
		n, err := unix.Read(c.read, c.buffer)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			break
		}
		// Writers are collectors in memory; one that fails has nowhere to report to, and draining must go on.
		_, _ = c.sink.Write(c.buffer[:n])
		delivered += n
	}
	return delivered
}

func (c *capture) redirect(sink io.Writer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drainLocked()
	c.sink = sink
}
