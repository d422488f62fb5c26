package descriptors

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// scenarios run in a process of their own each, because Take changes the descriptors of the whole process.
var scenarios = map[string]func(*Stdio) error{
	"captures each stream in order": func(s *Stdio) error {
		return expectAfter(s, "one\nout\nthree\n", "err\n", func() error {
			if err := write(1, "one\n"); err != nil {
				return err
			}
			child := exec.Command("sh", "-c", "echo out; echo err >&2")
			child.Stdout, child.Stderr = os.Stdout, os.Stderr
			if err := child.Run(); err != nil {
				return err
			}
			return write(1, "three\n")
		})
	},
	"keeps the originals": func(s *Stdio) error {
		line, err := io.ReadAll(s.In)
		if err != nil || string(line) != "from the client" {
			return fmt.Errorf("In gave %q, %v", line, err)
		}
		if _, err := s.Out.WriteString("to the client"); err != nil {
			return err
		}
		_, err = s.Log.WriteString("to the log")
		return err
	},
	"reads end of file from 0": func(s *Stdio) error {
		n, err := unix.Read(0, make([]byte, 1))
		if n != 0 || err != nil {
			return fmt.Errorf("read gave %d, %v", n, err)
		}
		return nil
	},
	"repairs closed descriptors": func(s *Stdio) error {
		return expectAfter(s, "out\n", "err\n", func() error {
			for fd := range 3 {
				if err := unix.Close(fd); err != nil {
					return err
				}
			}
			return restoreAndWrite(s)
		})
	},
	"repairs replaced descriptors": func(s *Stdio) error {
		return expectAfter(s, "out\n", "err\n", func() error {
			other, err := unix.Open(os.DevNull, unix.O_RDWR, 0)
			if err != nil {
				return err
			}
			for fd := range 3 {
				if err := unix.Dup2(other, fd); err != nil {
					return err
				}
			}
			return restoreAndWrite(s)
		})
	},
	"makes the pipes blocking again": func(s *Stdio) error {
		for _, fd := range []int{1, 2} {
			if err := unix.SetNonblock(fd, true); err != nil {
				return err
			}
		}
		if err := s.Restore(); err != nil {
			return err
		}
		for _, fd := range []uintptr{1, 2} {
			flags, err := unix.FcntlInt(fd, unix.F_GETFL, 0)
			if err != nil || flags&unix.O_NONBLOCK != 0 {
				return fmt.Errorf("descriptor %d has flags %#x, %v", fd, flags, err)
			}
		}
		return nil
	},
	"redirects exactly": func(s *Stdio) error {
		for round := range 2000 {
			var before, after bytes.Buffer
			s.Redirect(&before, io.Discard)
			if err := write(1, fmt.Sprint("before ", round)); err != nil {
				return err
			}
			s.Redirect(&after, io.Discard)
			if err := write(1, fmt.Sprint("after ", round)); err != nil {
				return err
			}
			s.Redirect(io.Discard, io.Discard)
			if before.String() != fmt.Sprint("before ", round) || after.String() != fmt.Sprint("after ", round) {
				return fmt.Errorf("round %d: %q, %q", round, &before, &after)
			}
		}
		return nil
	},
	"does not wait for an endless writer": func(s *Stdio) error {
		child := exec.Command("yes")
		child.Stdout = os.Stdout
		if err := child.Start(); err != nil {
			return err
		}
		defer child.Wait()
		defer child.Process.Kill()
		for range 100 {
			s.Drain()
		}
		return nil
	},
	"takes more than the pipe holds": func(s *Stdio) error {
		const size = 8 << 20
		return expectAfter(s, strings.Repeat("x", size), "", func() error {
			return write(1, strings.Repeat("x", size))
		})
	},
}

func expectAfter(s *Stdio, stdout, stderr string, act func() error) error {
	var out, err bytes.Buffer
	s.Redirect(&out, &err)
	if failed := act(); failed != nil {
		return failed
	}
	s.Redirect(io.Discard, io.Discard)
	if out.String() != stdout || err.String() != stderr {
		return fmt.Errorf("captured %.80q and %.80q", &out, &err)
	}
	return nil
}

func restoreAndWrite(s *Stdio) error {
	if err := s.Restore(); err != nil {
		return err
	}
	if err := write(1, "out\n"); err != nil {
		return err
	}
	if n, err := unix.Read(0, make([]byte, 1)); n != 0 || err != nil {
		return fmt.Errorf("reading descriptor 0 gave %d, %v", n, err)
	}
	return write(2, "err\n")
}

func write(fd int, text string) error {
	for data := []byte(text); len(data) > 0; {
		n, err := unix.Write(fd, data)
		if err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// scenarioVariable makes the test binary run one scenario instead of the tests.
const scenarioVariable = "DESCRIPTORS_TEST_SCENARIO"

func TestMain(m *testing.M) {
	name := os.Getenv(scenarioVariable)
	if name == "" {
		os.Exit(m.Run())
	}
	s, err := Take()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := scenarios[name](s); err != nil {
		fmt.Fprintln(s.Log, err)
		os.Exit(1)
	}
}

func TestStdio(t *testing.T) {
	for name := range scenarios {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			child := exec.CommandContext(t.Context(), os.Args[0])
			child.Env = append(os.Environ(), scenarioVariable+"="+name)
			child.Stdin = strings.NewReader("from the client")
			var stdout, stderr bytes.Buffer
			child.Stdout, child.Stderr = &stdout, &stderr
			child.WaitDelay = 10 * time.Second
			if err := child.Run(); err != nil {
				t.Fatalf("%v\n%s", err, &stderr)
			}
			if name == "keeps the originals" && (stdout.String() != "to the client" || stderr.String() != "to the log") {
				t.Errorf("the client got %q, the log %q", &stdout, &stderr)
			}
		})
	}
}
