#define _GNU_SOURCE
#include "combine.h"
#include "front.h"
#include "protect.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* What was written must come out in the order in which it was written, whoever wrote it. The program's own `write` goes before the C
 * library's, and C's stdout is a stream that calls it, so all that this process writes to descriptor 1 comes by, and is collected. What is
 * collected is written out before anything that could write past it, or make another process write: other output calls, changes of
 * descriptors. Child processes can be told to write in ways that nobody sees (semaphores, shared memory): while there is one, nothing is
 * collected. Where native code gets hold of the C library's own functions (ctypes), nothing is collected any more. */

enum { COLLECTED_BYTES = 64 << 10 };

static char collected[COLLECTED_BYTES];
static atomic_size_t size;      /* changed under the lock only */
static atomic_int collecting;   /* between combine_begin and combine_end, while descriptor 1 is the capture pipe and there are no children */
static atomic_int watched;      /* CPython reports what could write past this file */
static atomic_int bypassed;     /* native code may do that; for good */
static atomic_int process;      /* the server's id: a child made by vfork shares this memory */
static atomic_flag lock = ATOMIC_FLAG_INIT; /* held for the time of a copy, or of a write where the pipe is full */
/* This thread has the lock, or waits for it: a signal handler that writes must not wait for it. */
static __thread int holding __attribute__((tls_model("initial-exec")));
static struct stat captured[2]; /* the pipes that descriptors 1 and 2 were at the start */
static FILE *c_stdout;          /* C's stdout while it is ours; NULL before combine_prepare */
static bridge_library python;   /* valid where c_stdout is not NULL */

/* `holding` is set first and cleared last, so that a signal handler of this thread finds it set whenever the lock is taken. */
static void acquire(void) {
	holding = 1;
	while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire)) {
		usleep(20);
	}
}

static void release(void) {
	atomic_flag_clear_explicit(&lock, memory_order_release);
	holding = 0;
}

/* Whether descriptor 1 or 2 is the pipe that the server drains. */
static int is_captured(int fd) {
	struct stat now, *pipe = &captured[fd - STDOUT_FILENO];
	return fstat(fd, &now) == 0 && now.st_dev == pipe->st_dev && now.st_ino == pipe->st_ino;
}

/* Writes to descriptor 1 or 2. A capture pipe takes all of it, also where a signal comes in between or somebody made it non-blocking:
 * Python's text layer would drop what a single call leaves. What user code put in its place may never do so, and behaves as it does. */
static ssize_t write_stream(int fd, const char *data, size_t length) {
	for (size_t done = 0;;) {
		long written = syscall(SYS_write, fd, data + done, length - done);
		int reason = written < 0 ? errno : 0;
		done += written > 0 ? (size_t)written : 0;
		if (done == length) {
			return (ssize_t)length;
		}
		if ((reason != 0 && reason != EINTR && reason != EAGAIN) || !is_captured(fd)) {
			errno = reason;
			return done > 0 || reason == 0 ? (ssize_t)done : -1;
		}
		if (reason == EAGAIN) {
			struct pollfd writable = {.fd = fd, .events = POLLOUT};
			poll(&writable, 1, -1);
		}
	}
}

/* Call it with the lock. A failure has nobody to hear of it. */
static void write_out(void) {
	int saved = errno;
	if (atomic_load(&size) > 0) {
		(void)write_stream(STDOUT_FILENO, collected, atomic_load(&size));
	}
	atomic_store(&size, 0);
	errno = saved;
}

void combine_flush(void) {
	if (atomic_load_explicit(&size, memory_order_relaxed) == 0 || holding || (int)syscall(SYS_getpid) != atomic_load(&process)) {
		return;
	}
	acquire();
	write_out();
	release();
}

/* For the rest of the request. Nothing that another thread is just collecting stays behind. */
static void stop(void) {
	atomic_store(&collecting, 0);
	if (!holding) {
		acquire();
		write_out();
		release();
	}
}

void combine_end(void) { stop(); }

static void bypass(void) {
	atomic_store(&bypassed, 1);
	stop();
}

/* Descriptors of this range are about to become something else. */
static void leave(unsigned first, unsigned last) {
	if (first <= STDOUT_FILENO && STDOUT_FILENO <= last && (int)syscall(SYS_getpid) == atomic_load(&process)) {
		stop();
	}
}

/* Collects, and reports whether it did. */
static int collect(const char *data, size_t length) {
	int taken = 0;
	acquire();
	if (atomic_load_explicit(&collecting, memory_order_relaxed)) {
		size_t before = atomic_load_explicit(&size, memory_order_relaxed);
		if (before + length > COLLECTED_BYTES) {
			write_out();
			before = 0;
		}
		memcpy(collected + before, data, length);
		atomic_store_explicit(&size, before + length, memory_order_relaxed);
		taken = 1;
	}
	release();
	return taken;
}

int combine_is_collecting(void) { return atomic_load_explicit(&collecting, memory_order_relaxed) && !holding; }

int combine_collect(const char *data, size_t length) {
	return length < COMBINE_MOST && combine_is_collecting() && collect(data, length);
}

ssize_t write(int fd, const void *data, size_t length) {
	if (fd == STDOUT_FILENO && combine_collect(data, length)) {
		return (ssize_t)length;
	}
	REFUSE(fd, TO_USE);
	combine_flush();
	if ((fd == STDOUT_FILENO || fd == STDERR_FILENO) && atomic_load_explicit(&process, memory_order_relaxed) != 0 && length > 0) {
		return write_stream(fd, data, length);
	}
	return syscall(SYS_write, fd, data, length);
}

IN_FRONT_OF(ssize_t, writev, (int fd, const struct iovec *parts, int count), (fd, parts, count), REFUSE(fd, TO_USE); combine_flush())
IN_FRONT_OF(ssize_t, send, (int fd, const void *data, size_t length, int flags), (fd, data, length, flags),
	REFUSE(fd, TO_TALK); combine_flush())
IN_FRONT_OF(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags), (fd, message, flags), REFUSE(fd, TO_USE); combine_flush())
IN_FRONT_OF(ssize_t, splice, (int in, off64_t *from, int out, off64_t *to, size_t length, unsigned flags),
	(in, from, out, to, length, flags), REFUSE(in, TO_USE); REFUSE(out, TO_USE); combine_flush())
IN_FRONT_OF(ssize_t, sendfile, (int out, int in, off_t *offset, size_t count), (out, in, offset, count),
	REFUSE(in, TO_USE); REFUSE(out, TO_USE); combine_flush())
IN_FRONT_OF(ssize_t, sendfile64, (int out, int in, off64_t *offset, size_t count), (out, in, offset, count),
	REFUSE(in, TO_USE); REFUSE(out, TO_USE); combine_flush())
IN_FRONT_OF(int, kill, (pid_t pid, int number), (pid, number), combine_flush())
IN_FRONT_OF(int, system, (const char *command), (command), stop())
IN_FRONT_OF(FILE *, popen, (const char *command, const char *mode), (command, mode), stop())
IN_FRONT_OF(int, dup2, (int from, int to), (from, to), REFUSE(from, TO_USE); REFUSE(to, TO_CHANGE); leave(to, to))
IN_FRONT_OF(int, dup3, (int from, int to, int flags), (from, to, flags),
	REFUSE(from, TO_USE); REFUSE(to, TO_CHANGE); leave(to, to))
IN_FRONT_OF(int, close, (int fd), (fd), REFUSE(fd, TO_CHANGE); leave(fd, fd))
int close_range(unsigned first, unsigned last, int flags) {
	leave(first, last);
	return protect_close_range(first, last, flags);
}

/* C's stdout has no descriptor of its own, but programs ask for it. */
IN_FRONT_OF(int, fileno, (FILE *stream), (stream), if (stream == c_stdout && stream != NULL) return STDOUT_FILENO)
IN_FRONT_OF(int, fileno_unlocked, (FILE *stream), (stream), if (stream == c_stdout && stream != NULL) return STDOUT_FILENO)

static ssize_t write_c_stdout(void *cookie, const char *data, size_t length) {
	(void)cookie;
	return write(STDOUT_FILENO, data, length);
}

static void before_fork(void) {
	acquire();
	atomic_store(&collecting, 0);
	write_out();
}

static void in_parent(void) { release(); }

static void in_child(void) {
	atomic_store(&process, 0);
	release();
}

/* CPython's audit events. Returns 0: nothing is forbidden. */
static int audit(const char *event, void *arguments, void *data) {
	(void)arguments;
	(void)data;
	if (strcmp(event, "ctypes.dlsym") == 0 || strcmp(event, "ctypes.dlsym/handle") == 0) {
		bypass();
	} else if (strcmp(event, "subprocess.Popen") == 0 || strcmp(event, "os.posix_spawn") == 0) {
		stop(); /* they may not come by fork */
	}
	return 0;
}

/* Runs with the GIL, on CPython's main thread. */
static int watch(void *data) {
	atomic_store(&watched, python.add_audit_hook(audit, data) == 0);
	return 0;
}

/* Leaves their statuses to who waits for them. */
static int has_children(void) {
	siginfo_t ended;
	return waitid(P_ALL, 0, &ended, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
}

void combine_begin(void) {
	static atomic_int asked;
	if (c_stdout == NULL || !python.is_initialized()) {
		return;
	}
	/* A hook that is added before CPython starts would be freed by another allocator where PYTHONMALLOC asks for one. */
	if (!atomic_exchange(&asked, 1) && python.add_pending_call(watch, NULL) != 0) {
		atomic_store(&asked, 0);
	}
	atomic_store(&collecting, atomic_load(&watched) && !atomic_load(&bypassed) && !has_children());
}

void combine_prepare(const bridge_library *library) {
	python = *library;
	c_stdout = fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_c_stdout});
	if (c_stdout != NULL) {
		setvbuf(c_stdout, NULL, _IOLBF, BUFSIZ); /* as that of Python: lines stand in the order in which they were written */
		stdout = c_stdout;
	}
	fstat(STDOUT_FILENO, &captured[0]);
	fstat(STDERR_FILENO, &captured[1]);
	atomic_store(&process, (int)getpid());
	pthread_atfork(before_fork, in_parent, in_child);
}
