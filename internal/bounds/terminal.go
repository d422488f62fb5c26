package bounds

import "unicode/utf8"

// terminal turns bytes into the text that a terminal would show in the end: control sequences are gone, redrawn lines
// stand in their last state. It has no size; sequences that address a place on the whole screen begin a new line. Its
// owner locks.
type terminal struct {
	screen screen
	parser escapeParser
	shown  [4]byte // one character on its way to the screen
}

func newTerminal(final func(text []byte, runes int)) *terminal {
	return &terminal{screen: screen{final: final, count: 1}}
}

// write takes any bytes, and returns how many it took: all but an incomplete character at the end.
func (t *terminal) write(data []byte) int {
	for i := 0; i < len(data); {
		if t.parser.state == outside {
			n, runes := plainLength(data[i:])
			t.screen.write(data[i:i+n], runes)
			if i += n; i == len(data) {
				break
			}
		}
		r, size := utf8.DecodeRune(data[i:])
		switch {
		case r != utf8.RuneError || size > 1:
			t.char(r)
		case utf8.FullRune(data[i:]):
			t.invalid(data[i])
		default:
			return i
		}
		i += size
	}
	return len(data)
}

// char takes one character.
func (t *terminal) char(r rune) {
	for t.parser.state != outside {
		switch t.parser.next(r) {
		case partOf:
			return
		case endOf:
			t.command(t.parser.number, t.parser.final)
			return
		case noPart:
			t.abandon()
		}
	}
	if !t.parser.begin(r) {
		t.text(r)
	}
}

// invalid takes one byte that is not UTF-8.
func (t *terminal) invalid(b byte) {
	for t.parser.state != outside {
		t.abandon()
	}
	t.putVisible(b)
}

// putVisible puts a byte, or a control character below U+0100, as text.
func (t *terminal) putVisible(b byte) {
	text := appendVisible(t.shown[:0], b)
	t.screen.put(text, len(text))
}

// abandon makes an unfinished sequence text.
func (t *terminal) abandon() {
	text := t.parser.unfinished()
	if t.parser.state == stringEscape {
		text = t.parser.text // the escape begins another sequence
	}
	t.screen.put(text, countRunes(text))
	t.parser.abandon()
}

// text takes a character that belongs to no sequence.
func (t *terminal) text(r rune) {
	switch {
	case r == '\n':
		t.screen.newline()
	case r == '\r':
		t.screen.moveTo(0)
	case r == '\b':
		t.screen.moveTo(t.screen.column - 1)
	case isDropped(r):
	default:
		if r >= 0x80 && r < 0xa0 {
			t.putVisible(byte(r))
		} else {
			t.screen.put(utf8.AppendRune(t.shown[:0], r), 1)
		}
	}
}

// isDropped tells control characters that show nothing and move nothing: the bell, and the shifts between two sets of
// characters, which end sequences of some terminals.
func isDropped(r rune) bool { return r == bell || r == '\x0e' || r == '\x0f' }

// command does what a control sequence says, as far as it can be seen in text.
func (t *terminal) command(number int, final rune) {
	s, n := &t.screen, max(number, 1)
	switch final {
	case 'A':
		s.up(n)
	case 'B':
		s.down(n)
	case 'C':
		s.moveTo(s.column + n)
	case 'D':
		s.moveTo(s.column - n)
	case 'E':
		s.column = 0
		s.down(n)
	case 'F':
		s.column = 0
		s.up(n)
	case 'G', '`':
		s.moveTo(n - 1)
	case 'H', 'f':
		s.freshLine()
	case 'J':
		if number == 0 {
			s.eraseBelow()
		}
	case 'K':
		s.eraseLine(number)
	}
}

// rest passes on the text that is not final. An unfinished sequence stands at its end.
func (t *terminal) rest(take func(text []byte, runes int)) {
	t.screen.rest(take)
	if text := t.parser.unfinished(); len(text) > 0 {
		take(text, countRunes(text))
	}
}
