package cpython

/*
// The program exports its symbols, so that its sigaction goes before the C library's.
#cgo LDFLAGS: -rdynamic -ldl -lpthread
#include <stdlib.h>
#include "bridge.h"
#include "combine.h"
#include "module.h"
#include "protect.h"
*/
import "C"

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"unsafe"
)

// errorSize is enough for the loader's message about two long paths.
const errorSize = 4096

// minimumMinor is the oldest supported Python 3: the oldest that the newest IPython runs on.
const minimumMinor = 11

// Library is a loaded libpython. It cannot be unloaded.
type Library struct {
	// Version is the version as in sys.version, up to the first space: "3.14.6".
	Version string

	table C.bridge_library
}

// Load opens the shared library at path and checks that its version is supported. The error is one line and says the way out.
func Load(path string) (*Library, error) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	message := (*C.char)(C.malloc(errorSize))
	defer C.free(unsafe.Pointer(message))

	library := &Library{}
	if C.bridge_load(name, &library.table, message, errorSize) != 0 {
		return nil, fmt.Errorf("cannot load the Python library %s: %s; choose an interpreter with a shared libpython",
			path, C.GoString(message))
	}
	described := C.GoString(C.bridge_version(&library.table))
	library.Version, _, _ = strings.Cut(described, " ")
	if strings.Contains(described, "free-threading") {
		return nil, fmt.Errorf("the Python library %s is a free-threaded build of %s, which is not supported; choose a regular build",
			path, library.Version)
	}
	return library, checkVersion(path, library.Version)
}

func checkVersion(path, version string) error {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) >= 2 && parts[0] == "3" {
		// A release candidate reads "3.15.0rc1": only the second part matters, and it is a number.
		if minor, err := strconv.Atoi(parts[1]); err == nil && minor >= minimumMinor {
			return nil
		}
	}
	return fmt.Errorf("the Python library %s is version %q; 3.%d or newer is needed", path, version, minimumMinor)
}

// Main runs the interpreter with the given command line, as the program args[0] would, and returns its exit status. It returns after
// CPython has finalized. Call it once, on the process's main thread.
func (l *Library) Main(args []string) int {
	argv := C.malloc(C.size_t(len(args)+1) * C.size_t(unsafe.Sizeof(uintptr(0))))
	// On the C heap and never freed: CPython keeps pointers into it until the process ends.
	vector := unsafe.Slice((**C.char)(argv), len(args)+1)
	for i, arg := range args {
		vector[i] = C.CString(arg)
	}
	vector[len(args)] = nil
	return int(C.bridge_main(&l.table, C.int(len(args)), (**C.char)(argv)))
}

// interrupt sends a signal to Python's thread, where it breaks system calls and reaches Python's own handler. It does nothing while no
// interpreter runs. [Channel.Interrupt] is the one that cannot hit a later request.
func interrupt() { C.bridge_interrupt() }

// ask sends a signal that the interpreter handles to Python's thread, and reports whether it could.
func ask(number int) bool { return C.bridge_ask(C.int(number)) == 0 }

// GuardSignals puts this package's handler in front of signals that end a process, and reports those that are to end the server as one
// byte each on the descriptor notify, which must not block. Call it once, before the interpreter starts; a [Channel] repairs it whenever user code
// may have replaced a handler. A SIGHUP that is ignored from the start (nohup) stays ignored.
func GuardSignals(notify int) { C.bridge_guard_signals(C.int(notify)) }

// repairGuard puts the handler of GuardSignals back. It does nothing before that was called.
func repairGuard() { C.bridge_repair_guard() }

// Protect keeps user code from every descriptor that this process has opened so far: for Python and C extensions, calls on them fail as if they
// were not open, so that no loop over all descriptors closes, replaces or writes to one. The interpreter may send and receive on its end of
// the channel, and use those that are lent to it. Forked children lose what they have no use for. Call it once, after everything that stays
// open is open, and before [Library.Main].
func Protect(channel *Channel, lent ...int) {
	numbers := make([]C.int, len(lent)+1)
	for i, fd := range lent {
		numbers[i] = C.int(fd)
	}
	C.protect_descriptors(C.int(channel.python), &numbers[0], C.int(len(lent)))
}

// Hide does the same for a file that is opened later, until reveal is called, which has to come before it is closed.
func Hide(file *os.File) (reveal func()) {
	fd := C.int(file.Fd())
	C.protect_hide(fd)
	return func() { C.protect_release(fd) }
}

// CloseOthers closes every descriptor but those that [Protect] and [Hide] keep, for a process that ends.
func CloseOthers() { C.protect_close_range(3, ^C.uint(0), 0) }

// FlushC flushes the C library's buffer of stdout, into which C extensions may have written.
func FlushC() { C.bridge_flush() }

// combineWrites collects small writes to descriptor 1 until the returned function is called, or, for a moment, flushCombined.
func combineWrites() (stop func()) {
	C.combine_begin()
	return func() { C.combine_end() }
}

func flushCombined() { C.combine_flush() }

// wakeBy has signals for Python add to an event descriptor.
func wakeBy(fd int) { C.bridge_wake_by(C.int(fd)) }

// isPythonThread reports whether the calling goroutine runs on Python's thread.
func isPythonThread() bool { return C.bridge_is_python_thread() != 0 }

// dispatch hands a request to Python on its own thread, which must be lent, and returns the reply with the descriptor that Python waits
// for then. C copies the request before Python runs; the reply is C's, and copied here.
func dispatch(request []byte) (reply []byte, descriptor int, replied bool) {
	var data *C.char
	var size C.size_t
	var awaited C.int
	begin := (*C.char)(unsafe.Pointer(unsafe.SliceData(request)))
	if C.module_dispatch(begin, C.size_t(len(request)), &data, &size, &awaited) != 0 {
		return nil, 0, false
	}
	defer C.free(unsafe.Pointer(data))
	return C.GoBytes(unsafe.Pointer(data), C.int(size)), int(awaited), true
}

// aside lets Python use its lent thread until the descriptor is readable.
func aside(descriptor int) { C.module_aside(C.int(descriptor)) }

// C calls these two on Python's thread, without the GIL.

//export ipymcpLent
func ipymcpLent(descriptor C.int) { runLent(int(descriptor)) }

//export ipymcpEmitted
func ipymcpEmitted(frame *C.char, size C.size_t) {
	lent.take(C.GoBytes(unsafe.Pointer(frame), C.int(size)))
}
