package tests

import (
	"strconv"
	"syscall"
	"testing"
)

// leftBehind are cells that start a process and give its pid.
var leftBehind = map[string]string{
	"Popen":             "import subprocess\nsubprocess.Popen(['sleep', '600']).pid",
	"orphan of a shell": "pid = !sleep 600 >/dev/null 2>&1 & echo $!\nint(pid[0])",
	"os.system": "import os\nos.system('sleep 600 & echo $! >pid')\npid = int(open('pid').read())\n" +
		"os.remove('pid')\npid",
	"deaf to SIGTERM": "import subprocess\n" +
		"subprocess.Popen(['sh', '-c', 'trap \"\" TERM; while :; do sleep 1; done']).pid",
	"fork": "import os, time\npid = os.fork()\nif pid == 0:\n    while True: time.sleep(1)\npid",
	"fork of a fork": "import os, time\nr, w = os.pipe()\nif os.fork() == 0:\n    if os.fork() == 0:\n" +
		"        os.write(w, b'%d' % os.getpid())\n        time.sleep(600)\n    os._exit(0)\nint(os.read(r, 20))",
	"pool": "import multiprocessing\npool = multiprocessing.Pool(2)\npool._pool[0].pid",
	"forkserver": "import multiprocessing as m, time\n" +
		"p = m.get_context('forkserver').Process(target=time.sleep, args=(600,)); p.start()\np.pid",
	"spawn": "import multiprocessing as m, time\n" +
		"p = m.get_context('spawn').Process(target=time.sleep, args=(600,)); p.start()\np.pid",
	"own process group":   "import subprocess\nsubprocess.Popen(['sleep', '600'], process_group=0).pid",
	"without environment": "import subprocess\nsubprocess.Popen(['sleep', '600'], env={}).pid",
	"server of a socket": "import subprocess, sys\n" +
		"subprocess.Popen([sys.executable, '-m', 'http.server', '0', '--bind', '127.0.0.1']).pid",
	"stopped": "import subprocess, signal\np = subprocess.Popen(['sleep', '600'])\n" +
		"p.send_signal(signal.SIGSTOP)\np.pid",
}

// Processes that user code leaves behind end with the server.
func TestEnd_EndsChildren(t *testing.T) {
	for name, code := range leftBehind {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := connect(t, options{})
			pid := s.pidOf(code)
			s.endsBy(s.closeInput)
			eventually(t, "the end of "+name, func() bool { return !alive(pid) })
		})
	}
}

func (s *server) pidOf(code string) int {
	s.t.Helper()
	pid, err := strconv.Atoi(s.value(code))
	if err != nil {
		s.t.Fatal(err)
	}
	if !alive(pid) {
		s.t.Fatalf("process %d does not run", pid)
	}
	return pid
}

// The same where the server cannot end in an orderly way.
func TestEnd_EndsChildrenWhileBusy(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	pid := s.pidOf(leftBehind["orphan of a shell"])
	s.running("sum(range(10**12))")
	s.endsBy(func() { s.signal(syscall.SIGTERM) })
	eventually(t, "the end of the child", func() bool { return !alive(pid) })
}

// A process that user code put into a session of its own stays.
func TestEnd_LeavesSessionsAlone(t *testing.T) {
	t.Parallel()
	s := connect(t, options{untidy: true})
	pid := s.pidOf("import subprocess\n" +
		"subprocess.Popen(['env', '-u', 'TMPDIR', 'sleep', '600'], start_new_session=True).pid")
	s.endsBy(s.closeInput)
	if !alive(pid) {
		t.Error("it was ended")
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
}
