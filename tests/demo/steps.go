package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

type arguments = map[string]any

type step struct {
	title string
	act   func(context.Context, *session) error
}

var steps = []step{
	{"The tools", listTools},
	{"The Python inside: nothing was installed", versions},
	{"Define a function; it stays", define},
	{"Call it with JSON arguments", callFunction},
	{"Look around", lookAround},
	{"Make it a tool of its own", registerTool},
	{"Write a library module and import it", importModule},
	{"Edit it, reload it", editModule},
	{"An error is an answer to read", readError},
	{"A picture comes back as a picture", drawPicture},
	{"A cell that takes long: look at it, interrupt it, go on", interruptCell},
	{"A million lines come back bounded", printMillion},
	{"The server answers while Python is busy", stayResponsive},
}

func listTools(ctx context.Context, s *session) error {
	list, err := s.client.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return err
	}
	for _, tool := range list.Tools {
		s.voice.item(tool.Name, tool.Title)
	}
	if len(list.Tools) == 0 {
		return errors.New("the server offers no tool")
	}
	return nil
}

func versions(ctx context.Context, s *session) error {
	return s.cell(ctx, `import sys, IPython
print("Python", sys.version.split()[0], "and IPython", IPython.__version__)
print(sys.executable)`, "Python 3.", "IPython 9.")
}

const areaSignature = "area(width: float, height: float = 1.0) -> float"

func define(ctx context.Context, s *session) error {
	return s.cell(ctx, "def "+areaSignature+`:
    """Area of a rectangle."""
    return width * height`)
}

func callFunction(ctx context.Context, s *session) error {
	given := arguments{"name": "area", "arguments": arguments{"width": 3, "height": 4.5}}
	return s.tool(ctx, "call_function", given, "13.5")
}

func lookAround(ctx context.Context, s *session) error {
	if err := s.tool(ctx, "list", arguments{}, areaSignature); err != nil {
		return err
	}
	if err := s.tool(ctx, "search", arguments{"query": "AREA"}, "area"); err != nil {
		return err
	}
	return s.tool(ctx, "inspect", arguments{"name": "area"}, "Area of a rectangle.")
}

func registerTool(ctx context.Context, s *session) error {
	if err := s.tool(ctx, "register_tool", arguments{"name": "area"}, "area"); err != nil {
		return err
	}
	return s.tool(ctx, "area", arguments{"width": 2, "height": 0.5}, "1.0")
}

// writeModule writes the demo's library module, as an agent does with its own file tools.
func writeModule(s *session, source string) error {
	path := filepath.Join(s.library, "pricing.py")
	s.voice.file("pricing.py", source)
	return os.WriteFile(path, []byte(source), 0o600)
}

func importModule(ctx context.Context, s *session) error {
	if err := writeModule(s, "def total(net):\n    return net * 1.19\n"); err != nil {
		return err
	}
	return s.cell(ctx, "from pricing import total\ntotal(100)", "119.0")
}

// editModule edits within the same second and to the same size, where stale byte code would hide the change. The imported name stays the
// old function until it is bound anew.
func editModule(ctx context.Context, s *session) error {
	if err := writeModule(s, "def total(net):\n    return net * 1.07\n"); err != nil {
		return err
	}
	module := []string{"pricing"}
	if err := s.tool(ctx, "reload", arguments{"modules": module}, "stale total"); err != nil {
		return err
	}
	if err := s.tool(ctx, "reload", arguments{"modules": module, "refresh": true}, "refreshed: total"); err != nil {
		return err
	}
	return s.cell(ctx, "total(100)", "107.0")
}

func readError(ctx context.Context, s *session) error {
	return s.cell(ctx, `def rate(rates, country):
    return rates[country]

rate({"de": 0.19}, "fr")`, "Cell [", "in rate", "KeyError: 'fr'")
}

// drawPicture makes a PNG of nothing but the standard library; with matplotlib in an environment, a figure shows by itself.
func drawPicture(ctx context.Context, s *session) error {
	return s.cell(ctx, `import struct, zlib
from IPython.display import Image

def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

width, height = 64, 48
header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
rows = b"".join(b"\0" + bytes(c for x in range(width) for c in (4 * x, 5 * y, 128)) for y in range(height))
Image(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))`,
		"64x48 png", "[image/png")
}

func interruptCell(ctx context.Context, s *session) error {
	code := "import time\nfor step in range(1000):\n    print('step', step)\n    time.sleep(0.2)"
	if err := s.started(ctx, 0.5, code, "step 0", "still runs"); err != nil {
		return err
	}
	if err := s.tool(ctx, "get_execution", arguments{"wait_seconds": 0.5}, "step 1", "still runs"); err != nil {
		return err
	}
	if err := s.tool(ctx, "interrupt", arguments{}, "has ended"); err != nil {
		return err
	}
	if err := s.tool(ctx, "get_execution", arguments{}, "KeyboardInterrupt"); err != nil {
		return err
	}
	return s.cell(ctx, "print('the names are still there: step is', step)", "step is")
}

// Each of the million lines is "line ", a number and a newline; the answer keeps the default of both ends.
const (
	lines        = 1_000_000
	digits       = 10*1 + 90*2 + 900*3 + 9_000*4 + 90_000*5 + 900_000*6
	printedChars = lines*len("line \n") + digits
	keptChars    = 8192
)

func printMillion(ctx context.Context, s *session) error {
	marker := fmt.Sprintf("… %d characters omitted (of %d)", printedChars-keptChars, printedChars)
	started := time.Now()
	code := "for number in range(1_000_000):\n    print('line', number)"
	if err := s.cell(ctx, code, "line 0\n", marker, "line 999999"); err != nil {
		return err
	}
	s.voice.note("%d characters were printed, %d came back, after %v", printedChars, keptChars,
		time.Since(started).Round(time.Millisecond))
	return nil
}

// stayResponsive asks for the tool list: what mcp-go's client calls a ping is, in the newest protocol, no message.
func stayResponsive(ctx context.Context, s *session) error {
	outcome := make(chan error, 1)
	code := "import time\nend = time.monotonic() + 1\nwhile time.monotonic() < end:\n    pass\n'done'"
	s.voice.code(code)
	go func() {
		text, err := s.call(ctx, "execute", arguments{"code": code})
		if err == nil && !strings.Contains(text, "done") {
			err = fmt.Errorf("the cell answered %q", text)
		}
		outcome <- err
	}()
	return s.countAnswers(ctx, outcome)
}

// countAnswers asks for the tool list until the outcome is there.
func (s *session) countAnswers(ctx context.Context, outcome <-chan error) error {
	answered, slowest := 0, time.Duration(0)
	for {
		select {
		case err := <-outcome:
			if err == nil && answered == 0 {
				err = errors.New("tools/list was not answered meanwhile")
			}
			s.voice.note("tools/list was answered %d times meanwhile, within %v at most", answered,
				slowest.Round(time.Millisecond))
			return err
		default:
		}
		asked := time.Now()
		if _, err := s.client.ListTools(ctx, mcp.ListToolsRequest{}); err != nil {
			return err
		}
		answered, slowest = answered+1, max(slowest, time.Since(asked))
		time.Sleep(10 * time.Millisecond) // the pace of the demonstration
	}
}
