package tests

import "testing"

// A signal that user code blocks in order to wait for it reaches nobody else: not a thread of Go's, where it would end the process.
func TestSignals_WaitedFor(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.succeed("import os, signal, subprocess")
	for _, number := range []string{"SIGUSR1", "SIGUSR2", "SIGIO", "SIGPWR", "SIGRTMIN + 2", "SIGRTMAX"} {
		s.equals("n = signal."+number+"\nsignal.pthread_sigmask(signal.SIG_BLOCK, [n]); os.kill(os.getpid(), n); signal.sigwait([n]) == n", "true")
	}
	s.equals("signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM]); signal.alarm(1); signal.sigwait([signal.SIGALRM]) == signal.SIGALRM", "true")
	s.equals("signal.pthread_sigmask(signal.SIG_SETMASK, [])\nsubprocess.getoutput('grep SigBlk /proc/self/status').strip('SigBlk:\\t 0')", `""`)
}
