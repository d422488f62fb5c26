package main

import (
	"fmt"
	"io"
	"os"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"ipython-mcp/envprov"
)

// displayWidth is how many characters of a line stand beside the spinner, so that it stays on one row of a narrow
// terminal.
const displayWidth = 60

// display shows the progress of a preparation: a spinner on a terminal, plain lines elsewhere.
type display struct {
	out   io.Writer
	bar   *progressbar.ProgressBar // nil where out is no terminal
	phase string
}

func newDisplay(out *os.File) *display {
	d := &display{out: out}
	if term.IsTerminal(int(out.Fd())) {
		d.bar = progressbar.NewOptions(-1,
			progressbar.OptionSetWriter(out),
			progressbar.OptionSpinnerType(14),
			progressbar.OptionSetElapsedTime(true),
			progressbar.OptionClearOnFinish(),
		)
	}
	return d
}

// report shows what is being done. Calls do not overlap.
func (d *display) report(p envprov.Progress) {
	text := p.Phase
	if p.Line != "" {
		text += ": " + p.Line
	}
	if d.bar != nil {
		runes := []rune(text)
		d.bar.Describe(string(runes[:min(displayWidth, len(runes))]))
		return
	}
	if p.Line == "" && p.Phase == d.phase {
		return
	}
	d.phase = p.Phase
	fmt.Fprintln(d.out, text)
}

// close takes the spinner away.
func (d *display) close() {
	if d.bar != nil {
		// A terminal that is gone shows nothing.
		_ = d.bar.Clear()
		_ = d.bar.Exit()
	}
}
