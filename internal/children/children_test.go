package children

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	rest := " S 12 34 56 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 777 1 1"
	for _, test := range []struct {
		name, stat string
		want       process
		ok         bool
	}{
		{"plain", "9 (sleep)" + rest, process{9, 12, 56, "777"}, true},
		{"name with parentheses and spaces", "9 (a) R 1 (b)" + rest, process{9, 12, 56, "777"}, true},
		{"zombie", "9 (sleep)" + strings.Replace(rest, " S ", " Z ", 1), process{}, false},
		{"cut", "9 (sleep) S 12", process{}, false},
		{"empty", "", process{}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got, ok := parseStat(9, test.stat); got != test.want || ok != test.ok {
				t.Errorf("parseStat(%q) = %v, %v", test.stat, got, ok)
			}
		})
	}
}

// TestEnd starts one process of each kind and looks which of them survive.
func TestEnd(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	defer write.Close()
	info, err := write.Stat()
	if err != nil {
		t.Fatal(err)
	}
	inode := info.Sys().(*syscall.Stat_t).Ino
	for _, test := range []struct {
		name    string
		script  string // prints the pid to look at
		session bool   // in a session of its own
		dies    bool
	}{
		{"direct child", "echo $$ >&3; exec sleep 60", false, true},
		{"orphan with the token", "sleep 60 >/dev/null 2>&1 & echo $! >&3", false, true},
		{"orphan with the pipe, token gone", "env -i sleep 60 & echo $! >&3", false, true},
		{"ignores SIGTERM", "trap '' TERM; echo $$ >&3; while :; do sleep 1; done", false, true},
		{"own session", "echo $$ >&3; exec sleep 60", true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			family, err := Mark([2]uint64{inode, inode})
			if err != nil {
				t.Fatal(err)
			}
			answer, pidPipe, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			command := exec.Command("sh", "-c", test.script)
			command.Stdout, command.Stderr, command.ExtraFiles = write, write, []*os.File{pidPipe}
			command.SysProcAttr = &syscall.SysProcAttr{Setsid: test.session}
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			pidPipe.Close()
			line := make([]byte, 32)
			n, err := answer.Read(line)
			if err != nil {
				t.Fatal(err)
			}
			pid := atoi(t, strings.TrimSpace(string(line[:n])))
			before, alive := readProcess(pid)
			if !alive {
				t.Fatalf("process %d did not start", pid)
			}
			family.End(100 * time.Millisecond)
			if test.dies {
				go command.Wait()
				for anyAlive([]process{before}) { // SIGKILL is sent; this waits for the kernel, or fails by the test's time limit
					time.Sleep(pollInterval)
				}
				return
			}
			if !anyAlive([]process{before}) {
				t.Error("a process in a session of its own was ended")
			}
			command.Process.Kill()
			command.Wait()
		})
	}
}

func hasChild(pid int) bool {
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	return len(children) > 0
}

func atoi(t *testing.T, text string) int {
	t.Helper()
	n := 0
	for _, digit := range text {
		n = n*10 + int(digit-'0')
	}
	if n == 0 {
		t.Fatalf("no pid in %q", text)
	}
	return n
}

// TestInterrupt reaches only processes that were started since the moment, children of children too.
func TestInterrupt(t *testing.T) {
	family, err := Mark([2]uint64{})
	if err != nil {
		t.Fatal(err)
	}
	start := func() *exec.Cmd {
		command := exec.Command("sh", "-c", "sleep 60; exit 3") // waits for its child
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		return command
	}
	older := start()
	time.Sleep(5 * time.Second / ticksPerSecond) // start times are this coarse
	moment := time.Now()
	newer := start()
	for !hasChild(newer.Process.Pid) {
		time.Sleep(pollInterval)
	}
	family.Interrupt(moment)
	if err := newer.Wait(); err == nil || err.Error() != "signal: interrupt" {
		t.Errorf("the newer child ended with %v", err)
	}
	if p, alive := readProcess(older.Process.Pid); !alive {
		t.Errorf("the older child was interrupted: %v", p)
	}
	older.Process.Kill()
	older.Wait()
}
