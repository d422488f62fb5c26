package main

import (
	"io"
	"sync"
	"sync/atomic"
)

const (
	earlyChunk  = 64 << 10 // bytes of one read before the handshake
	earlyChunks = 64       // how many of them may wait
)

// earlyReader reads its input from the start on, so that its end is noticed even while nobody reads yet, and becomes a plain reader once
// the handshake is open.
type earlyReader struct {
	input      io.Reader
	descriptor int    // of the input; -1: none
	ended      func() // called once, when the input has ended
	once       sync.Once
	chunks     chan []byte // closed after the last early chunk
	rest       []byte      // of the chunk that Read is passing on
	early      atomic.Bool // chunks may be left
}

func newEarlyReader(input io.Reader, descriptor int, opened <-chan struct{}, ended func()) *earlyReader {
	r := &earlyReader{input: input, descriptor: descriptor, ended: ended, chunks: make(chan []byte, earlyChunks)}
	r.early.Store(true)
	go r.readEarly(opened)
	return r
}

// readEarly ends with the first read that returns after the handshake, or at the end of the input.
func (r *earlyReader) readEarly(opened <-chan struct{}) {
	defer close(r.chunks)
	for {
		buffer := make([]byte, earlyChunk)
		n, err := r.direct(buffer)
		if n > 0 {
			r.chunks <- buffer[:n]
		}
		if err != nil {
			return
		}
		select {
		case <-opened:
			return
		default:
		}
	}
}

func (r *earlyReader) direct(buffer []byte) (int, error) {
	n, err := r.input.Read(buffer)
	if err != nil {
		r.once.Do(r.ended)
	}
	return n, err
}

// nextEarly returns nil once there is no early chunk any more.
func (r *earlyReader) nextEarly() []byte {
	chunk, more := <-r.chunks
	if !more {
		r.early.Store(false)
	}
	return chunk
}

// Descriptor is the input's once nothing is read early any more, -1 before.
func (r *earlyReader) Descriptor() int {
	if r.early.Load() {
		return -1
	}
	return r.descriptor
}

// Read may be called by one goroutine at a time.
func (r *earlyReader) Read(buffer []byte) (int, error) {
	if len(r.rest) == 0 {
		r.rest = r.nextEarly()
	}
	if len(r.rest) == 0 {
		return r.direct(buffer)
	}
	n := copy(buffer, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
