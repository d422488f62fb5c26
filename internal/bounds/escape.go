package bounds

import "unicode/utf8"

const (
	// maximumControl and maximumString bound a control sequence (colours, cursor) and a control string (a window
	// title, a hyperlink, a small inline image), in bytes. What is longer was none, and becomes text.
	maximumControl = 128
	maximumString  = 64 << 10

	escape = '\x1b'
	bell   = '\a'
	// The controls with one character for ESC and another: CSI, OSC, and the end of a string.
	c1Control, c1Command, c1End = '\u009b', '\u009d', '\u009c'
)

type escapeState int

const (
	outside      escapeState = iota
	afterEscape              // ESC
	intermediate             // ESC and intermediate characters: one that is none ends it
	control                  // CSI
	c1String                 // OSC as one character: only a digit makes it one, as misread text often contains U+009D
	controlled               // inside the string of OSC, DCS, SOS, PM or APC
	stringEscape             // ESC inside such a string: a backslash ends it
)

// verdict says what a character is to a sequence.
type verdict int

const (
	partOf verdict = iota // the sequence goes on
	endOf                 // the sequence is complete
	noPart                // the sequence is none; its text is, and the character must be looked at again
)

// escapeParser recognises the control sequences of ECMA-48, one character at a time. It never loses text: what turns
// out to be no sequence can be had back.
type escapeParser struct {
	state escapeState
	text  []byte // the sequence so far, its first character made visible

	number  int  // first parameter of a control sequence, 0 where none was given
	counted bool // number is complete
	private bool // the control sequence is none of the standard ones
	final   rune // what a complete, standard control sequence ends in, else 0
}

// begin reports whether r starts a sequence, and then waits for its rest.
func (p *escapeParser) begin(r rune) bool {
	switch r {
	case escape:
		p.state = afterEscape
	case c1Control:
		p.state = control
	case c1Command:
		p.state = c1String
	default:
		return false
	}
	p.text = appendVisible(p.text[:0], byte(r))
	p.number, p.counted, p.private, p.final = 0, false, false, 0
	return true
}

// next takes one character of a sequence that has begun. After endOf, number and final say what it was.
func (p *escapeParser) next(r rune) verdict {
	v := noPart
	switch p.state {
	case afterEscape:
		v = p.afterEscape(r)
	case intermediate:
		v = p.afterIntermediate(r)
	case control:
		v = p.inControl(r)
	case c1String:
		if r >= '0' && r <= '9' {
			p.state, v = controlled, partOf
		}
	case controlled:
		v = p.inString(r)
	case stringEscape:
		if r == '\\' {
			v = endOf
		}
	}
	switch {
	case v == endOf:
		p.state = outside
	case v == partOf && r != escape:
		p.text = utf8.AppendRune(p.text, r)
	}
	return v
}

// unfinished is the sequence so far as visible text.
func (p *escapeParser) unfinished() []byte {
	switch p.state {
	case outside:
		return nil
	case stringEscape:
		return appendVisible(p.text, escape)
	}
	return p.text
}

// abandon gives up on the sequence. Inside a string, the escape that broke it starts another.
func (p *escapeParser) abandon() {
	broken := p.state
	p.state = outside
	if broken == stringEscape {
		p.begin(escape)
	}
}

func (p *escapeParser) afterEscape(r rune) verdict {
	switch {
	case r == '[':
		p.state = control
	case r == ']' || r == 'P' || r == 'X' || r == '^' || r == '_':
		p.state = controlled
	case r >= ' ' && r <= '/':
		p.state = intermediate
	case r == escape:
		// The first of the two says nothing.
	case r >= '0' && r <= '~':
		return endOf
	default:
		return noPart
	}
	return partOf
}

func (p *escapeParser) afterIntermediate(r rune) verdict {
	switch {
	case len(p.text) > maximumControl:
		return noPart
	case r >= ' ' && r <= '/':
		return partOf
	case r >= '0' && r <= '~':
		return endOf
	}
	return noPart
}

func (p *escapeParser) inControl(r rune) verdict {
	switch {
	case len(p.text) > maximumControl:
		return noPart
	case r >= '0' && r <= '9':
		if !p.counted {
			p.number = min(p.number*10+int(r-'0'), 1<<16)
		}
	case r == ';' || r == ':':
		p.counted = true
	case r >= ' ' && r <= '?':
		p.private = true
	case r >= '@' && r <= '~':
		if !p.private {
			p.final = r
		}
		return endOf
	default:
		return noPart
	}
	return partOf
}

// inString takes a character of a control string, which holds no control characters.
func (p *escapeParser) inString(r rune) verdict {
	switch {
	case r == bell || r == c1End:
		return endOf
	case r == escape:
		p.state = stringEscape
	case isControl(r) || len(p.text) > maximumString:
		return noPart
	}
	return partOf
}

// isControl tells control characters, newline and tab included.
func isControl(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }
