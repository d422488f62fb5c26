// Package children ends the processes that user code started and left behind.
//
// A process counts as left behind when it is in this process's session and descends from it: by its chain of parents, by the token that
// it inherited in its environment, or by a capture pipe that it holds as descriptor 1 or 2. The last two find
// processes whose parent has already gone (`sleep 300 &` in a shell). Processes that were put into a session of their own are left alone.
//
// Everything is read from /proc. The functions may be called from any goroutine.
package children

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// tokenVariable marks the descendants of one server. Children inherit it; it means nothing else.
const tokenVariable = "IPYTHON_MCP_INSTANCE"

// pollInterval is how often End looks whether the processes it signalled have gone.
const pollInterval = 5 * time.Millisecond

// Family finds and ends descendants of this process.
type Family struct {
	self  int
	token string // NAME=value, as it stands in /proc/PID/environ
	pipes map[string]bool
}

// Mark puts a new token into this process's environment and returns the family of processes that will carry it. pipes are the inodes of
// the capture pipes. Call it before the first child can start.
func Mark(pipes [2]uint64) (*Family, error) {
	value := rand.Text()
	if err := os.Setenv(tokenVariable, value); err != nil {
		return nil, fmt.Errorf("cannot set the variable %s: %v", tokenVariable, err)
	}
	f := &Family{self: os.Getpid(), token: tokenVariable + "=" + value, pipes: map[string]bool{}}
	for _, inode := range pipes {
		f.pipes[fmt.Sprintf("pipe:[%d]", inode)] = true
	}
	return f, nil
}

// End asks every process left behind to terminate, waits up to grace for it, and kills what remains. It returns how many it signalled.
func (f *Family) End(grace time.Duration) int {
	left := f.find()
	for _, p := range left {
		p.signal(unix.SIGTERM)
	}
	for deadline := time.Now().Add(grace); len(left) > 0 && time.Now().Before(deadline) && anyAlive(left); {
		time.Sleep(pollInterval)
	}
	// Looked up anew: a process may have forked between the two signals.
	for _, p := range f.find() {
		p.signal(unix.SIGKILL)
	}
	return len(left)
}

// ticksPerSecond is the unit of start times in /proc, the same on every Linux.
const ticksPerSecond = 100

// Interrupt sends SIGINT to the processes left behind that have begun since the given moment, as a terminal does to a whole foreground
// group: C's system() ignores the signal while it waits for a child, and a shell waits for its commands.
func (f *Family) Interrupt(since time.Time) {
	var boot unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot); err != nil {
		return
	}
	// A tick earlier, because start times are rounded down.
	earliest := (boot.Nano()-time.Since(since).Nanoseconds())*ticksPerSecond/int64(time.Second) - 1
	for _, p := range f.find() {
		if started, err := strconv.ParseInt(p.started, 10, 64); err == nil && started >= earliest {
			p.signal(unix.SIGINT)
		}
	}
}

func anyAlive(processes []process) bool {
	for _, p := range processes {
		if now, ok := readProcess(p.pid); ok && now.started == p.started {
			return true
		}
	}
	return false
}

// process is one line of /proc. Zombies are never represented: they have ended.
type process struct {
	pid, parent, session int
	started              string // clock ticks since boot; tells a reused pid apart
}

// find lists the descendants in this process's session.
func (f *Family) find() []process {
	all := map[int]process{}
	entries, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		if pid, err := strconv.Atoi(filepath.Base(entry)); err == nil {
			if p, ok := readProcess(pid); ok {
				all[pid] = p
			}
		}
	}
	session := all[f.self].session
	var found []process
	for _, p := range all {
		if p.pid != f.self && p.session == session && (f.descends(p, all) || f.carriesMark(p.pid)) {
			found = append(found, p)
		}
	}
	return found
}

// descends follows the parents up. A cycle is impossible, but pids may be reused while /proc is read: the walk is bounded.
func (f *Family) descends(p process, all map[int]process) bool {
	for range len(all) {
		if p.parent == f.self {
			return true
		}
		parent, ok := all[p.parent]
		if !ok {
			return false
		}
		p = parent
	}
	return false
}

func (f *Family) carriesMark(pid int) bool {
	directory := fmt.Sprintf("/proc/%d/", pid)
	// Other users' processes cannot be read, and are none of this family.
	environment, _ := os.ReadFile(directory + "environ")
	for variable := range bytes.SplitSeq(environment, []byte{0}) {
		if string(variable) == f.token {
			return true
		}
	}
	for _, number := range []string{"1", "2"} {
		if target, err := os.Readlink(directory + "fd/" + number); err == nil && f.pipes[target] {
			return true
		}
	}
	return false
}

// readProcess reads /proc/PID/stat; false for a process that has gone or is a zombie.
func readProcess(pid int) (process, bool) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, false
	}
	return parseStat(pid, string(raw))
}

// parseStat reads the fields after the command name, which is in parentheses and may itself contain any character.
func parseStat(pid int, stat string) (process, bool) {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	const state, parent, session, started = 0, 1, 3, 19
	if len(fields) <= started || fields[state] == "Z" || fields[state] == "X" {
		return process{}, false
	}
	p := process{pid: pid, started: fields[started]}
	var err1, err2 error
	p.parent, err1 = strconv.Atoi(fields[parent])
	p.session, err2 = strconv.Atoi(fields[session])
	return p, err1 == nil && err2 == nil
}

// signal reaches exactly the process that was read, even if its pid has been reused since.
func (p process) signal(number unix.Signal) {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if now, ok := readProcess(p.pid); ok && now.started == p.started {
		// It may end by itself at this moment: that is what is wanted.
		_ = unix.PidfdSendSignal(fd, number, nil, 0)
	}
}
