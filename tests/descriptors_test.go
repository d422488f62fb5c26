package tests

import (
	"strings"
	"testing"
)

// overDescriptors do something to every descriptor that the server may have open.
var overDescriptors = map[string]string{
	"close":                           "for fd in every: tries(os.close, fd)",
	"closerange":                      "os.closerange(3, 1024)",
	"closerange, the first three too": "os.closerange(0, 1024)",
	"close_range":                     "ctypes.CDLL(None).close_range(3, 0xffffffff, 0)",
	"closefrom":                       "ctypes.CDLL(None).closefrom(3)",
	"dup2":                            "null = os.open(os.devnull, os.O_RDWR)\nfor fd in every: tries(os.dup2, null, fd)",
	"dup3":                            "null = os.open(os.devnull, os.O_RDWR)\nfor fd in every: tries(os.dup2, null, fd, False)",
	"files that are collected":        "for fd in every: tries(open, fd, 'wb', 0)",
	"sockets that are collected":      "for fd in every: tries(socket.socket, fileno=fd)",
	"write":                           "for fd in every: tries(os.write, fd, b'junk\\n')",
	"writev":                          "for fd in every: tries(os.writev, fd, [b'junk\\n'])",
	"write to a duplicate":            "for fd in every: tries(lambda: os.write(os.dup(fd), b'junk\\n'))",
	"sendfile":                        "here = os.open(sys.executable, os.O_RDONLY)\nfor fd in every: tries(os.sendfile, fd, here, 0, 99)",
	"set_blocking":                    "for fd in every: tries(os.set_blocking, fd, False)",
	"set_inheritable":                 "for fd in every: tries(os.set_inheritable, fd, True)",
	"shutdown":                        "for fd in every: tries(lambda: socket.socket(fileno=fd).shutdown(2))",
	"epoll": "for fd in every: tries(lambda: select.epoll.fromfd(fd).poll(0))\n" +
		"for fd in every: tries(lambda: [select.epoll.fromfd(fd).unregister(other) for other in every])",
	"a forked child": "if not os.fork():\n    for fd in every: tries(os.write, fd, b'junk\\n')\n" +
		"    os.closerange(3, 1024)\n    os._exit(0)\nos.wait()",
	"a new process": "subprocess.run([sys.executable, '-c', 'import os\\nfor fd in range(3, 256):\\n    try: os.write(fd, b\"junk\")\\n    except OSError: pass'])",
}

// What the server itself has open is not open for user code, whatever that does.
func TestDescriptors_OfTheServer(t *testing.T) {
	for name, code := range overDescriptors {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := connect(t, options{})
			s.succeed("import asyncio, ctypes, os, select, socket, subprocess, sys\nevery = range(3, 300)\ndef tries(call, *arguments, **options):\n" +
				"    try: call(*arguments, **options)\n    except Exception: pass")
			s.succeed(code)
			s.works(code)
			s.equals("await asyncio.sleep(0.01, 'slept')", `"slept"`)
			s.equals("await asyncio.to_thread(lambda: 'woken')", `"woken"`)
			s.equals("asyncio.run(asyncio.sleep(0, 'ran'))", `"ran"`)
			s.equals("subprocess.run(['cat'], input=b'child', capture_output=True).stdout.decode()", `"child"`)
			s.equals("path = os.path.join(os.environ['TMPDIR'], 'f')\nwith open(path, 'w+') as f: f.write('mine'); f.seek(0); said = f.read()\n"+
				"os.remove(path); said", `"mine"`)
			s.endsBy(s.closeInput)
		})
	}
}

// The files that keep long output are the server's, too, for as long as they are open.
func TestDescriptors_OfKeptOutput(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	e := s.succeed("import os\nfor n in range(20000): print(n)")
	s.succeed("mine = []\nfor n in range(3): os.closerange(3, 1024)\nmine = [open(os.path.join(os.environ['TMPDIR'], str(n)), 'w+') for n in range(50)]")
	page := s.call("read_output", map[string]any{"execution_id": *e.ExecutionID, "stream": "stdout", "offset": 48890})
	if !strings.Contains(string(page.Structured), `"text":"10000\n10001\n`) {
		t.Errorf("the output was not kept: %.300s", page.Structured)
	}
	// Beyond the number of executions that are kept, the files are closed; the descriptors are anybody's then.
	for range 60 {
		s.succeed("for n in range(20000): print(n)")
	}
	s.equals("for f in mine: f.write('mine'); f.seek(0)\nsaid = {f.read() for f in mine}\nfor f in mine: os.remove(f.name); f.close()\nsorted(said)", `["mine"]`)
}

// Where user code has opened as many files as it may, the server answers, and still tidies up at its end.
func TestDescriptors_NoneLeft(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	code := "import os, resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))\nfiles = []\n" +
		"try:\n    while True: files.append(os.open(os.devnull, os.O_RDONLY))\nexcept OSError: pass"
	s.succeed(code)
	s.works(code)
	s.endsBy(s.closeInput)
}

// Descriptors that the client passed on are user code's.
func TestDescriptors_OfTheClient(t *testing.T) {
	t.Parallel()
	s := connect(t, options{binary: "/bin/sh", args: []string{"-c", "exec 9<.; exec '" + binary + "'"}})
	s.succeed("import os\nos.listdir(9); os.set_inheritable(9, False); os.close(9)")
}
