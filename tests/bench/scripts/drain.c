/*
 * Reads its standard input to the end and throws it away: the reader that a printing program cannot outpace.
 *
 * The pipe gets the capacity that the measured server asks for its own. With the 64 KiB of a plain pipe, a large print
 * waits for the reader to be woken 16 times as often: on a machine with an idle processor that takes several times
 * longer than copying, and would be compared instead.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>

enum { capacity = 1 << 20 };

int main(void) {
	static char buffer[capacity];
	ssize_t got;
	(void)fcntl(0, F_SETPIPE_SZ, capacity);
	while ((got = read(0, buffer, sizeof buffer)) > 0) {
	}
	return got < 0;
}
