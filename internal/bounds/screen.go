package bounds

import "bytes"

const (
	// windowLines is how many lines are not final yet, and how far up a cursor movement reaches.
	windowLines = 64
	// lineChars bounds a line that is not final. The first half of a longer one becomes final early, and all lines
	// above it: then its column 0 is where the second half begins.
	lineChars = 4096
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

// write takes valid UTF-8 without control characters other than newlines that move the cursor.
func (s *screen) write(text []byte) {
	for {
		newline := bytes.IndexByte(text, '\n')
		if newline < 0 {
			s.put(text)
			return
		}
		s.put(text[:newline])
		s.newline()
		text = text[newline+1:]
	}
}

// put writes text without newlines at the cursor.
func (s *screen) put(text []byte) {
	for len(text) > 0 {
		if s.column >= lineChars {
			s.shorten()
		}
		piece := text[:min(len(text), lineChars-s.column)]
		for len(piece) < len(text) && text[len(piece)]&0xc0 == 0x80 {
			piece = text[:len(piece)-1] // not inside a character
		}
		if len(piece) == 0 {
			piece = text[:runesFromStart(text, 1)]
		}
		runes := countRunes(piece)
		s.line(s.row).put(s.column, piece, runes)
		s.column += runes
		text = text[len(piece):]
	}
}

// shorten makes room in the cursor's line, which is full.
func (s *screen) shorten() {
	for s.row > 0 {
		s.evict()
	}
	const half = lineChars / 2
	l := s.line(0)
	s.final(l.text[:l.offset(half)], half)
	l.dropFront(half)
	s.column -= half
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
