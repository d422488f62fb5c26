#define _GNU_SOURCE
#include "protect.h"
#include "front.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Go's system calls do not pass the C library, and what CPython and C extensions call resolves to the program's own functions first. So those
 * can tell the two apart. Code that gets hold of the C library's own functions (ctypes) is not stopped. */

enum { TRACKED = 4096 }; /* descriptors beyond are not protected: this process opens its own early */

/* A call is refused where its purpose is at most this. */
enum { NOT_OURS = 0, LENT = TO_CHANGE, CHANNEL = TO_USE, HIDDEN = TO_TALK };

static struct {
	atomic_uchar kind;
	dev_t device; /* with inode, what the number stood for: Go may close a descriptor, and user code then gets its number */
	ino_t inode;
} descriptors[TRACKED];

static atomic_int owner; /* the server's process: a child made by fork or vfork may do as it likes with its copies */

static void protect(int fd, unsigned char kind) {
	struct stat now;
	if (fd < 0 || fd >= TRACKED || fstat(fd, &now) != 0) {
		return;
	}
	descriptors[fd].device = now.st_dev;
	descriptors[fd].inode = now.st_ino;
	atomic_store(&descriptors[fd].kind, kind);
}

static int is_still(int fd) {
	struct stat now;
	return fstat(fd, &now) == 0 && now.st_dev == descriptors[fd].device && now.st_ino == descriptors[fd].inode;
}

int protect_refuses(int fd, protect_purpose purpose) {
	if (fd < 0 || fd >= TRACKED || atomic_load_explicit(&descriptors[fd].kind, memory_order_relaxed) < purpose) {
		return 0;
	}
	int saved = errno;
	int refused = (int)syscall(SYS_getpid) == atomic_load(&owner) && is_still(fd);
	errno = refused ? EBADF : saved;
	return refused;
}

void protect_hide(int fd) { protect(fd, HIDDEN); }

void protect_release(int fd) {
	if (fd >= 0 && fd < TRACKED) {
		atomic_store(&descriptors[fd].kind, NOT_OURS);
	}
}

/* A forked child has no Go: its copies would only keep the client's pipes open, or let it write to them. What Python knows it closes itself. */
static void close_in_child(void) {
	for (int fd = 0; fd < TRACKED; fd++) {
		if (atomic_load_explicit(&descriptors[fd].kind, memory_order_relaxed) == HIDDEN && is_still(fd)) {
			syscall(SYS_close, fd);
		}
	}
}

void protect_descriptors(int channel, const int *lent, int count) {
	DIR *open = opendir("/proc/self/fd");
	for (struct dirent *entry; open != NULL && (entry = readdir(open)) != NULL;) {
		int fd = atoi(entry->d_name); /* 0 for the two that are no numbers */
		/* One that came with the process survived an exec. */
		if (fd > STDERR_FILENO && fd != dirfd(open) && (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0) {
			protect(fd, HIDDEN);
		}
	}
	if (open != NULL) {
		closedir(open);
	}
	protect(channel, CHANNEL);
	for (int i = 0; i < count; i++) {
		protect(lent[i], LENT);
	}
	pthread_atfork(NULL, NULL, close_in_child);
	atomic_store(&owner, (int)getpid());
}

int protect_close_range(unsigned first, unsigned last, int flags) {
	unsigned begin = first;
	for (unsigned fd = first; fd <= last && fd < TRACKED; fd++) {
		if (!protect_refuses((int)fd, TO_CHANGE)) {
			continue;
		}
		if (fd > begin && syscall(SYS_close_range, begin, fd - 1, flags) != 0) {
			return -1;
		}
		begin = fd + 1;
	}
	return begin > last && begin > first ? 0 : (int)syscall(SYS_close_range, begin, last, flags);
}

void closefrom(int first) { close_range(first > 0 ? (unsigned)first : 0, ~0U, 0); }

IN_FRONT_OF(int, dup, (int fd), (fd), REFUSE(fd, TO_USE))
IN_FRONT_OF(int, shutdown, (int fd, int how), (fd, how), REFUSE(fd, TO_CHANGE))
IN_FRONT_OF(ssize_t, read, (int fd, void *data, size_t length), (fd, data, length), REFUSE(fd, TO_USE))
IN_FRONT_OF(ssize_t, readv, (int fd, const struct iovec *parts, int count), (fd, parts, count), REFUSE(fd, TO_USE))
IN_FRONT_OF(ssize_t, recv, (int fd, void *data, size_t length, int flags), (fd, data, length, flags), REFUSE(fd, TO_TALK))
IN_FRONT_OF(ssize_t, recvfrom, (int fd, void *data, size_t length, int flags, struct sockaddr *from, socklen_t *size),
	(fd, data, length, flags, from, size), REFUSE(fd, TO_USE))
IN_FRONT_OF(ssize_t, recvmsg, (int fd, struct msghdr *message, int flags), (fd, message, flags), REFUSE(fd, TO_USE))
IN_FRONT_OF(ssize_t, sendto, (int fd, const void *data, size_t length, int flags, const struct sockaddr *to, socklen_t size),
	(fd, data, length, flags, to, size), REFUSE(fd, TO_USE))

/* The client's end of stdin or stdout may be a file. */
IN_FRONT_OF(int, ftruncate, (int fd, off_t length), (fd, length), REFUSE(fd, TO_CHANGE))
IN_FRONT_OF(int, ftruncate64, (int fd, off64_t length), (fd, length), REFUSE(fd, TO_CHANGE))
IN_FRONT_OF(off_t, lseek, (int fd, off_t offset, int whence), (fd, offset, whence), REFUSE(fd, TO_CHANGE))
IN_FRONT_OF(off64_t, lseek64, (int fd, off64_t offset, int whence), (fd, offset, whence), REFUSE(fd, TO_CHANGE))
IN_FRONT_OF(ssize_t, pwrite, (int fd, const void *data, size_t length, off_t offset), (fd, data, length, offset),
	REFUSE(fd, TO_USE))
IN_FRONT_OF(ssize_t, pwrite64, (int fd, const void *data, size_t length, off64_t offset), (fd, data, length, offset),
	REFUSE(fd, TO_USE))
IN_FRONT_OF(ssize_t, pwritev, (int fd, const struct iovec *parts, int count, off_t offset), (fd, parts, count, offset),
	REFUSE(fd, TO_USE))
IN_FRONT_OF(ssize_t, pwritev64, (int fd, const struct iovec *parts, int count, off64_t offset), (fd, parts, count, offset),
	REFUSE(fd, TO_USE))
IN_FRONT_OF(ssize_t, copy_file_range, (int in, off64_t *from, int out, off64_t *to, size_t length, unsigned flags),
	(in, from, out, to, length, flags), REFUSE(in, TO_USE); REFUSE(out, TO_USE))

/* What wakes Go's runtime. */
IN_FRONT_OF(int, epoll_ctl, (int epoll, int operation, int fd, struct epoll_event *event), (epoll, operation, fd, event),
	REFUSE(epoll, TO_USE))
IN_FRONT_OF(int, epoll_wait, (int epoll, struct epoll_event *events, int most, int limit), (epoll, events, most, limit),
	REFUSE(epoll, TO_USE))
IN_FRONT_OF(int, eventfd_read, (int fd, eventfd_t *value), (fd, value), REFUSE(fd, TO_USE))

/* Functions whose last argument, if any, is an integer or a pointer: both travel the same way. */
#define REFUSING_CHANGES(name, command_type) \
	static int (*next_##name)(int, command_type, ...); \
	int name(int fd, command_type command, ...) { \
		va_list rest; \
		va_start(rest, command); \
		void *argument = va_arg(rest, void *); \
		va_end(rest); \
		if (next_##name == NULL) { \
			next_##name = (int (*)(int, command_type, ...))dlsym(RTLD_NEXT, #name); \
		} \
		REFUSE(fd, TO_CHANGE); \
		return next_##name(fd, command, argument); \
	}

REFUSING_CHANGES(fcntl, int)
REFUSING_CHANGES(fcntl64, int)
REFUSING_CHANGES(ioctl, unsigned long)
