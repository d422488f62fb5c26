package bounds

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// grid is the simplest model of a screen: a cell per character, operations instead of bytes. It agrees with the terminal
// as long as lines are short.
type grid struct {
	final       strings.Builder // rows that have left the window
	rows        [][]rune
	redrawn     []bool
	row, column int
}

func (g *grid) clamp() { g.column = min(g.column, max(len(g.rows[g.row]), pastEnd)) }

func (g *grid) put(r rune) {
	for len(g.rows[g.row]) < g.column {
		g.rows[g.row] = append(g.rows[g.row], ' ')
	}
	if g.column < len(g.rows[g.row]) {
		g.rows[g.row][g.column] = r
		g.redrawn[g.row] = true
	} else {
		g.rows[g.row] = append(g.rows[g.row], r)
	}
	g.column++
}

func (g *grid) to(row, column int) {
	for len(g.rows) <= row {
		g.rows, g.redrawn = append(g.rows, nil), append(g.redrawn, false)
	}
	g.row, g.column = max(row, 0), max(column, 0)
	for len(g.rows) > windowLines {
		g.final.WriteString(g.rowText(0) + "\n")
		g.rows, g.redrawn = g.rows[1:], g.redrawn[1:]
		g.row--
	}
	g.clamp()
}

func (g *grid) eraseLine(mode int) {
	cells := g.rows[g.row]
	switch mode {
	case 0:
		cells = cells[:min(g.column, len(cells))]
	case 1:
		for i := range min(g.column+1, len(cells)) {
			cells[i] = ' '
		}
	case 2:
		cells = nil
	}
	g.rows[g.row], g.redrawn[g.row] = cells, true
	g.clamp()
}

func (g *grid) eraseBelow() {
	g.eraseLine(0)
	g.rows, g.redrawn = g.rows[:g.row+1], g.redrawn[:g.row+1]
}

func (g *grid) rowText(row int) string {
	if g.redrawn[row] {
		return strings.TrimRight(string(g.rows[row]), " ")
	}
	return string(g.rows[row])
}

func (g *grid) text() string {
	texts := make([]string, len(g.rows))
	for i := range g.rows {
		texts[i] = g.rowText(i)
	}
	for n := len(texts) - 1; n > g.row && g.redrawn[n] && texts[n] == ""; n-- {
		texts = texts[:n]
	}
	return g.final.String() + strings.Join(texts, "\n")
}

// print appends plain text to the output, and does the same to the grid.
func (g *grid) print(text string, out *strings.Builder) {
	out.WriteString(text)
	for _, r := range text {
		if r == '\n' {
			g.to(g.row+1, 0)
		} else {
			g.put(r)
		}
	}
}

// step appends a random piece of output, and does the same to the grid.
func (g *grid) step(random *rand.Rand, out *strings.Builder) {
	n := 1 + random.IntN(4)
	switch random.IntN(14) {
	case 0, 1, 2:
		g.print([]string{"abc", "äö", "█▌ ", "😀", "  ", "\t"}[random.IntN(6)], out)
	case 3:
		g.print("\n", out)
	case 4:
		out.WriteString([]string{"\r", "\x1b[31m\r", "\x1b[1G"}[random.IntN(3)])
		g.to(g.row, 0)
	case 5:
		out.WriteString("\b")
		g.to(g.row, g.column-1)
	case 6:
		fmt.Fprintf(out, "\x1b[%dA", n)
		g.to(g.row-n, g.column)
	case 7:
		fmt.Fprintf(out, "\x1b[%dB", n)
		g.to(g.row+n, g.column)
	case 8:
		fmt.Fprintf(out, "\u009b%dC", n)
		g.to(g.row, g.column+n)
	case 9:
		fmt.Fprintf(out, "\x1b[%dD", n)
		g.to(g.row, g.column-n)
	case 10:
		fmt.Fprintf(out, "\x1b[%dE", n)
		g.to(g.row+n, 0)
	case 11:
		fmt.Fprintf(out, "\x1b[%dG", n)
		g.to(g.row, n-1)
	case 12:
		fmt.Fprintf(out, "\x1b[%dK", n%3)
		g.eraseLine(n % 3)
	case 13:
		out.WriteString([]string{"\x1b[J", "\x1b]0;t\a\x1b[0J"}[random.IntN(2)])
		g.eraseBelow()
	}
}

func TestTerminal_likeGrid(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5_000) {
		random := rand.New(rand.NewPCG(seed, 1))
		g := &grid{rows: make([][]rune, 1), redrawn: make([]bool, 1)}
		var out strings.Builder
		for range random.IntN(30) {
			g.step(random, &out)
		}
		if got, want := collect(out.String()), g.text(); got != want {
			t.Fatalf("seed %d: %q\n got %q\nwant %q", seed, out.String(), got, want)
		}
	}
}

// Large plain output goes straight through the window, from wherever the cursor is; what redraws it later finds the same
// last lines.
func TestTerminal_straightLikeGrid(t *testing.T) {
	t.Parallel()
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 5))
		g := &grid{rows: make([][]rune, 1), redrawn: make([]bool, 1)}
		var out strings.Builder
		for range 1 + random.IntN(3) {
			unit := []string{"\n", "some text\n", "ü€\n\n  \n", strings.Repeat("word ", 60) + "\n"}[random.IntN(4)]
			size := straightBytes/2 + random.IntN(straightBytes)
			g.print(strings.Repeat(unit, 1+size/len(unit))+"unfinished"[:random.IntN(11)], &out)
			for range random.IntN(20) {
				g.step(random, &out)
			}
			if random.IntN(2) == 0 {
				fmt.Fprintf(&out, "\x1b[%dA", windowLines)
				g.to(0, g.column)
			}
		}
		if got, want := collect(out.String()), g.text(); got != want {
			t.Fatalf("seed %d: %q\n got %q\nwant %q", seed, out.String(), got, want)
		}
	}
}
