package descriptors

import (
	"fmt"
	"os"
	"sync"
)

// maxWaiting bounds the log lines that wait for a reader, in bytes.
const maxWaiting = 256 << 10

// Log writes log lines to a descriptor that perhaps nobody reads, which must not hold up whoever logs. Lines wait for the reader
// up to a bound; more are dropped, and counted in a line of their own once there is room.
type Log struct {
	outlet *Outlet

	mu      sync.Mutex
	waiting [][]byte // whole lines; written by a goroutine that ends when there are none
	size    int      // of all that wait, in bytes
	writing bool     // there is that goroutine
	dropped int      // lines since the last line that tells of it
}

// NewLog makes a log of a file, which stays the caller's.
func NewLog(file *os.File) *Log { return &Log{outlet: newOutlet(file)} }

// Write takes one line, or whole lines, and never waits. It never fails: nobody could be told.
func (l *Log) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !l.writing && l.outlet.Takes(len(line)):
		_, _ = l.outlet.Write(line)
	case l.size+len(line) > maxWaiting:
		l.dropped++
	default:
		l.waiting, l.size = append(l.waiting, append([]byte(nil), line...)), l.size+len(line)
		if !l.writing {
			l.writing = true
			go l.writeWaiting()
		}
	}
	return len(line), nil
}

func (l *Log) writeWaiting() {
	for line := l.next(); line != nil; line = l.next() {
		_, _ = l.outlet.Write(line)
	}
}

// next takes the line that has waited longest, and ends the writing where there is none.
func (l *Log) next() (line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case len(l.waiting) > 0:
		line, l.waiting = l.waiting[0], l.waiting[1:]
		l.size -= len(line)
	case l.dropped > 0:
		line = fmt.Appendf(nil, "%d log lines were dropped here: nobody was reading stderr\n", l.dropped)
		l.dropped = 0
	default:
		l.waiting, l.writing = nil, false
	}
	return line
}
