package bounds

import (
	"encoding/binary"
	"unicode/utf8"
)

// terminal turns bytes into the text that a terminal would show in the end: control sequences are gone, redrawn lines
// stand in their last state. It has no size; sequences that address a place on the whole screen begin a new line. Its
// owner locks.
type terminal struct {
	screen screen
	parser escapeParser
}

func newTerminal(final func(text []byte, runes int)) *terminal {
	return &terminal{screen: screen{final: final, count: 1}}
}

// write takes any bytes, and returns how many it took: all but an incomplete character at the end.
func (t *terminal) write(data []byte) int {
	for i := 0; i < len(data); {
		if t.parser.state == outside {
			if n := plainLength(data[i:]); n > 0 {
				t.screen.write(data[i : i+n])
				i += n
				continue
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
	var visible [4]byte
	t.screen.put(appendVisible(visible[:0], b))
}

// abandon makes an unfinished sequence text.
func (t *terminal) abandon() {
	if t.parser.state == stringEscape {
		t.screen.put(t.parser.text) // the escape begins another sequence
	} else {
		t.screen.put(t.parser.unfinished())
	}
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
		var buffer [utf8.UTFMax]byte
		if r >= 0x80 && r < 0xa0 {
			t.screen.put(appendVisible(buffer[:0], byte(r)))
		} else {
			t.screen.put(utf8.AppendRune(buffer[:0], r))
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

// plainLength is the length of the longest beginning of data that the screen takes as it is: valid UTF-8 in which
// nothing but newlines moves the cursor.
func plainLength(data []byte) int {
	i := 0
	for i < len(data) {
		if i+wordBytes <= len(data) && allPrintable(binary.LittleEndian.Uint64(data[i:])) {
			i += wordBytes
			continue
		}
		// Byte by byte to the next word: it is rare that all of the next ones stand in the way.
		for end := min(i+wordBytes, len(data)); i < end; {
			if c := data[i]; c < utf8.RuneSelf {
				if c < ' ' && isHandled[c] {
					return i
				}
				i++
				continue
			}
			r, size := utf8.DecodeRune(data[i:])
			if r == utf8.RuneError && size == 1 || r < 0xa0 {
				return i
			}
			i += size
		}
	}
	return i
}

// allPrintable reports whether all bytes of the word are ASCII from the space on.
func allPrintable(word uint64) bool {
	const each, high = 0x0101010101010101, 0x8080808080808080
	return (word|(word-each*' '))&high == 0
}

// isHandled tells the characters below the space that the screen must not take as they are.
var isHandled = [' ']bool{'\r': true, '\b': true, bell: true, '\x0e': true, '\x0f': true, escape: true}
