package tests

import (
	"strings"
	"testing"
)

// What fails in a task or a thread after its cell stands in a later answer, with frames of the user's alone.
func TestBackgroundFailures(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]string{
		"task":   "task = asyncio.create_task(fails())",
		"thread": "threading.Thread(target=lambda: asyncio.run(fails())).start()",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := connect(t, options{})
			s.succeed("import asyncio, threading\ngo = threading.Event()\nasync def fails():\n" +
				"    while not go.is_set(): await asyncio.sleep(0.001)\n    raise ValueError('late')\n")
			s.succeed(code)
			var output string
			eventually(t, "the traceback", func() bool {
				e := s.succeed("go.set()")
				output += e.BackgroundOutput + e.Stderr
				return strings.Contains(output, "ValueError: late")
			})
			if !strings.Contains(output, `File "Cell [1]", line 5, in fails`) || strings.Contains(output, "ipymcp") {
				t.Errorf("the output is %s", output)
			}
		})
	}
}
