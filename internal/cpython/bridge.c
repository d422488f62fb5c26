#define _GNU_SOURCE
#include "bridge.h"
#include "combine.h"
#include "module.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

/* glibc's sigaction under its other name: the program defines one of its own, below. */
extern int __sigaction(int number, const struct sigaction *action, struct sigaction *previous);

int bridge_load(const char *path, bridge_library *library, char *error, size_t size) {
	/* RTLD_GLOBAL: extension modules resolve CPython's symbols against it. dlerror is per thread, so it is read in this call. */
	void *handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	if (handle != NULL) {
		library->is_initialized = (int (*)(void))dlsym(handle, "Py_IsInitialized");
		library->add_pending_call = (int (*)(int (*)(void *), void *))dlsym(handle, "Py_AddPendingCall");
		library->add_audit_hook =
			(int (*)(int (*)(const char *, void *, void *), void *))dlsym(handle, "PySys_AddAuditHook");
		/* Last, because the loader tells of the last failure. */
		library->get_version = (const char *(*)(void))dlsym(handle, "Py_GetVersion");
		library->bytes_main = (int (*)(int, char **))dlsym(handle, "Py_BytesMain");
		if (library->get_version != NULL && library->bytes_main != NULL && library->is_initialized != NULL &&
			library->add_pending_call != NULL && library->add_audit_hook != NULL && module_load(handle) == 0) {
			return 0;
		}
	}
	const char *message = dlerror();
	snprintf(error, size, "%s", message != NULL ? message : "unknown loader error");
	return -1;
}

const char *bridge_version(const bridge_library *library) { return library->get_version(); }

/* What interrupts a request, the same as in the Python package: a signal that Linux never sends, and that many times is as good as once
 * (real-time signals queue). SIGINT is user code's own: it may ignore it, and C's system() does. */
#define INTERRUPT SIGSTKFLT

static pthread_t python_thread;
static atomic_int python_runs;

/* CPython ends the process by itself when it cannot initialize. Its message is in the capture pipe then: give the drain a moment, at
 * most 0.2 s, to deliver it. Runs on C's exit only, which Go's orderly end does not use. */
static void deliver_last_words(void) {
	for (int attempt = 0; attempt < 200; attempt++) {
		int waiting = 0;
		if (ioctl(STDERR_FILENO, FIONREAD, &waiting) != 0 || waiting == 0) {
			break;
		}
		usleep(1000);
	}
	usleep(5000); /* the drain has read the last of it, and is writing */
}

static _Atomic uintptr_t go_handler;

/* Signals that stay Go's: it preempts goroutines with SIGURG, and turns faults into panics. */
static const int kept_by_go[] = {SIGURG, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};

/* Go's runtime handles every signal, which CPython takes for handlers of C code: signal.getsignal gives None then, and user code that
 * wants to restore what it found fails. Gives every other signal its default back before CPython looks. */
static void release_signals(void) {
	for (int number = 1; number < NSIG; number++) {
		int kept = 0;
		for (size_t i = 0; i < sizeof kept_by_go / sizeof kept_by_go[0]; i++) {
			kept |= kept_by_go[i] == number;
		}
		struct sigaction now;
		if (!kept && __sigaction(number, NULL, &now) == 0 && (uintptr_t)now.sa_sigaction == atomic_load(&go_handler) &&
			atomic_load(&go_handler) != 0) {
			signal(number, SIG_DFL);
		}
	}
}

static sigset_t waited_for; /* signals that programs block in order to wait for them */

/* Runs before Go's runtime, whose threads get their mask from this one. A signal for the process may be taken by any thread that does not
 * block it: what user code waits for (sigwait) must not reach a thread of Go's, where its default ends the process. */
__attribute__((constructor)) static void keep_signals_from_go(void) {
	static const int standard[] = {SIGALRM, SIGVTALRM, SIGUSR1, SIGUSR2, SIGIO, SIGPWR};
	sigemptyset(&waited_for);
	for (size_t i = 0; i < sizeof standard / sizeof standard[0]; i++) {
		sigaddset(&waited_for, standard[i]);
	}
	for (int number = SIGRTMIN + 1; number <= SIGRTMAX; number++) { /* the first is Go's own, in programs with C */
		sigaddset(&waited_for, number);
	}
	sigprocmask(SIG_BLOCK, &waited_for, NULL);
}

static void guard_all(void);

int bridge_main(const bridge_library *library, int argc, char **argv) {
	python_thread = pthread_self();
	sigprocmask(SIG_UNBLOCK, &waited_for, NULL);
	atexit(deliver_last_words);
	release_signals();
	combine_prepare(library);
	(void)module_register(); /* without memory for it Python does not start either */
	/* Until Python handles it: its default would end the process. */
	signal(INTERRUPT, SIG_IGN);
	guard_all();
	atomic_store(&python_runs, 1);
	int status = library->bytes_main(argc, argv);
	atomic_store(&python_runs, 0);
	return status;
}

int bridge_is_python_thread(void) { return atomic_load(&python_runs) && pthread_equal(pthread_self(), python_thread); }

int bridge_interrupt(void) {
	if (!atomic_load(&python_runs)) {
		return ESRCH;
	}
	bridge_repair_guard(); /* its default would end the process */
	return pthread_kill(python_thread, INTERRUPT);
}

int bridge_ask(int number) {
	struct sigaction now;
	if (!atomic_load(&python_runs) || sigaction(number, NULL, &now) != 0 || now.sa_handler == SIG_DFL ||
		now.sa_handler == SIG_IGN || (uintptr_t)now.sa_sigaction == atomic_load(&go_handler)) {
		return ESRCH;
	}
	return pthread_kill(python_thread, number);
}

/* A handler that the routing handler stands in front of. Written by sigaction and bridge_repair_guard, read in signal
 * context. */
typedef struct {
	_Atomic uintptr_t function;
	atomic_int flags;
} chained_handler;

/* Signals that reach the routing handler first: those that ask for the end, the interrupt, and what ends a process by default. */
static const int guarded[] = {SIGINT, SIGTERM, SIGHUP, INTERRUPT,
	SIGQUIT, SIGPIPE, SIGALRM, SIGVTALRM, SIGPROF, SIGUSR1, SIGUSR2, SIGIO, SIGPWR, SIGXCPU, SIGXFSZ};
enum { REPAIRED = 4 }; /* so many of them are put back where native code has taken them */

static chained_handler chained[NSIG];
static atomic_int server_pid;
static atomic_int notify_fd = -1;
static atomic_int wake_fd = -1;

static int is_guarded(int number) {
	for (size_t i = 0; i < sizeof guarded / sizeof guarded[0]; i++) {
		if (guarded[i] == number) {
			return 1;
		}
	}
	return number >= SIGRTMIN && number <= SIGRTMAX;
}

static int is_repaired(int number) {
	for (int i = 0; i < REPAIRED; i++) {
		if (guarded[i] == number) {
			return 1;
		}
	}
	return 0;
}

static int keep_ignoring_hangup; /* the server was started by nohup */

static void call_chained(uintptr_t function, int number, siginfo_t *info, void *context) {
	if (atomic_load(&chained[number].flags) & SA_SIGINFO) {
		((void (*)(int, siginfo_t *, void *))function)(number, info, context);
	} else {
		((void (*)(int))function)(number);
	}
}

/* Asks for the end of the server. A full pipe means that many signals wait already. */
static void report(int number) {
	unsigned char byte = (unsigned char)number;
	(void)syscall(SYS_write, atomic_load(&notify_fd), &byte, 1); /* `write` refuses the descriptor */
}

/* Tells what waits on Python's thread while that is lent: what CPython's handler has noted is for Python to do. */
static void wake(void) {
	uint64_t one = 1;
	(void)syscall(SYS_write, atomic_load(&wake_fd), &one, sizeof one);
}

void bridge_wake_by(int fd) { atomic_store(&wake_fd, fd); }

void bridge_forget_wakes(void) {
	uint64_t count;
	(void)syscall(SYS_read, atomic_load(&wake_fd), &count, sizeof count);
}

/* A forked child before restore_in_child has run: the signal does there what it would do afterwards. */
static void route_in_child(int number, siginfo_t *info, void *context) {
	uintptr_t function = atomic_load(&chained[number].function);
	if (function == (uintptr_t)SIG_DFL || function == atomic_load(&go_handler)) {
		struct sigaction ends;
		memset(&ends, 0, sizeof ends);
		ends.sa_handler = SIG_DFL;
		__sigaction(number, &ends, NULL);
		raise(number); /* takes effect when this handler returns */
	} else if (function != (uintptr_t)SIG_IGN) {
		call_chained(function, number, info, context);
	}
}

static int is_handled(int number) {
	uintptr_t function = atomic_load(&chained[number].function);
	return function != (uintptr_t)SIG_DFL && function != (uintptr_t)SIG_IGN && function != atomic_load(&go_handler);
}

/* Whether the signal is to end the server. One from elsewhere is, if that is what it asks for. From within, SIGTERM and SIGHUP are where user code
 * lets them do what they do by default. */
static int ends_server(int number, int own) {
	int by_default = !is_handled(number) && atomic_load(&chained[number].function) != (uintptr_t)SIG_IGN;
	if (own) {
		return by_default && (number == SIGTERM || number == SIGHUP);
	}
	return number == SIGINT || number == SIGTERM || number == SIGHUP || (by_default && number == SIGQUIT);
}

/* The routing handler. Async-signal-safe. A signal reaches user code's handler, but for a SIGINT from elsewhere. Where that is the default, which
 * would end the process on the spot, it does nothing but what ends_server says. */
static void route(int number, siginfo_t *info, void *context) {
	int saved = errno;
	if ((int)getpid() != atomic_load(&server_pid)) {
		route_in_child(number, info, context);
		errno = saved;
		return;
	}
	int own = info->si_code <= 0 && info->si_pid == atomic_load(&server_pid);
	if (ends_server(number, own)) {
		report(number);
	}
	if (is_handled(number) && (own || number != SIGINT)) {
		call_chained(atomic_load(&chained[number].function), number, info, context);
		wake();
	}
	errno = saved;
}

/* Runs in a forked child, before fork returns there: Go's runtime does not live in it, so nothing may stay routed to Go. */
static void restore_in_child(void) {
	for (int number = 1; number < NSIG; number++) {
		struct sigaction now;
		if (__sigaction(number, NULL, &now) != 0) {
			continue;
		}
		uintptr_t function = (uintptr_t)now.sa_sigaction;
		if (now.sa_sigaction == route) {
			function = atomic_load(&chained[number].function);
			now.sa_flags = atomic_load(&chained[number].flags);
			now.sa_sigaction = (void (*)(int, siginfo_t *, void *))function;
		} else if (function != atomic_load(&go_handler)) {
			continue;
		}
		if (function == atomic_load(&go_handler)) {
			now.sa_flags = 0;
			now.sa_handler = SIG_DFL;
		}
		__sigaction(number, &now, NULL);
	}
}

/* A forked child, where what CPython's faulthandler puts back before it lets the process die may be Go's handler. */
static int set_in_child(int number, const struct sigaction *action, struct sigaction *previous) {
	struct sigaction ends;
	if (action != NULL && atomic_load(&go_handler) != 0 && (uintptr_t)action->sa_sigaction == atomic_load(&go_handler)) {
		memset(&ends, 0, sizeof ends);
		ends.sa_handler = SIG_DFL;
		action = &ends;
	}
	return __sigaction(number, action, previous);
}

static int is_handler(const struct sigaction *action) { return action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN; }

/* What a caller is told of a signal's action. */
static void hide_route(int number, struct sigaction *told) {
	if (told->sa_sigaction == route) {
		told->sa_flags = atomic_load(&chained[number].flags);
		told->sa_sigaction = (void (*)(int, siginfo_t *, void *))atomic_load(&chained[number].function);
	}
}

static void chain(int number, const struct sigaction *action) {
	atomic_store(&chained[number].flags, action->sa_flags);
	atomic_store(&chained[number].function, (uintptr_t)action->sa_sigaction);
}

/* Signals whose default does not end a process keep it, but what handles them comes behind the routing handler, too. */
static const int relayed[] = {SIGCHLD, SIGCONT, SIGTSTP, SIGTTIN, SIGTTOU, SIGWINCH};

static int is_relayed(int number) {
	for (size_t i = 0; i < sizeof relayed / sizeof relayed[0]; i++) {
		if (relayed[i] == number) {
			return 1;
		}
	}
	return 0;
}

/* One signal at a time: a frame takes 3 KiB of an alternate stack, and several that come at once would not fit into its 16. Faults are let
 * through, because a blocked one ends the process without a word. */
static void block_others(sigset_t *mask) {
	static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
	sigfillset(mask);
	for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
		sigdelset(mask, faults[i]);
	}
}

static int relay(int number, const struct sigaction *action, struct sigaction *previous) {
	struct sigaction now, ours;
	if (__sigaction(number, NULL, &now) != 0) {
		return -1;
	}
	hide_route(number, &now);
	/* What is ignored is so for the kernel: system calls go on, and new programs inherit it. */
	int by_default = action != NULL && action->sa_handler == SIG_DFL && is_guarded(number);
	if (action != NULL && action->sa_sigaction != route && (is_handler(action) || by_default)) {
		chain(number, action);
		ours = *action;
		ours.sa_sigaction = route;
		ours.sa_flags |= SA_SIGINFO | SA_ONSTACK;
		block_others(&ours.sa_mask);
		action = &ours;
	}
	if (previous != NULL) {
		*previous = now;
	}
	return __sigaction(number, action, NULL);
}

/* What sets a handler in this process through the C library's sigaction comes here, because the program's own symbol goes before the
 * library's: CPython's signal.signal, and C extensions. A guarded signal keeps the routing handler, in front of the new one. */
int sigaction(int number, const struct sigaction *action, struct sigaction *previous) {
	struct sigaction now, ours;
	if (atomic_load(&server_pid) != (int)getpid()) {
		return set_in_child(number, action, previous);
	}
	if (action != NULL && is_handler(action)) {
		ours = *action;
		ours.sa_flags |= SA_ONSTACK; /* it may come to a thread of Go's, or to Python's while that is lent: goroutines have small stacks */
		action = &ours;
	}
	if (is_relayed(number) || (is_guarded(number) && !is_repaired(number))) {
		return relay(number, action, previous);
	}
	if (!is_guarded(number) || __sigaction(number, NULL, &now) != 0 ||
		now.sa_sigaction != route) {
		return __sigaction(number, action, previous);
	}
	if (previous != NULL) {
		*previous = now;
		hide_route(number, previous);
	}
	int fixed = number == INTERRUPT && is_handled(number); /* by CPython: nobody else can interrupt a request */
	if (action != NULL && action->sa_sigaction != route && !fixed) {
		chain(number, action);
	}
	return 0;
}

/* The same for C extensions that are content with this. */
void (*signal(int number, void (*handler)(int)))(int) {
	struct sigaction previous, action = {.sa_handler = handler, .sa_flags = SA_RESTART};
	return sigaction(number, &action, &previous) == 0 ? previous.sa_handler : SIG_ERR;
}

/* The same for the mask of Python's thread: user code may block every signal there but the one that interrupts it. */
int pthread_sigmask(int how, const sigset_t *set, sigset_t *previous) {
	sigset_t allowed;
	if (set != NULL && how != SIG_UNBLOCK && bridge_is_python_thread()) {
		allowed = *set;
		sigdelset(&allowed, INTERRUPT);
		set = &allowed;
	}
	return sigprocmask(how, set, previous) == 0 ? 0 : errno;
}

/* A timer that fires faster than Python handles its signal leaves no time for anything else: not even an interrupt would come through. */
enum { SHORTEST_MICROSECONDS = 100 };

int setitimer(__itimer_which_t kind, const struct itimerval *timer, struct itimerval *previous) {
	struct itimerval slower;
	if (timer != NULL && timer->it_interval.tv_sec == 0 && timer->it_interval.tv_usec > 0 &&
		timer->it_interval.tv_usec < SHORTEST_MICROSECONDS) {
		slower = *timer;
		slower.it_interval.tv_usec = SHORTEST_MICROSECONDS;
		timer = &slower;
	}
	return (int)syscall(SYS_setitimer, kind, timer, previous);
}

void bridge_guard_signals(int notify) {
	struct sigaction first;
	sigaction(SIGHUP, NULL, &first);
	keep_ignoring_hangup = first.sa_handler == SIG_IGN;
	sigaction(SIGTERM, NULL, &first);
	atomic_store(&go_handler, (uintptr_t)first.sa_sigaction);
	atomic_store(&notify_fd, notify);
	atomic_store(&server_pid, (int)getpid());
	pthread_atfork(NULL, NULL, restore_in_child);
	bridge_repair_guard();
}

/* C's system() ignores SIGINT for a while and then puts back what it found, which is the routing handler: what that stands in front of must
 * still be Python's handler. The interrupt's is fixed. */
static int is_worth_keeping(int number, const struct sigaction *previous) {
	uintptr_t before = atomic_load(&chained[number].function);
	if (before == 0 || before == atomic_load(&go_handler)) {
		return 1;
	}
	return number != INTERRUPT && (number != SIGINT || (previous->sa_handler != SIG_IGN && previous->sa_handler != SIG_DFL));
}

static void put_in_front(int number) {
	struct sigaction ours, previous;
	memset(&ours, 0, sizeof ours);
	ours.sa_sigaction = route;
	/* On the alternate stack, because Go's threads run on small ones. No SA_RESTART: an interrupt has to end system calls. */
	ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
	block_others(&ours.sa_mask);
	if ((number == SIGHUP && keep_ignoring_hangup) || __sigaction(number, &ours, &previous) != 0 || previous.sa_sigaction == route ||
		!is_worth_keeping(number, &previous)) {
		return;
	}
	chain(number, &previous);
}

void bridge_repair_guard(void) {
	for (int i = 0; i < REPAIRED && atomic_load(&server_pid) != 0; i++) {
		put_in_front(guarded[i]);
	}
}

/* Once CPython is about to start, when the handlers are those that it is to find. */
static void guard_all(void) {
	for (int number = 1; number < NSIG && atomic_load(&server_pid) != 0; number++) {
		if (is_guarded(number)) {
			put_in_front(number);
		}
	}
}

void bridge_flush(void) { fflush(stdout); }
