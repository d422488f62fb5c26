package main

import (
	"fmt"
	"os"
	"strings"
)

// What Linux says of a process's memory. All amounts are in bytes.

// resident is what is in memory now.
func resident(pid int) (int64, error) { return status(pid, "VmRSS") }

// peakResident is the most that was in memory since resetPeak.
func peakResident(pid int) (int64, error) { return status(pid, "VmHWM") }

func resetPeak(pid int) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
}

func status(pid int, field string) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		var kilobytes int64
		if rest, found := strings.CutPrefix(line, field+":"); found {
			if _, err := fmt.Sscanf(rest, "%d kB", &kilobytes); err != nil {
				return 0, fmt.Errorf("the kernel says %q: %w", line, err)
			}
			return kilobytes << 10, nil
		}
	}
	return 0, fmt.Errorf("the kernel says nothing about %s of process %d", field, pid)
}
