/* Keeps user code from the descriptors that are this process's own business: for it, they are not open. */
#ifndef IPYTHON_MCP_PROTECT_H
#define IPYTHON_MCP_PROTECT_H

/* What a call would do with a descriptor. */
typedef enum { TO_CHANGE = 1, TO_USE, TO_TALK } protect_purpose;

/* From now on, every descriptor that this process has opened is hidden. Python may talk (send, recv) on channel, and use those that are lent.
 * Call it once, before CPython starts and after everything that stays open is open. */
void protect_descriptors(int channel, const int *lent, int count);

/* The same for a descriptor that is opened later, until protect_release, which has to come before it is closed. */
void protect_hide(int fd);
void protect_release(int fd);

/* Whether a call from C code has to fail, with errno set, as if the descriptor were not open. Async-signal-safe. */
int protect_refuses(int fd, protect_purpose purpose);

/* Lets a function fail so. */
#define REFUSE(fd, purpose) \
	if (protect_refuses(fd, purpose)) return -1

/* close_range without what is protected. */
int protect_close_range(unsigned first, unsigned last, int flags);

#endif
