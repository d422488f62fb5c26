package envprov

import "syscall"

// ownGroup puts a child into a process group of its own, and ends it with the thread that started it: when this process
// is killed, nothing goes on writing into its temporary directory.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
