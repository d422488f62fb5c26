package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// voice is what everything that the demo says goes through. Titles are bold, code is cyan, answers are green, notes are
// dim; without colours where the output is no terminal (FORCE_COLOR overrides) or NO_COLOR is set.
type voice struct {
	out     io.Writer
	colours bool
}

const (
	bold  = "1"
	dim   = "2"
	cyan  = "36"
	green = "32"
	red   = "31"
)

func newVoice(out *os.File) *voice {
	colours := term.IsTerminal(int(out.Fd())) || os.Getenv("FORCE_COLOR") != ""
	return &voice{out: out, colours: colours && os.Getenv("NO_COLOR") == ""}
}

func (v *voice) paint(colour, text string) string {
	if !v.colours {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

func (v *voice) title(text string) { fmt.Fprintf(v.out, "\n%s\n", v.paint(bold, "── "+text)) }

func (v *voice) note(format string, args ...any) { v.block(dim, "# ", fmt.Sprintf(format, args...)) }
func (v *voice) code(code string)                { v.block(cyan, ">>> ", code) }
func (v *voice) item(name, text string) {
	fmt.Fprintf(v.out, "    %-16s %s\n", name, v.paint(dim, text))
}

func (v *voice) failed(err error) {
	fmt.Fprintf(v.out, "\n%s\n", v.paint(red, "demo failed: "+err.Error()))
}

func (v *voice) call(name string, arguments map[string]any) {
	encoded, err := json.Marshal(arguments)
	if err != nil {
		encoded = []byte(err.Error())
	}
	v.block(cyan, ">>> ", name+" "+string(encoded))
}

func (v *voice) file(name, source string) { v.block(cyan, "", "["+name+"]\n"+source) }

// shownLines is how much of an answer is shown: the server has bounded it already, but a screen is smaller.
const shownLines = 16

func (v *voice) answer(text string) {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) > shownLines {
		marker := 0
		for i, line := range lines {
			if strings.Contains(line, "characters omitted") {
				marker = i
			}
		}
		lines = around(lines, marker)
	}
	v.block(green, "", strings.Join(lines, "\n"))
}

// around keeps the first and last lines, and those beside the marker where there is one.
func around(lines []string, marker int) []string {
	const few = 3
	kept := append([]string{}, lines[:few]...)
	if marker > 2*few && marker < len(lines)-2*few {
		kept = append(kept, "   ⋮")
		kept = append(kept, lines[marker-1:marker+2]...)
	}
	kept = append(kept, "   ⋮")
	return append(kept, lines[len(lines)-few:]...)
}

// block prints text indented, its first line behind the prompt.
func (v *voice) block(colour, prompt, text string) {
	rest := strings.Repeat(" ", len(prompt))
	for i, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		if i > 0 {
			prompt = rest
		}
		fmt.Fprintf(v.out, "    %s\n", v.paint(colour, prompt+line))
	}
}

func (v *voice) registration(path string) {
	v.title("Register it")
	v.item("Codex", fmt.Sprintf("codex mcp add ipython -- %s", path))
	v.item("Claude Code", fmt.Sprintf("claude mcp add ipython -- %s", path))
	v.item(".mcp.json", fmt.Sprintf(`{"mcpServers": {"ipython": {"command": %q}}}`, path))
}
