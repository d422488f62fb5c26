package shell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ipython-mcp/internal/pictures"
)

const (
	// sketchedImages is how many displays an answer has with their images whose code still runs: the newest. The model may look often.
	sketchedImages = 4
	// sketchedBytes is what they may take when they are decoded, and sketchedTime how long, the wait for pictures of other answers
	// included. The answer has a clock to keep.
	sketchedBytes = 64 << 20
	sketchedTime  = time.Second
)

var errSketchTakesLong = errors.New("making it takes too long")

// sketch is what code that runs has displayed so far, as Python writes it to a file.
type sketch struct {
	Displays []struct {
		DisplayData
		Files map[string]string `json:"files"` // by type
	} `json:"displays"`
	Cut     bool `json:"cut"`
	Omitted bool `json:"omitted"` // there are more than are kept
}

// sketched is what was displayed so far.
type sketched struct {
	displays     []DisplayData
	part         Illustrated
	cut, omitted bool
}

// sketched returns what the operation's code has displayed so far.
func (r *recording) sketched() sketched {
	found := r.sketch().sketched()
	budget := pictures.Budget{Bytes: sketchedBytes}
	ctx, cancel := context.WithTimeoutCause(context.Background(), sketchedTime, errSketchTakesLong)
	defer cancel()
	newest := newestImages(found.part.Payloads)
	err := fill(found.displays, &found.part, func(p Payload) string {
		if !isImage(p) || !newest[p.Display] {
			return later(p, "")
		}
		return r.preview(ctx, p, &found.part, &budget)
	})
	if err != nil {
		return sketched{}
	}
	return found
}

// sketch reads the file of the request that runs; nothing was displayed where there is none.
func (r *recording) sketch() (s sketch) {
	text, err := os.ReadFile(filepath.Join(r.scratch, fmt.Sprintf("sketch-%d.json", r.request.Load())))
	if err != nil || json.Unmarshal(text, &s) != nil {
		return sketch{}
	}
	return s
}

// sketched returns the displays and their payloads, in the order in which they were made.
func (s sketch) sketched() sketched {
	found := sketched{cut: s.Cut, omitted: s.Omitted}
	for number, display := range s.Displays {
		found.displays = append(found.displays, display.DisplayData)
		for _, mime := range slices.Sorted(maps.Keys(display.Files)) {
			found.part.Payloads = append(found.part.Payloads, Payload{number, mime, display.Files[mime]})
		}
	}
	return found
}

// newestImages returns which displays are the last that have an image.
func newestImages(payloads []Payload) map[int]bool {
	newest := make(map[int]bool)
	for _, p := range slices.Backward(payloads) {
		if isImage(p) && len(newest) < sketchedImages {
			newest[p.Display] = true
		}
	}
	return newest
}

func isImage(p Payload) bool { return strings.HasPrefix(p.MIME, "image/") }

// preview adds the image of a payload to the answer and leaves its file where it is.
func (r *recording) preview(ctx context.Context, p Payload, part *Illustrated, budget *pictures.Budget) string {
	picture, err := pictures.Load(ctx, filepath.Join(r.scratch, filepath.Base(p.File)), budget)
	switch {
	case errors.Is(err, os.ErrNotExist): // replaced since
		return later(p, "")
	case err != nil:
		return later(p, fmt.Sprintf(" (%v)", err))
	}
	return part.add(picture)
}

// later is the placeholder of what only the last answer has.
func later(p Payload, why string) string {
	return fmt.Sprintf("<%s, left out while the code runs%s>", p.MIME, why)
}
