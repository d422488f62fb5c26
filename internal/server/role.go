package server

import "time"

// takeOverAfter is how long a job may run on the reader before another goroutine becomes the reader. It is far below the
// 100 ms in which ping must be answered, and above what quick requests take, which then never wake a goroutine.
const takeOverAfter = 500 * time.Microsecond

// job is the part of a request that may take long.
type job struct {
	run     func()
	request *request // that it answers; nil: none
	parked  bool     // runs until the client ends it, without using the namespace: subscriptions/listen
}

// read is the loop of the reader. It returns when the input has ended, or when another goroutine has taken the role
// over.
func (s *session) read() {
	for {
		line, err := s.lines.next()
		if s.ended() {
			return
		}
		j, more := s.acceptLine(line, err)
		if !more {
			s.inputEnds(err)
			return
		}
		if j.run != nil && !s.dispatch(j) {
			return
		}
	}
}

// dispatch runs a job and reports whether the caller still is the reader.
//
// Where another job is still running, the job gets a goroutine: it would have to wait for the same things. Otherwise
// the reader runs it. The role is an atomic: zero while its owner reads, else the serial number of the job that its
// owner runs. The timer takes the role by setting it to zero, the end of the job takes it back by the same exchange;
// serial numbers are never used twice, so one of them wins.
func (s *session) dispatch(j job) bool {
	if s.begin(j) || j.parked {
		go func() { // ends with its job; Serve waits for it through the count of jobs
			defer s.finish(j)
			j.run()
		}()
		return true
	}
	s.serial++
	serial := s.serial
	s.role.Store(serial)
	s.takeOver.Reset(takeOverAfter)
	j.run()
	s.finish(j)
	if !s.role.CompareAndSwap(serial, 0) {
		return false // the timer is the new reader's now
	}
	s.takeOver.Stop()
	return true
}

// becomeReader runs on the timer's goroutine. A late shot may hit the next job; that job then merely loses the role
// early.
func (s *session) becomeReader() {
	if serial := s.role.Load(); serial != 0 && s.role.CompareAndSwap(serial, 0) {
		s.read()
	}
}

// begin counts a job and reports whether others are running.
func (s *session) begin(j job) (busy bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	busy = s.running > 0
	s.jobs++
	if !j.parked {
		s.running++
	}
	return busy
}

// release says that a request has been answered, although its job goes on.
func (s *session) release(r *request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !r.released {
		r.released = true
		s.jobs--
		s.settleLocked()
	}
}

func (s *session) finish(j job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if j.request == nil || !j.request.released {
		s.jobs--
	}
	if !j.parked {
		s.running--
	}
	s.settleLocked()
}
