package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

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
	{"Write a library module and import it", importModule},
	{"Edit it, reload it", editModule},
	{"An error is an answer to read", readError},
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
	_, err := s.cell(ctx, "import sys, IPython\nprint(sys.version.split()[0], IPython.__version__, sys.executable, sep='\\n')", "3.")
	return err
}

func define(ctx context.Context, s *session) error {
	_, err := s.cell(ctx, "def area(width: float, height: float = 1.0) -> float:\n    \"\"\"Area of a rectangle.\"\"\"\n    return width * height")
	return err
}

func callFunction(ctx context.Context, s *session) error {
	_, err := s.tool(ctx, "call_function", map[string]any{"name": "area", "arguments": map[string]any{"width": 3, "height": 4.5}}, "13.5")
	return err
}

func lookAround(ctx context.Context, s *session) error {
	if _, err := s.tool(ctx, "list", map[string]any{}, "area(width: float, height: float = 1.0)"); err != nil {
		return err
	}
	_, err := s.tool(ctx, "inspect", map[string]any{"name": "area"}, "Area of a rectangle.")
	return err
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
	_, err := s.cell(ctx, "import pricing\npricing.total(100)", "119.0")
	return err
}

// editModule edits within the same second and to the same size, where stale byte code would hide the change.
func editModule(ctx context.Context, s *session) error {
	if err := writeModule(s, "def total(net):\n    return net * 1.07\n"); err != nil {
		return err
	}
	if _, err := s.tool(ctx, "reload", map[string]any{"modules": []string{"pricing"}}, "pricing"); err != nil {
		return err
	}
	_, err := s.cell(ctx, "pricing.total(100)", "107.0")
	return err
}

func readError(ctx context.Context, s *session) error {
	_, err := s.cell(ctx, "def rate(rates, country):\n    return rates[country]\n\nrate({'de': 0.19}, 'fr')", "KeyError: 'fr'", "Cell [")
	return err
}

func printMillion(ctx context.Context, s *session) error {
	started := time.Now()
	a, err := s.cell(ctx, "for number in range(1_000_000):\n    print('line', number)", "line 0\n", "characters omitted", "line 999999")
	if err != nil {
		return err
	}
	s.voice.note("%d characters of 11888890 came back, after %v", len([]rune(a.text)), time.Since(started).Round(time.Millisecond))
	return nil
}

func stayResponsive(ctx context.Context, s *session) error {
	outcome := make(chan error, 1)
	code := "import time\ntime.sleep(1)\n'done'"
	s.voice.code(code)
	go func() {
		a, err := s.call(ctx, "execute", map[string]any{"code": code})
		if err == nil && a.text != "done" {
			err = fmt.Errorf("the cell answered %q", a.text)
		}
		outcome <- err
	}()
	lists := 0
	for {
		select {
		case err := <-outcome:
			if err == nil && lists == 0 {
				err = errors.New("tools/list was not answered meanwhile")
			}
			s.voice.note("tools/list was answered %d times while the cell slept for a second", lists)
			return err
		default:
		}
		if _, err := s.client.ListTools(ctx, mcp.ListToolsRequest{}); err != nil {
			return err
		}
		lists++
		time.Sleep(10 * time.Millisecond) // the pace of the demonstration
	}
}
