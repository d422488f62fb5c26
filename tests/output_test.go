package tests

import (
	"fmt"
	"strings"
	"testing"
)

// outputPage is the answer of read_output.
type outputPage struct {
	OK         bool
	Text       string
	NextOffset *int64 `json:"next_offset"`
	Total      int64  `json:"total_chars"`
	Error      *failure
}

// whole pages through a stream of an execution.
func (s *server) whole(execution, stream string) string {
	s.t.Helper()
	var text strings.Builder
	for next := int64(0); ; {
		page := decodeInto[outputPage](s.t, s.call("read_output", map[string]any{
			"execution_id": execution, "stream": stream, "offset": next,
		}).Structured)
		if !page.OK {
			s.t.Fatalf("read_output of %s at %d: %v", execution, next, page.Error)
		}
		text.WriteString(page.Text)
		if page.NextOffset == nil {
			return text.String()
		}
		if *page.NextOffset <= next {
			s.t.Fatalf("read_output goes from %d to %d", next, *page.NextOffset)
		}
		next = *page.NextOffset
	}
}

// A page behind the end says so, and not that there was no output.
func TestOutput_BehindTheEnd(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	id := *s.succeed("print('abc')").ExecutionID
	for stream, want := range map[string]string{
		"stdout": "[nothing is left from offset=9 on: 4 of 4 characters can be read]",
		"stderr": "nothing was printed",
	} {
		if text := s.call("read_output", map[string]any{"execution_id": id, "stream": stream, "offset": 9}).text(); text != want {
			t.Errorf("%s: %s", stream, text)
		}
	}
}

// A cut stream keeps exactly the allowed number of characters, half of them from each end, around a marker that is not
// counted and says how to read the rest; the number left out is exact; the whole text can be paged.
func TestOutput_Cut(t *testing.T) {
	t.Parallel()
	s := connect(t, options{env: []string{"IPYTHON_MCP_MAX_TEXT_CHARS=101"}})
	for _, text := range []string{
		strings.Repeat("é", 50) + strings.Repeat("x", 1000) + strings.Repeat("👩", 51),
		strings.Repeat("line\n", 500),
		strings.Repeat("日本語\n", 300),
	} {
		for _, stream := range []string{"stdout", "stderr"} {
			e := s.succeed(fmt.Sprintf("import sys\nsys.%s.write(%s);", stream, quoted(text)))
			shown, omitted, cut := e.Stdout, e.Truncated.StdoutOmitted, e.Truncated.Stdout
			if stream == "stderr" {
				shown, omitted, cut = e.Stderr, e.Truncated.StderrOmitted, e.Truncated.Stderr
			}
			characters := []rune(text)
			total := int64(len(characters))
			if !cut || omitted != total-101 {
				t.Errorf("%d of %d characters are said to be omitted", omitted, total)
			}
			head, tail := shown[:strings.Index(shown, "…")], shown[strings.LastIndex(shown, "…")+len("…"):]
			head, tail = strings.TrimSuffix(head, "\n"), strings.TrimPrefix(tail, "\n")
			if kept := len(
				[]rune(head),
			) + len(
				[]rune(tail),
			); kept < 99 || kept > 101 || !strings.HasPrefix(text, head) ||
				!strings.HasSuffix(text, tail) {
				t.Errorf("%q is no head and tail of the text: %d characters", shown, kept)
			}
			marker := fmt.Sprintf(
				"… %d characters omitted (of %d); read_output execution_id=%s stream=%s",
				omitted,
				total,
				*e.ExecutionID,
				stream,
			)
			if !strings.Contains(shown, marker) {
				t.Errorf("%q lacks %q", shown, marker)
			}
			if got := s.whole(*e.ExecutionID, stream); got != text {
				t.Errorf("read_output gives %d bytes instead of %d", len(got), len(text))
			}
		}
	}
}

// The output of the last fifty executions can be read; older ones are gone, with a code.
func TestOutput_IsKeptForTheLastExecutions(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	first := *s.succeed("print('first')").ExecutionID
	if got := s.whole(first, "stdout"); got != "first\n" {
		t.Errorf("the first execution printed %q", got)
	}
	for i := range 60 {
		s.succeed(fmt.Sprintf("print(%d)", i))
	}
	page := decodeInto[outputPage](t, s.call("read_output", map[string]any{"execution_id": first}).Structured)
	if page.OK || page.Error.Code != "execution_not_found" {
		t.Errorf("after sixty more: %+v", page)
	}
}

// A C function that writes a megabyte to a descriptor while it holds the GIL does not deadlock, and nothing is lost.
func TestOutput_MegabyteFromCWhileTheGILIsHeld(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	for _, fd := range []int{1, 2} {
		e := s.succeed(fmt.Sprintf("import ctypes\nctypes.PyDLL(None).write(%d, b'x' * 2**20, 2**20)", fd))
		omitted := e.Truncated.StdoutOmitted + e.Truncated.StderrOmitted
		if string(e.Result) != "1048576" || omitted != 1<<20-8192 {
			t.Errorf("descriptor %d: %s written, %d omitted", fd, e.Result, omitted)
		}
	}
	e := s.succeed("libc = ctypes.PyDLL(None)\nfor _ in range(8): libc.write(1, b'y' * 2**20, 2**20)")
	if e.Truncated.StdoutOmitted != 8<<20-8192 {
		t.Errorf("%d omitted", e.Truncated.StdoutOmitted)
	}
}

// Memory is bounded however much is written, also where it is one line without an end.
func TestOutput_MemoryIsBounded(t *testing.T) {
	t.Parallel()
	s := connect(t, options{env: []string{"IPYTHON_MCP_MAX_SPOOL_BYTES=1000000"}})
	s.succeed("for _ in range(1000): print('x' * 1000)")
	before := resident(t, s.command.Process.Pid)
	for _, code := range []string{
		"for _ in range(2000): print('x' * 50_000)",
		"import os\nfor _ in range(2000): os.write(1, b'x' * 50_000)",
		"for _ in range(2000): print('x' * 50_000, end='\\r')",
		"import subprocess\nsubprocess.run(['sh', '-c', 'head -c 100000000 /dev/zero']);",
	} {
		e := s.succeed(code)
		if e.Truncated.StdoutOmitted < 40_000 && !strings.Contains(code, `\r`) {
			t.Errorf("%s: %d omitted", code, e.Truncated.StdoutOmitted)
		}
	}
	if grown := resident(t, s.command.Process.Pid) - before; grown > 64<<20 {
		t.Errorf("memory grew by %d bytes", grown)
	}
}

// What threads and children write between calls comes with the next execution, as background output.
func TestOutput_Background(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.succeed("import threading, os\ngo, done = threading.Event(), threading.Event()\n" +
		"def later():\n" +
		"    go.wait(); print('from a thread', flush=True); os.system('echo from a child'); done.set()\n" +
		"threading.Thread(target=later).start()\nasync def start(): go.set()\n" +
		"import asyncio\nasyncio.get_event_loop().call_later(0.05, go.set);")
	var all strings.Builder
	eventually(t, "the output of the thread", func() bool {
		e := s.succeed("1")
		all.WriteString(e.BackgroundOutput + e.Stdout)
		return strings.Contains(all.String(), "from a thread\nfrom a child\n")
	})
	if e := s.succeed("1"); e.BackgroundOutput != "" {
		t.Errorf("it came twice: %q", e.BackgroundOutput)
	}
}

// A module whose import prints from C: a preload's output goes to the log, never to the wire; an import's to the
// answer.
func TestOutput_OfImports(t *testing.T) {
	t.Parallel()
	loud := "import ctypes, os, sys\nctypes.CDLL(None).puts(b'loud from C')\nprint('loud from Python')\n" +
		"os.system('echo loud from a child')\n"
	s := connect(t, options{
		library: map[string]string{"loud.py": loud, "loud_too.py": loud},
		env:     []string{"IPYTHON_MCP_PRELOAD_MODULES=loud"},
	})
	e := s.succeed("import loud_too")
	for _, part := range []string{"loud from C\n", "loud from Python\n", "loud from a child\n"} {
		if !strings.Contains(e.Stdout, part) {
			t.Errorf("%q is not in the answer: %q", part, e.Stdout)
		}
		if !strings.Contains(s.stderr(), part) {
			t.Errorf("%q of the preload is not in the log", part)
		}
	}
}

// Display payloads beyond the limit are dropped and said to be.
func TestOutput_Displays(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	e := s.succeed("for n in range(30): display(n)")
	if len(e.DisplayData) != 20 || !e.Truncated.DisplayData {
		t.Errorf("%d displays, truncated %+v", len(e.DisplayData), e.Truncated)
	}
	e = s.succeed("from IPython.display import SVG, display, JSON\n" +
		"display(SVG('<svg xmlns=\"http://www.w3.org/2000/svg\">' + 'x' * 100_000 + '</svg>'))")
	if len(e.DisplayData) != 1 || len([]rune(e.DisplayData[0].Data["image/svg+xml"].(string))) > 8192 {
		t.Errorf("the SVG is %.200v", e.DisplayData)
	}
	for _, code := range []string{
		"display({'text/plain': 'a', 'x/y': object()}, raw=True)",
		"display({'text/plain': '\\ud83d'}, raw=True)",
		"class R:\n    def _repr_html_(self): return 1/0\ndisplay(R())",
		"class R:\n" +
			"    def _repr_mimebundle_(self, **k): return {'application/json': {'a': float('nan')}, 'text/plain': 'nan'}\ndisplay(R())",
		"d = display('one', display_id=True)\nd.update('two')",
		"from IPython.display import clear_output\nprint('gone')\nclear_output()\nprint('stays')",
		"import sys\nsys.displayhook(5)",
	} {
		s.cell(code)
		s.works(code)
	}
}

// An integer in full, however long.
func TestOutput_HugeIntegers(t *testing.T) {
	t.Parallel()
	s := connect(t, options{env: []string{"PYTHONINTMAXSTRDIGITS=640"}})
	s.equals("10**5000", "1"+strings.Repeat("0", 5000))
	s.equals("[-(10**5000), {'n': 10**6000}]", "[-1"+strings.Repeat("0", 5000)+`,{"n":1`+strings.Repeat("0", 6000)+"}]")
	s.succeed("def echo(n): return n")
	digits := strings.Repeat("7", 5000)
	s.sendLine(
		`{"jsonrpc":"2.0","id":"big","method":"tools/call","params":{"name":"call_function","arguments":{"name":"echo","arguments":{"n":` + digits + `}}}}`,
	)
	if a := s.toolAnswer(`"big"`); !strings.Contains(string(a.Structured), `"result":`+digits) {
		t.Errorf("it comes back as %.300s", a.Structured)
	}
}

// What is written to a stream that user code makes goes where that stream goes, whatever class it has.
func TestOutput_StreamOfTheSameClass(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.succeed("import io, sys\nkept = io.BytesIO()\nstream = type(sys.stdout)(kept, 'utf-8', write_through=True)\nWrite = type('Write', (type(sys.stdout),), {})")
	for code, want := range map[string]string{
		"stream.write('text')\nprint('line', file=stream)\nkept.getvalue().decode()":                                                                `"textline\n"`,
		"other = io.BytesIO(); more = Write(other)\nmore.write('é'); more.flush()\nother.getvalue().decode()":                                       `"é"`,
		"other = io.BytesIO(); more = Write(other)\nmore.reconfigure(newline='\\r\\n'); more.write('\\n'); more.flush()\nother.getvalue().decode()": `"\r\n"`,
	} {
		if e := s.succeed(code); string(e.Result) != want || e.Stdout != "" {
			t.Errorf("%s gives %s and prints %q", code, e.Result, e.Stdout)
		}
	}
	if e := s.succeed("write = sys.stdout.write\nsys.stdout.write = lambda text: write(text.upper())\nprint('loud')\nsys.stdout.reconfigure(); print('still')\n" +
		"del sys.stdout.write; print('plain')"); e.Stdout != "LOUD\nSTILL\nplain\n" {
		t.Errorf("a method in front of its own prints %q", e.Stdout)
	}
}
