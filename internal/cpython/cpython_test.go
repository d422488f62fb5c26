package cpython_test

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ipython-mcp/internal/bundle"
	"ipython-mcp/internal/cpython"
)

// evaluator is a Python program that answers each request with what it evaluates to, or the name of the exception.
//
//go:embed testdata/evaluator.py
var evaluator string

// scenarioVariable makes the test binary run one scenario inside an interpreter of its own instead of the tests: there is one per process.
const scenarioVariable = "CPYTHON_TEST_SCENARIO"

func init() { runtime.LockOSThread() }

func TestMain(m *testing.M) {
	name := os.Getenv(scenarioVariable)
	if name == "" {
		os.Exit(m.Run())
	}
	os.Exit(runScenario(scenarios[name]))
}

// session is what a scenario has in hand.
type session struct {
	channel *cpython.Channel
	foreign *os.File // reports of signals from other processes
	reports *os.File // where they are written; held because a file that nobody holds is closed
}

func runScenario(scenario func(*session) error) int {
	python, library := os.Getenv("CPYTHON_TEST_PYTHON"), os.Getenv("CPYTHON_TEST_LIBRARY")
	loaded, err := cpython.Load(library)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	channel, err := cpython.NewChannel()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	read, write, err := os.Pipe()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	cpython.GuardSignals(int(write.Fd()))
	outcome := make(chan error, 1)
	go func() {
		s := &session{channel, read, write}
		// The first answer says that Python's handler for interrupts is in place.
		err := s.eval("0", "0")
		if err == nil {
			err = scenario(s)
		}
		outcome <- err
		runtime.KeepAlive(s)
		_ = channel.Finish() // fails only when the interpreter has ended, which Main tells
	}()
	status := loaded.Main([]string{python, "-I", "-c", evaluator, strconv.Itoa(channel.PythonFD())})
	if err := <-outcome; err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return status
}

// call sends code and returns the one frame that comes back.
func (s *session) call(code string) (reply []byte, err error) {
	err = s.channel.Call([]byte(code), func(frame []byte) bool {
		reply = frame
		return true
	})
	return reply, err
}

func (s *session) eval(code, want string) error {
	reply, err := s.call(code)
	if err != nil {
		return fmt.Errorf("%.60s: %w", code, err)
	}
	if string(reply) != want {
		return fmt.Errorf("%.60s gave %.200q, want %q", code, reply, want)
	}
	return nil
}

func (s *session) evalAll(pairs ...string) error {
	for i := 0; i < len(pairs); i += 2 {
		if err := s.eval(pairs[i], pairs[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// interrupted interrupts code once it says, through a pipe, that it runs.
func (s *session) interrupted(code string) error {
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer read.Close()
	defer write.Close()
	done := make(chan error, 1)
	go func() {
		done <- s.eval(fmt.Sprintf("(os.write(%d, b'x'), %s)", write.Fd(), code), "KeyboardInterrupt")
	}()
	if _, err := read.Read(make([]byte, 1)); err != nil {
		return err
	}
	for {
		// By the end of the pause it most likely blocks; where it does not yet, or the exception was lost in a finalizer, another follows.
		select {
		case err := <-done:
			return err
		case <-time.After(50 * time.Millisecond):
			s.channel.Interrupt()
		}
	}
}

// nothingReported checks that no foreign signal was seen.
func (s *session) nothingReported() error {
	if err := s.foreign.SetReadDeadline(time.Now()); err != nil {
		return err
	}
	buffer := make([]byte, 1)
	if n, err := s.foreign.Read(buffer); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("signal %d was reported as foreign (%v)", buffer[0], err)
	}
	return nil
}

func (s *session) reported(number unix.Signal) error {
	buffer := make([]byte, 1)
	if _, err := s.foreign.Read(buffer); err != nil || buffer[0] != byte(number) {
		return fmt.Errorf("reported %d (%v), want %d", buffer[0], err, number)
	}
	return nil
}

// neverInterruptedLate interrupts all the time while short requests run.
func neverInterruptedLate(s *session) error {
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				s.channel.Interrupt()
			}
		}
	}()
	for range 2000 {
		reply, err := s.call("1 + 1")
		if err != nil || (string(reply) != "2" && string(reply) != "KeyboardInterrupt") {
			return fmt.Errorf("got %q, %v", reply, err)
		}
	}
	close(stop)
	<-stopped
	if s.channel.Interrupt() {
		return errors.New("an idle interpreter was interrupted")
	}
	return s.eval("1 + 1", "2")
}

// lent makes a scenario run on Python's thread.
func lent(scenario func(*session) error) func(*session) error {
	return func(s *session) error {
		done := make(chan error, 1)
		if !s.channel.Lend(func() { done <- scenario(s) }) {
			return errors.New("the thread is not lent")
		}
		return errors.Join(<-done, s.eval("1 + 1", "2"))
	}
}

func fromOutside(number string) error {
	return exec.Command("sh", "-c", fmt.Sprintf("kill -%s %d", number, os.Getpid())).Run()
}

var scenarios = map[string]func(*session) error{
	"evaluates on the main thread": func(s *session) error {
		return s.evalAll("1 + 1", "2", "threading.current_thread() is threading.main_thread()", "True",
			"threading.get_native_id() == os.getpid()", "True", "1 / 0", "ZeroDivisionError")
	},
	"carries large frames": func(s *session) error {
		return s.evalAll("len('"+strings.Repeat("x", 64<<20)+"')", strconv.Itoa(64<<20), "len('é' * 3)", "3")
	},
	"answers what is asked before the reply": func(s *session) error {
		var asked []string
		var reply string
		answer := strings.Repeat("x", 1<<20)
		err := s.channel.Call([]byte("[ask('first'), len(ask('second'))]"), func(frame []byte) bool {
			reply = string(frame)
			if text, is := strings.CutPrefix(reply, "ask "); is {
				asked = append(asked, text)
				if err := s.channel.Send([]byte(answer)); err != nil {
					reply = err.Error()
					return true
				}
				return false
			}
			return true
		})
		if want := fmt.Sprintf("['%s', %d]", answer, len(answer)); err != nil || reply != want || strings.Join(asked, " ") != "first second" {
			return fmt.Errorf("%v was asked, the reply is %.60q, %v", asked, reply, err)
		}
		return s.eval("1 + 1", "2")
	},
	"keeps its descriptors": func(s *session) error {
		read, write, err := os.Pipe()
		if err != nil {
			return err
		}
		defer read.Close()
		defer write.Close()
		fd, lent := int(write.Fd()), int(s.reports.Fd())
		cpython.Protect(s.channel, lent)
		for _, code := range []string{
			"os.close(%d)", "os.write(%d, b'junk')", "os.read(%d, 1)", "os.dup(%d)", "os.dup2(0, %d)", "os.dup2(0, %d, False)",
			"os.set_blocking(%d, False)", "os.set_inheritable(%d, True)", "os.fdopen(%d, 'wb', 0).write(b'junk')",
			"__import__('fcntl').fcntl(%d, 3)",
		} {
			if err := s.eval(fmt.Sprintf(code, fd), "OSError"); err != nil {
				return err
			}
		}
		if err := s.evalAll(
			"os.closerange(3, 1024)", "None", "ctypes.CDLL(None).closefrom(3)", "None",
			fmt.Sprintf("os.close(%d)", lent), "OSError", fmt.Sprintf("os.write(%d, b'lent')", lent), "4",
			fmt.Sprintf("os.write(%d, b'junk')", s.channel.PythonFD()), "OSError",
			fmt.Sprintf("os.waitpid(os.fork() or os._exit(os.path.exists('/proc/self/fd/%d')), 0)[1]", fd), "0",
		); err != nil {
			return err
		}
		_, err = write.WriteString("Go's")
		text := make([]byte, 8)
		n, _ := read.Read(text)
		if string(text[:n]) != "Go's" || err != nil {
			return fmt.Errorf("the pipe gave %q, %v", text[:n], err)
		}
		// A number that Go has given back is user code's.
		if err := write.Close(); err != nil {
			return err
		}
		return s.eval(fmt.Sprintf("(os.dup2(0, %d), os.close(%d))", fd, fd), fmt.Sprintf("(%d, None)", fd))
	},
	"interrupts what blocks": func(s *session) error {
		for _, code := range []string{
			"time.sleep(600)",
			"exec('while True: pass')",
			"threading.Event().wait()",
			"subprocess.run(['cat'], stdin=os.pipe()[0])", // ends with this process, if an interrupt hits the moment of its end
			"queue.Queue().get()",
			"[pair.append(socket.socketpair()), pair[-1][0].recv(1)]",
		} {
			if err := s.interrupted(code); err != nil {
				return err
			}
		}
		return s.eval("1 + 1", "2")
	},
	"interrupts work after system() and after a change of handlers": func(s *session) error {
		for _, code := range []string{
			"os.system('sleep 0.2')", "os.system('true')", "signal.signal(signal.SIGINT, signal.SIG_IGN)",
		} {
			if _, err := s.call(code); err != nil {
				return err
			}
		}
		return s.interrupted("time.sleep(600)")
	},
	"interrupts never reach the next request":      neverInterruptedLate,
	"interrupts never reach the next lent request": lent(neverInterruptedLate),
	"lent work calls on Python's thread": lent(func(s *session) error {
		return s.evalAll("1 + 1", "2", "threading.get_native_id() == os.getpid()", "True", "1 / 0", "ZeroDivisionError",
			"len('"+strings.Repeat("x", 64<<20)+"')", strconv.Itoa(64<<20), "len('x' * 10**7)", "10000000")
	}),
	"lent work answers what is asked before the reply": lent(func(s *session) error {
		var frames []string
		err := s.channel.Call([]byte("ask('first') + 'x'"), func(frame []byte) bool {
			frames = append(frames, string(frame))
			return len(frames) == 2 || s.channel.Send([]byte("answer")) != nil
		})
		if want := "ask first, answerx"; err != nil || strings.Join(frames, ", ") != want {
			return fmt.Errorf("Python said %q, %v; want %s", frames, err, want)
		}
		return nil
	}),
	"Python has its thread while lent work does something beside it": lent(func(s *session) error {
		did := false
		s.channel.Aside(func() { did = true })
		var panicked any
		func() {
			defer func() { panicked = recover() }()
			s.channel.Aside(func() { panic("of the work") })
		}()
		if !did || panicked != "of the work" {
			return fmt.Errorf("the work was done: %v, its panic is %v", did, panicked)
		}
		return s.eval("stood_by", "[b'\\x00', b'\\x00']")
	}),
	"a forked child of a lent call ends where it would reply": lent(func(s *session) error {
		return s.eval("fork_and_return()", "1")
	}),
	"lent calls are interrupted": func(s *session) error {
		for _, code := range []string{"time.sleep(600)", "exec('while True: pass')", "threading.Event().wait()"} {
			done := make(chan error, 1)
			if !s.channel.Lend(func() { done <- s.eval(code, "KeyboardInterrupt") }) {
				return errors.New("the thread is not lent")
			}
			for ended := false; !ended; {
				select {
				case err := <-done:
					if err != nil {
						return err
					}
					ended = true
				case <-time.After(50 * time.Millisecond):
					s.channel.Interrupt()
				}
			}
		}
		return s.eval("1 + 1", "2")
	},
	"the lent thread waits for input and gives way": func(s *session) error {
		input, feed, err := os.Pipe()
		if err != nil {
			return err
		}
		defer input.Close()
		defer feed.Close()
		for _, test := range []struct {
			event string
			cause func() error
			want  bool
		}{
			{"input", func() error { _, err := feed.WriteString("x"); return err }, true},
			{"input again", func() error { return nil }, true},
			{"nothing more", func() error { _, err := input.Read(make([]byte, 1)); return errors.Join(err, s.eval("1 + 1", "2")) }, false},
			{"a descriptor of Python's", func() error { return s.eval("os.write(wake, b'x')", "1") }, false},
			{"still that descriptor", func() error { return nil }, false},
		} {
			got := make(chan bool, 1)
			if !s.channel.Lend(func() { got <- s.channel.Wait(int(input.Fd())) }) {
				return errors.New("the thread is not lent")
			}
			if err := test.cause(); err != nil {
				return fmt.Errorf("%s: %w", test.event, err)
			}
			if ready := <-got; ready != test.want {
				return fmt.Errorf("%s: Wait said %v", test.event, ready)
			}
		}
		return nil
	},
	"the stack is read while C code keeps the GIL": func(s *session) error {
		stacks, err := cpython.NewStacks()
		if err != nil {
			return err
		}
		started := func(code, want string) (text string, err error) {
			read, write, err := os.Pipe()
			if err != nil {
				return "", err
			}
			done := make(chan error, 1)
			go func() { done <- s.eval(fmt.Sprintf("(os.write(%d, b'x'), %s)[1]", write.Fd(), code), want) }()
			if _, err := read.Read(make([]byte, 1)); err != nil {
				return "", err
			}
			// Again where the call had not begun to sleep.
			for {
				text += stacks.Read()
				select {
				case err := <-done:
					return text, errors.Join(err, read.Close(), write.Close())
				default:
				}
			}
		}
		register := fmt.Sprintf("faulthandler.register(%d, file=%d, all_threads=False)", cpython.StackSignal, stacks.PythonFD())
		if text := stacks.Read(); text != "" {
			return fmt.Errorf("without a handler the stack is %q", text)
		}
		if err := s.eval(register, "None"); err != nil {
			return err
		}
		text, err := started("ctypes.PyDLL(None).usleep(600 * 10**6)", "-1")
		if err != nil || !strings.HasPrefix(text, "Stack (most recent call first):\n  File \"<string>\", line 1 in <module>\n") {
			return fmt.Errorf("the stack is %q, %v", text, err)
		}
		if err := s.eval(fmt.Sprintf("faulthandler.unregister(%d)", cpython.StackSignal), "True"); err != nil {
			return err
		}
		if text := stacks.Read(); text != "" {
			return fmt.Errorf("without the handler the stack is %q", text)
		}
		return s.eval("1 + 1", "2")
	},
	"foreign signals are reported whatever user code does": func(s *session) error {
		for _, set := range []string{"None", "signal.signal(signal.SIGTERM, signal.SIG_IGN)", "signal.signal(signal.SIGTERM, signal.SIG_DFL)"} {
			if _, err := s.call(set); err != nil {
				return err
			}
			if err := fromOutside("TERM"); err != nil {
				return err
			}
			if err := s.reported(unix.SIGTERM); err != nil {
				return fmt.Errorf("after %s: %w", set, err)
			}
		}
		if err := fromOutside("INT"); err != nil {
			return err
		}
		return s.reported(unix.SIGINT)
	},
	"foreign signals are reported while user code runs": func(s *session) error {
		running := make(chan error, 1)
		go func() {
			running <- s.eval("[signal.signal(signal.SIGTERM, signal.SIG_IGN), time.sleep(600)]", "KeyboardInterrupt")
		}()
		seen := make(chan error, 1)
		go func() { seen <- s.reported(unix.SIGTERM) }()
		for {
			if err := fromOutside("TERM"); err != nil { // ignored until the guard is repaired
				return err
			}
			select {
			case err := <-seen:
				if err != nil {
					return err
				}
				for s.channel.Interrupt() {
					time.Sleep(10 * time.Millisecond)
				}
				return <-running
			case <-time.After(20 * time.Millisecond):
			}
		}
	},
	"signals are as plain Python's": func(s *session) error {
		if err := s.evalAll(
			"[n.name for n in signal.valid_signals() if isinstance(n, signal.Signals) and signal.getsignal(n) is None and n.name not in kept]", "[]",
			"signal.signal(signal.SIGALRM, signal.signal(signal.SIGALRM, print))", "<built-in function print>",
		); err != nil {
			return err
		}
		return s.nothingReported()
	},
	"own signals reach user code's handler": func(s *session) error {
		if err := s.evalAll(
			"signal.signal(signal.SIGTERM, lambda *_: seen.append('term')) and None", "None",
			"[os.kill(os.getpid(), signal.SIGTERM), time.sleep(0)] and seen", "['term']",
			"[signal.raise_signal(signal.SIGINT), time.sleep(600)]", "KeyboardInterrupt",
		); err != nil {
			return err
		}
		return s.nothingReported()
	},
	"forked children die of SIGTERM by default": func(s *session) error {
		if err := s.evalAll("fork_and_terminate()", strconv.Itoa(int(unix.SIGTERM)),
			"exec_and_terminate()", strconv.Itoa(-int(unix.SIGTERM))); err != nil {
			return err
		}
		return s.nothingReported()
	},
	"a child that is terminated right after the fork is no end of ours": func(s *session) error {
		if err := s.eval("fork_and_terminate_at_once()", "None"); err != nil {
			return err
		}
		return s.nothingReported()
	},
	"ends orderly": func(s *session) error {
		return s.eval("atexit.register(os.write, 2, b'atexit ran\\n') and None", "None")
	},
	"a call after the end fails": func(s *session) error {
		if _, err := s.call("stop()"); !errors.Is(err, cpython.ErrClosed) {
			return fmt.Errorf("got %v", err)
		}
		if _, err := s.call("1"); !errors.Is(err, cpython.ErrClosed) {
			return fmt.Errorf("got %v", err)
		}
		return nil
	},
}

func TestInterpreter(t *testing.T) {
	python, library := bundledPython(t)
	for name := range scenarios {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			child := exec.CommandContext(t.Context(), os.Args[0])
			child.Env = append(os.Environ(), scenarioVariable+"="+name, "CPYTHON_TEST_PYTHON="+python, "CPYTHON_TEST_LIBRARY="+library)
			var stderr bytes.Buffer
			child.Stderr = &stderr
			if err := child.Run(); err != nil {
				t.Fatalf("%v\n%s", err, &stderr)
			}
			if name == "ends orderly" && stderr.String() != "atexit ran\n" {
				t.Errorf("stderr is %q", &stderr)
			}
		})
	}
}

func bundledPython(t *testing.T) (python, library string) {
	t.Helper()
	cache, cleanup, err := bundle.OpenCache("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cleanup(); err != nil {
			t.Error(err)
		}
	})
	tree, err := cache.CPython(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return tree.Path(bundle.Interpreter), tree.Path(bundle.Library)
}

func TestLoad_Refuses(t *testing.T) {
	noLibrary := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(noLibrary, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, path, want string }{
		{"missing", filepath.Join(t.TempDir(), "none.so"), "No such file"},
		{"no library", noLibrary, "choose an interpreter"},
		{"another library", "libm.so.6", "Py_"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := cpython.Load(test.path)
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), test.path) ||
				strings.Contains(err.Error(), "\n") {
				t.Errorf("Load(%q) says %v", test.path, err)
			}
		})
	}
}
