package server

import "time"

// takeOverAfter is how long a job runs on the reader, at least and at most twice, before another goroutine becomes the
// reader. It is far below the 100 ms in which ping must be answered, and above what quick requests take, which then
// never wake a goroutine.
const takeOverAfter = 4 * time.Millisecond

// job is the part of a request that may take long.
type job struct {
	run     func()
	request *request // that it answers; nil: none
	parked  bool     // runs until the client ends it, without using the namespace: subscriptions/listen
}

// read is the loop of the reader. It returns when the input has ended, or when somebody else has taken the role over.
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
// the reader runs it, or the interpreter's thread does, which then is the reader.
func (s *session) dispatch(j job) bool {
	if s.begin(j) || j.parked {
		go s.work(j)
		return true
	}
	serial := s.assume()
	if s.wantsThread(j) && s.server.thread.Lend(func() { s.workLent(j, serial) }) {
		return false
	}
	s.work(j)
	return s.resume(serial)
}

// work runs a job. On a goroutine of its own, that ends with it; Serve waits for it through the count of jobs.
func (s *session) work(j job) {
	defer s.finish(j)
	j.run()
}

// assume notes that the reader runs a job, and returns the job's serial number.
//
// The role is an atomic: zero while its owner reads, else the serial number of the job that its owner runs. The beat
// takes the role by setting it to zero, the end of the job takes it back by the same exchange; serial numbers
// are never used twice, so one of them wins.
func (s *session) assume() (serial uint64) {
	s.serial++
	s.role.Store(s.serial)
	s.takeOver.Start()
	return s.serial
}

// resume reports whether who ran the job still is the reader.
func (s *session) resume(serial uint64) bool { return s.role.CompareAndSwap(serial, 0) }

// becomeReader runs at each beat while jobs run, and takes the role from one that has run since the beat before.
func (s *session) becomeReader() (busy bool) {
	serial := s.role.Load()
	if seen := s.seen.Swap(serial); serial == 0 || seen != serial {
		return serial != 0
	}
	if s.resume(serial) {
		s.takeOver.Next()
		s.runOverdue()
		s.read()
	}
	return true
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
	s.releaseLocked(r)
	s.settleLocked()
}

// releaseLocked stops counting a request's job, once: an early answer may be over only after the job is.
func (s *session) releaseLocked(r *request) {
	if r == nil || !r.released {
		s.jobs--
	}
	if r != nil {
		r.released = true
	}
}

func (s *session) finish(j job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.releaseLocked(j.request)
	if !j.parked {
		s.running--
	}
	s.settleLocked()
}
