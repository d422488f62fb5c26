package main

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"ipython-mcp/internal/cpython"
)

// terminations reports SIGINT, SIGTERM and SIGHUP from other processes on the returned channel, which is closed at the first one. The
// channel to the interpreter keeps the routing in place, whatever handlers user code installs.
func terminations() (<-chan struct{}, error) {
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return nil, fmt.Errorf("cannot make the signal pipe: %v", err)
	}
	if err := unix.SetNonblock(pipe[1], true); err != nil {
		return nil, fmt.Errorf("cannot set up the signal pipe: %v", err)
	}
	cpython.GuardSignals(pipe[1])
	arrived := make(chan struct{})
	go func() {
		reports := os.NewFile(uintptr(pipe[0]), "signal reports")
		if n, _ := reports.Read(make([]byte, 1)); n > 0 {
			close(arrived)
		}
	}()
	return arrived, nil
}
