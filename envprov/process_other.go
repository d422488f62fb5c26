//go:build !linux

package envprov

import (
	"os/exec"
	"syscall"
)

// ownGroup puts a child into a process group of its own.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func startUnblocked(command *exec.Cmd) error { return command.Start() }
