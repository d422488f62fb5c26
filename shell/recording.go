package shell

import (
	"fmt"
	"sync/atomic"
	"unicode/utf8"

	"ipython-mcp/internal/bounds"
)

// recording collects the two streams of one operation. The spools are nil where nobody can ask for the whole text later.
type recording struct {
	id             string
	stdout, stderr *bounds.Stream
	spools         [2]*bounds.Spool
	questions      atomic.Int32 // open ones
	scratch        string       // where Python writes what is displayed
	request        atomic.Int64 // number of the request that runs

	takesBackground bool // the operation answers with what was written before it
	background      bounds.Snapshot
}

// render joins what is kept of a stream; where it was cut, the marker tells how to read on.
func (r *recording) render(stream string, kept bounds.Snapshot) string {
	if r.spools[0] == nil {
		return kept.Render("")
	}
	return kept.Render(fmt.Sprintf("read_output execution_id=%s stream=%s offset=%d",
		r.id, stream, utf8.RuneCountInString(kept.Head)))
}

// record opens the recording of one execution, its whole text spooled in the scratch directory.
func (s *Shell) record(id string) *recording {
	r := &recording{id: id}
	for i, stream := range []**bounds.Stream{&r.stdout, &r.stderr} {
		r.spools[i] = bounds.NewSpool(s.scratch, s.limits.SpoolBytes)
		r.spools[i].Keep = s.keep
		*stream = bounds.NewStream(s.limits.TextChars, r.spools[i])
	}
	return r
}

// close ends both streams and returns what they hold. Nothing may be written afterwards.
func (r *recording) close() (stdout, stderr bounds.Snapshot) {
	return r.stdout.Close(), r.stderr.Close()
}

// free deletes the spooled text.
func (r *recording) free() {
	for _, spool := range r.spools {
		if spool != nil {
			// A temporary file that cannot be removed goes with its directory at the end.
			_ = spool.Close()
		}
	}
}
