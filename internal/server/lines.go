package server

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
)

const (
	// maxLineBytes is the largest message that is taken; a larger one is passed over up to its end and refused.
	maxLineBytes = 256 << 20
	// readBufferBytes is how much is read at once.
	readBufferBytes = 64 << 10
)

var errLineTooLong = errors.New("line too long")

// lineReader cuts the input into lines. It belongs to whoever is the reader of the session.
type lineReader struct {
	in    *bufio.Reader
	limit int
}

func newLineReader(in io.Reader, limit int) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(in, readBufferBytes), limit: limit}
}

// next returns the next line that is not blank, without its end, as a slice of its own. A last line needs no newline.
// After errLineTooLong the next line can be read; any other error is the end.
func (r *lineReader) next() ([]byte, error) {
	for {
		line, err := r.line()
		if errors.Is(err, errLineTooLong) {
			return nil, err
		}
		if line = bytes.TrimRight(line, " \t\r\n"); skipSpace(line, 0) < len(line) {
			// An error behind a last line comes again with the next call.
			return line, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// complete reports whether a whole line has been read already.
func (r *lineReader) complete() bool {
	ahead, _ := r.in.Peek(r.in.Buffered()) // what is buffered can be looked at
	return bytes.IndexByte(ahead, '\n') >= 0
}

// fill reads once, and reports whether a whole line is there then.
func (r *lineReader) fill() bool {
	_, _ = r.in.Peek(r.in.Buffered() + 1) // an error comes again with the next line
	return r.complete()
}

func (r *lineReader) line() ([]byte, error) {
	var line []byte
	tooLong := false
	for {
		part, err := r.in.ReadSlice('\n')
		if tooLong = tooLong || len(line)+len(part) > r.limit; tooLong {
			line = nil
		} else {
			if cap(line) < len(line)+len(part) {
				line = slices.Grow(line, max(len(line), len(part))) // append grows long slices by a quarter only
			}
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if tooLong {
			return nil, errLineTooLong
		}
		return line, err
	}
}
