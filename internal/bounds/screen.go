package bounds

import "bytes"

const (
	// windowLines is how many lines are not final yet, and how far up a cursor movement reaches.
	windowLines = 64
	// lineChars bounds a line that is not final. The first half of a longer one becomes final early, and all lines
	// above it: then its column 0 is where the second half begins.
	lineChars = 4096
	// straightBytes is how much plain text is worth a look for lines that go straight through the window.
	straightBytes = 8 << 10
	// pastEnd is the last column that the cursor can be moved to behind the end of a line: an assumed width.
	pastEnd = 255
	// pastBottom is how many lines one movement can add below the last line: an assumed height.
	pastBottom = 24
)

// screen is a window of the last lines of a text, with a cursor. Lines that leave it are final. What it holds depends
// on the characters written, and never on how they were split into writes.
type screen struct {
	final  func(text []byte, runes int) // takes text that nothing can change any more
	lines  [windowLines]line            // a ring
	first  int                          // index of the oldest line
	count  int                          // lines in use, at least 1
	row    int                          // of the cursor, below the oldest line
	column int
}

func (s *screen) line(row int) *line { return &s.lines[(s.first+row)%windowLines] }

// write takes valid UTF-8 of so many characters, without control characters other than newlines that move the cursor.
func (s *screen) write(text []byte, runes int) {
	above := aboveWindow(text)
	for len(text) > 0 {
		straight := above > 0 && s.isAtEmptyEnd()
		length := above
		if !straight {
			length = firstLine(text)
		}
		count := runesBefore(text, runes, length)
		if straight {
			s.evictAbove()
			s.final(text[:length], count)
		} else {
			s.writeLine(text[:length], count)
		}
		text, runes, above = text[length:], runes-count, above-length
	}
}

// aboveWindow is the length of the lines of text that the window has no room for once all of it is written, if they are
// so many that it pays not to lay them out.
func aboveWindow(text []byte) int {
	const step = 512
	start, newlines := len(text), 0
	for newlines < windowLines && start > straightBytes {
		end := start
		start -= step
		newlines += bytes.Count(text[start:end], newlineText)
	}
	if newlines < windowLines {
		return 0
	}
	for ; newlines >= windowLines; newlines-- {
		start += firstLine(text[start:])
	}
	return start
}

// firstLine is the length of the first line of text, with its newline.
func firstLine(text []byte) int {
	if newline := bytes.IndexByte(text, '\n'); newline >= 0 {
		return newline + 1
	}
	return len(text)
}

// isAtEmptyEnd reports whether the cursor is in an empty last line that nothing was erased from.
func (s *screen) isAtEmptyEnd() bool {
	l := s.line(s.row)
	return s.row == s.count-1 && s.column == 0 && l.runes == 0 && !l.redrawn
}

// writeLine writes one line, with a newline at its end or without.
func (s *screen) writeLine(text []byte, runes int) {
	last := len(text) - 1
	if text[last] != '\n' {
		s.put(text, runes)
		return
	}
	s.put(text[:last], runes-1)
	s.newline()
}

// put writes text without newlines, of so many characters, at the cursor.
func (s *screen) put(text []byte, runes int) {
	l := s.line(s.row)
	if over := min(l.runes-s.column, runes); over > 0 {
		size := runeOffset(text, runes, over)
		l.overwrite(s.column, text[:size], over)
		s.column += over
		text, runes = text[size:], runes-over
	}
	if runes > 0 {
		l.pad(s.column)
		s.extend(text, runes)
	}
}

// extend appends to the cursor's line, whose end the cursor is at.
func (s *screen) extend(text []byte, runes int) {
	if surplus := s.column + runes - lineChars; surplus > 0 {
		s.evictAbove()
		const half = lineChars / 2
		early := (surplus + half - 1) / half * half
		front := min(early, s.column)
		l := s.line(0)
		s.final(l.text[:l.offset(front)], front)
		l.dropFront(front)
		size := runeOffset(text, runes, early-front)
		s.final(text[:size], early-front)
		s.column -= front
		text, runes = text[size:], runes-(early-front)
	}
	s.line(s.row).append(text, runes)
	s.column += runes
}

// evictAbove makes all lines above the cursor final.
func (s *screen) evictAbove() {
	for s.row > 0 {
		s.evict()
	}
}

// evict makes the oldest line final. The cursor is below it.
func (s *screen) evict() {
	l := s.line(0)
	s.final(l.final())
	s.final(newlineText, 1)
	l.clear()
	s.first = (s.first + 1) % windowLines
	s.count--
	s.row--
}

var newlineText = []byte{'\n'}

// newline goes to the beginning of the next line.
func (s *screen) newline() {
	s.column = 0
	s.row++
	if s.row < s.count {
		return
	}
	if s.count == windowLines {
		s.evict()
	}
	s.count++
}

// clampColumn keeps a moved cursor near the text.
func (s *screen) clampColumn() { s.column = min(s.column, max(s.line(s.row).runes, pastEnd)) }

// up moves the cursor, at most to the top of the window.
func (s *screen) up(n int) {
	s.row = max(s.row-n, 0)
	s.clampColumn()
}

// down moves the cursor, and adds lines where there are none.
func (s *screen) down(n int) {
	column := s.column
	for range min(n, s.count-1-s.row+pastBottom) {
		s.newline()
	}
	s.column = column
	s.clampColumn()
}

// moveTo moves the cursor within its line.
func (s *screen) moveTo(column int) {
	s.column = max(column, 0)
	s.clampColumn()
}

// freshLine goes to the beginning of an empty line below everything.
func (s *screen) freshLine() {
	s.row, s.column = s.count-1, 0
	if s.line(s.row).runes > 0 {
		s.newline()
	}
}

// eraseLine does what the control sequence EL does.
func (s *screen) eraseLine(mode int) {
	l := s.line(s.row)
	switch mode {
	case 0:
		l.eraseFrom(s.column)
	case 1:
		l.eraseTo(s.column)
	case 2:
		l.eraseFrom(0)
	}
	s.clampColumn()
}

// eraseBelow erases from the cursor on; the lines below are gone.
func (s *screen) eraseBelow() {
	s.eraseLine(0)
	for s.count-1 > s.row {
		s.count--
		s.line(s.count).clear()
	}
}

// rest passes on all lines that are not final, as they are read now. Lines at the end that were erased, below the
// cursor, are left out: a progress bar has been there.
func (s *screen) rest(take func(text []byte, runes int)) {
	count := s.count
	for ; count > s.row+1; count-- {
		last := s.line(count - 1)
		if text, _ := last.final(); len(text) > 0 || !last.redrawn {
			break
		}
	}
	for row := range count {
		if row > 0 {
			take(newlineText, 1)
		}
		take(s.line(row).final())
	}
}
