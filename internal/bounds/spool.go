package bounds

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"unicode/utf8"
)

const (
	// spoolMemory is how many bytes stay in memory before a file is made.
	spoolMemory = 16 << 10
	// indexStep is the distance of the index entries, in characters: a read skips fewer than that.
	indexStep = 4096
)

var (
	errSpoolClosed = errors.New("cannot read the output: it is no longer kept")
	errSpoolFull   = errors.New("cannot keep more of the output: the limit of its spool is reached")
)

// Spool keeps the text of one stream up to a limit: a small text in memory, a larger one in a file. All methods may be
// called from any goroutine; reads do not wait for each other.
type Spool struct {
	// Keep, if set before the first Write, is told of the file, and returns what is called before that is closed.
	Keep func(*os.File) (release func())

	directory string
	limit     int64 // bytes

	mu      sync.RWMutex // guards everything below
	memory  []byte       // the text, while there is no file
	file    *os.File
	release func()  // of Keep's
	size    int64   // bytes kept
	runes   int64   // characters kept
	index   []int64 // byte offset of every indexStep-th character that is kept or comes next
	err     error   // why nothing more is kept: the limit is reached, or the disk refused
	closed  bool
}

// NewSpool makes a spool that keeps up to limit bytes, in a file below the directory where they are many. Its owner
// must Close it.
func NewSpool(directory string, limit int64) *Spool {
	return &Spool{directory: directory, limit: limit, index: []int64{0}}
}

// Write appends valid UTF-8; text is never kept in part of a character. From the first text on that could not be kept
// as a whole, nothing is, and every write returns the reason. What was kept before stays readable.
func (s *Spool) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return 0, os.ErrClosed
	case s.err != nil:
		return 0, s.err
	}
	kept := text
	if room := s.limit - s.size; int64(len(text)) > room {
		for room > 0 && !utf8.RuneStart(text[room]) {
			room--
		}
		kept, s.err = text[:room], errSpoolFull
	}
	if err := s.storeLocked(kept); err != nil {
		s.err = fmt.Errorf("cannot keep the whole output below %s: %v", s.directory, err)
		return 0, s.err
	}
	s.extendIndexLocked(kept)
	s.size += int64(len(kept))
	return len(kept), s.err
}

// storeLocked puts the bytes into memory or the file.
func (s *Spool) storeLocked(text []byte) error {
	if s.file == nil && s.size+int64(len(text)) <= spoolMemory {
		s.memory = append(s.memory, text...)
		return nil
	}
	if s.file == nil {
		if err := s.createLocked(); err != nil {
			return err
		}
	}
	_, err := s.file.WriteAt(text, s.size)
	return err
}

// createLocked moves the text from memory to a file. After an error it is still in memory.
func (s *Spool) createLocked() error {
	file, err := os.CreateTemp(s.directory, "output-*")
	if err != nil {
		return err
	}
	if _, err := file.WriteAt(s.memory, 0); err != nil {
		return errors.Join(err, file.Close(), os.Remove(file.Name()))
	}
	s.file, s.memory = file, nil
	if s.Keep != nil {
		s.release = s.Keep(file)
	}
	return nil
}

// extendIndexLocked counts the characters of text, which starts at byte s.size.
func (s *Spool) extendIndexLocked(text []byte) {
	start, runes := s.size, countRunes(text)
	for runes > 0 {
		missing := int(int64(len(s.index))*indexStep - s.runes)
		count := min(missing, runes)
		size := runeOffset(text, runes, count)
		s.runes += int64(count)
		start += int64(size)
		text, runes = text[size:], runes-count
		if count == missing {
			s.index = append(s.index, start)
		}
	}
}

// ReadRunes returns up to limit characters from a character offset on, the offset behind them, and how many characters
// are kept in all. An offset outside the text is moved to its nearer end.
func (s *Spool) ReadRunes(offset, limit int64) (text string, next, total int64, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return "", 0, 0, errSpoolClosed
	}
	offset = min(max(offset, 0), s.runes)
	limit = min(max(limit, 0), s.runes-offset)
	if limit == 0 {
		return "", offset, s.runes, nil
	}
	start, end := s.index[offset/indexStep], s.size
	if entry := (offset+limit)/indexStep + 1; entry < int64(len(s.index)) {
		end = s.index[entry]
	}
	data, err := s.bytesLocked(start, end)
	if err != nil {
		return "", 0, 0, fmt.Errorf("cannot read the output kept below %s: %v", s.directory, err)
	}
	data = data[runesFromStart(data, int(offset%indexStep)):]
	data = data[:runesFromStart(data, int(limit))]
	return string(data), offset + limit, s.runes, nil
}

// bytesLocked returns part of the text; the caller must not change it.
func (s *Spool) bytesLocked(start, end int64) ([]byte, error) {
	if s.file == nil {
		return s.memory[start:end], nil
	}
	data := make([]byte, end-start)
	if _, err := s.file.ReadAt(data, start); err != nil && err != io.EOF {
		return nil, err
	}
	return data, nil
}

// Truncated reports whether text was written that is not kept.
func (s *Spool) Truncated() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.err != nil
}

// Close frees the text and removes the file. Later reads and writes fail; closing again does nothing.
func (s *Spool) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed, s.memory, s.index = true, nil, nil
	if s.file == nil {
		return nil
	}
	file := s.file
	s.file = nil
	if s.release != nil {
		s.release()
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}
