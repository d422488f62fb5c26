package bounds

import (
	"io"
	"sync"
	"unicode/utf8"
)

// batchBytes is how much final text is collected before the two ends and the spool get it.
const batchBytes = 32 << 10

// Stream collects what is written to one output stream, as a reader sees it on a terminal: control sequences are gone,
// redrawn lines stand in their last state. Its memory is bounded however much is written: the two ends that it keeps,
// and a window of lines that may still be redrawn. The whole text also goes to a spool.
type Stream struct {
	spool io.Writer // may be nil

	mu       sync.Mutex // guards everything below
	partial  []byte     // the beginning of a character whose rest has not been written yet
	terminal *terminal  // nil once closed
	batch    []byte     // final text that is not in kept yet
	runes    int        // characters of batch
	kept     keeper
	closed   Snapshot // valid once closed
}

// NewStream makes a stream that keeps limit characters. The spool, which may be nil, receives the text as UTF-8 once
// redrawing can no longer change it, at the latest from Close; its errors are its own affair.
func NewStream(limit int, spool io.Writer) *Stream {
	s := &Stream{spool: spool, kept: newKeeper(limit)}
	s.terminal = newTerminal(s.collect)
	return s
}

// Write never fails. A character or a control sequence may be split over writes. Writes after Close are dropped.
func (s *Stream) Write(data []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	written := len(data)
	if s.terminal == nil {
		return written, nil
	}
	if len(s.partial) > 0 {
		data = s.completeCharacter(data)
	}
	rest := data[s.terminal.write(data):]
	s.partial = append(s.partial, rest...)
	return written, nil
}

// completeCharacter writes the incomplete character of earlier writes with what follows it, and returns the data that
// is left.
func (s *Stream) completeCharacter(data []byte) []byte {
	before := len(s.partial)
	s.partial = append(s.partial, data[:min(len(data), utf8.UTFMax)]...)
	taken := s.terminal.write(s.partial)
	if taken < before { // still incomplete, with all of data
		s.partial = append(s.partial[:0], s.partial[taken:]...)
		return nil
	}
	s.partial = s.partial[:0]
	return data[taken-before:]
}

// collect takes text that nothing can change any more.
func (s *Stream) collect(text []byte, runes int) {
	if len(text) >= batchBytes {
		s.flush()
		s.pass(text, runes)
		return
	}
	s.batch = append(s.batch, text...)
	s.runes += runes
	if len(s.batch) >= batchBytes {
		s.flush()
	}
}

func (s *Stream) flush() {
	if len(s.batch) > 0 {
		s.pass(s.batch, s.runes)
		s.batch, s.runes = s.batch[:0], 0
	}
}

// pass gives final text to the two ends and the spool.
func (s *Stream) pass(text []byte, runes int) {
	s.kept.add(text, runes)
	if s.spool != nil {
		// The two ends and the counts are right without it; who reads the spool sees what is missing.
		_, _ = s.spool.Write(text)
	}
}

// rest passes on what is not final yet, and ends with an incomplete character as visible bytes.
func (s *Stream) rest(take func(text []byte, runes int)) {
	s.terminal.rest(take)
	if visible := appendValid(nil, s.partial); len(visible) > 0 {
		take(visible, len(visible))
	}
}

// Snapshot returns what Close would return now. Later writes may still redraw the end of it.
func (s *Stream) Snapshot() Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.terminal == nil {
		return s.closed
	}
	s.flush()
	kept := s.kept.clone()
	s.rest(kept.add)
	return kept.snapshot()
}

// Close makes everything final, frees what only writing needs, and returns what is kept. Closing again returns the
// same.
func (s *Stream) Close() Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.terminal != nil {
		s.rest(s.collect)
		s.flush()
		s.closed = s.kept.snapshot()
		s.terminal, s.batch, s.partial, s.kept = nil, nil, nil, keeper{}
	}
	return s.closed
}
