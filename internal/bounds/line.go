package bounds

import "slices"

// line is one line of a screen, as valid UTF-8 without its newline. The buffer is used again for later lines.
type line struct {
	text  []byte
	runes int
	// redrawn lines have lost what they said first. Blanks at their end only cover a longer text: they say nothing.
	redrawn bool
}

func (l *line) clear() { l.text, l.runes, l.redrawn = l.text[:0], 0, false }

// pad appends blanks up to the column.
func (l *line) pad(column int) {
	for l.runes < column {
		l.text = append(l.text, ' ')
		l.runes++
	}
}

// append appends valid UTF-8 of so many characters.
func (l *line) append(text []byte, runes int) {
	l.text = append(l.text, text...)
	l.runes += runes
}

// overwrite writes valid UTF-8 of so many characters at the column, over as many that are there.
func (l *line) overwrite(column int, text []byte, runes int) {
	start := l.offset(column)
	end := start + runeOffset(l.text[start:], l.runes-column, runes)
	l.text = slices.Replace(l.text, start, end, text...)
	l.redrawn = true
}

// offset is where the column's character starts in text.
func (l *line) offset(column int) int { return runeOffset(l.text, l.runes, column) }

// eraseFrom removes the column and everything behind it.
func (l *line) eraseFrom(column int) {
	l.text = l.text[:l.offset(column)]
	l.runes = min(l.runes, column)
	l.redrawn = true
}

// eraseTo blanks everything before the column, and the column itself.
func (l *line) eraseTo(column int) {
	count := min(column+1, l.runes)
	end := l.offset(count)
	for i := range l.text[:count] {
		l.text[i] = ' '
	}
	l.text = slices.Delete(l.text, count, end)
	l.redrawn = true
}

// dropFront removes the first characters.
func (l *line) dropFront(runes int) {
	l.text = slices.Delete(l.text, 0, l.offset(runes))
	l.runes -= runes
}

// final is the line's text as it is read, and its characters.
func (l *line) final() ([]byte, int) {
	text := l.text
	for l.redrawn && len(text) > 0 && text[len(text)-1] == ' ' {
		text = text[:len(text)-1]
	}
	return text, l.runes - (len(l.text) - len(text))
}
