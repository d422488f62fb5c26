package shell

import "fmt"

// OutputPage is the answer of read_output: a piece of the whole text of one stream of a cell, as far as it is final. Offsets count code points.
type OutputPage struct {
	OK          bool   `json:"ok"`
	ExecutionID string `json:"execution_id"`
	Stream      string `json:"stream"`
	Offset      int64  `json:"offset"`
	Text        string `json:"text"`
	NextOffset  *int64 `json:"next_offset"` // null at the end
	TotalChars  int64  `json:"total_chars"`
	// SpooledChars is how many of them can be read: fewer than TotalChars where the spool's size limit was reached.
	SpooledChars int64  `json:"spooled_chars"`
	Error        *Error `json:"error"`
}

// ReadOutput pages through the spooled text of stream "stdout" or "stderr". It needs no turn in the queue. At most Limits.TextChars code
// points come back at once.
func (s *Shell) ReadOutput(executionID, stream string, offset, limit int64) (OutputPage, error) {
	if failed := s.failure.Load(); failed != nil {
		return OutputPage{}, failed
	}
	page := OutputPage{ExecutionID: executionID, Stream: stream, Offset: max(offset, 0)}
	var r *recording
	if e, err := s.executions.find(executionID); err == nil {
		r = e.recording.Load()
	}
	if r == nil || r.spools[0] == nil || executionID == "" {
		page.Error = &Error{
			Code: "execution_not_found",
			Message: fmt.Sprintf("no output of execution %.40q is kept; the output of the last %d executions can be read",
				executionID, keptExecutions),
		}
		return page, nil
	}
	spool, collected := r.spools[0], r.stdout
	if stream == "stderr" {
		spool, collected = r.spools[1], r.stderr
	}
	limit = min(max(limit, 1), int64(s.limits.TextChars))
	text, next, spooled, err := spool.ReadRunes(page.Offset, limit)
	if err != nil {
		return page, fmt.Errorf("cannot read the output of execution %s: %v", executionID, err)
	}
	page.OK, page.Text, page.SpooledChars, page.TotalChars = true, text, spooled, collected.Snapshot().Total
	if next < spooled {
		page.NextOffset = &next
	}
	return page, nil
}
