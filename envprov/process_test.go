package envprov

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// shellProgram is a program that runs a shell script.
func shellProgram(script string, limit time.Duration, redactor *Redactor) program {
	return program{path: "/bin/sh", args: []string{"-c", script}, dir: "/", limit: limit, redact: redactor.Redact}
}

func TestProgram_BoundsItsOutput(t *testing.T) {
	secret := strings.Repeat("S", 3000)
	redactor := NewRedactor(map[string]string{"A": secret}, nil)
	const many = `i=0; while [ $i -lt 3000 ]; do echo "line $i is of some length, so that all are too much"; ` +
		`i=$((i+1)); done`
	tests := []struct{ name, script, last string }{
		{"many lines", many, "line 2999 is of some length, so that all are too much"},
		{"a long line", `head -c 300000 /dev/zero | tr '\0' x`, "…"},
		{
			"a secret where a line is cut", `head -c 64000 /dev/zero | tr '\0' x; head -c 3000 /dev/zero | tr '\0' S`,
			"…",
		},
		{"a secret in a cut line", `head -c 3000 /dev/zero | tr '\0' S; head -c 300000 /dev/zero | tr '\0' x`, "…"},
		{"both streams", "echo one; echo two >&2", "two"},
		{"terminal sequences", `printf '\033[31mred\033[0m\033]0;title\007 \rlast\b'`, "last"},
		{"no text", `printf '\377\376'`, "�"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			output, err := shellProgram(test.script, time.Minute, redactor).run(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if len(output) > maxKeptBytes+100 || !strings.HasSuffix(output, test.last) {
				t.Errorf("%d bytes that end in %.60q, want %q at the end", len(output),
					output[max(0, len(output)-60):], test.last)
			}
			if strings.Contains(output, "SSSS") || strings.ContainsAny(output, "\x1b\a\b\r") {
				t.Errorf("the output is %.200q", output)
			}
		})
	}
}

func TestProgram_EndsItsWholeGroup(t *testing.T) {
	output, err := shellProgram("sleep 60 & echo $!; wait", 200*time.Millisecond, nil).run(context.Background())
	if !errors.Is(err, errTimeLimit) {
		t.Fatalf("the error is %v", err)
	}
	waitUntil(t, "the child has ended", func() bool { return ended(atoi(t, output)) })
}

func TestProgram_RunsWithNoSignalBlocked(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before unix.Sigset_t
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &unix.Sigset_t{Val: [16]uint64{1 << (unix.SIGUSR1 - 1)}}, &before); err != nil {
		t.Fatal(err)
	}
	defer unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil)
	grep := shellProgram("", time.Minute, nil) // not by a shell: dash clears its mask itself
	grep.path, grep.args = "/bin/grep", []string{"SigBlk", "/proc/self/status"}
	output, err := grep.run(context.Background())
	if err != nil || strings.Trim(output, "SigBlk:\t 0") != "" {
		t.Errorf("%q, %v", output, err)
	}
}

// TestProgram_DoesNotWaitForWhatHoldsItsOutput: something that left the group keeps the pipe open for long.
func TestProgram_DoesNotWaitForWhatHoldsItsOutput(t *testing.T) {
	begun := time.Now()
	output, err := shellProgram("setsid sleep 20 & echo done $!", time.Minute, nil).run(context.Background())
	if err != nil || !strings.HasPrefix(output, "done") {
		t.Errorf("%q, %v", output, err)
	}
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
	end(t, atoi(t, strings.TrimPrefix(output, "done ")))
}
