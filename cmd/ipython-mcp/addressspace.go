package main

import (
	"fmt"
	"io"

	"golang.org/x/sys/unix"
)

// enoughSpace is the address space, in bytes, in which a start works: Go, CPython and each thread reserve far more than
// they use.
const enoughSpace = 4 << 30

// warnOfLimit says that a limit of the address space may be too low: what then fails, and how, is a matter of chance.
func warnOfLimit(out io.Writer) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &limit); err == nil && limit.Cur < enoughSpace {
		fmt.Fprintf(out, "ipython-mcp: the address space is limited to %d MiB (ulimit -v), which may be too little; "+
			"lift the limit, or raise it to %d MiB\n", limit.Cur>>20, enoughSpace>>20)
	}
}
