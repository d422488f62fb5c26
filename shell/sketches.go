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
	// sketchedImages is how many images an answer has whose code still runs: the newest. The model may look often.
	sketchedImages = 4
	// sketchedBytes is what they may take when they are decoded, and sketchedTime how long, the wait for pictures of other answers
	// included. The answer has a clock to keep.
	sketchedBytes = 64 << 20
	sketchedTime  = time.Second
)

var errSketchTakesLong = errors.New("making it takes too long")

// sketch is a display of code that runs, as Python writes it to a file.
type sketch struct {
	DisplayData
	Files   map[string]string `json:"files"` // by type
	Cut     bool              `json:"cut"`
	Omitted bool              `json:"omitted"` // there are more than are kept
}

// sketched is what was displayed so far.
type sketched struct {
	displays     []DisplayData
	part         Illustrated
	cut, omitted bool
}

// sketched returns what the operation's code has displayed so far. Displays that change at the same time may be missing.
func (r *recording) sketched() (found sketched) {
	var withImage []int
	for _, s := range r.sketches() {
		number := len(found.displays)
		found.displays = append(found.displays, s.DisplayData)
		found.cut, found.omitted = found.cut || s.Cut, found.omitted || s.Omitted
		for _, mime := range slices.Sorted(maps.Keys(s.Files)) {
			found.part.Payloads = append(found.part.Payloads, Payload{number, mime, s.Files[mime]})
			if strings.HasPrefix(mime, "image/") {
				withImage = append(withImage, number)
			}
		}
	}
	newest := withImage[max(0, len(withImage)-sketchedImages):]
	budget := pictures.Budget{Bytes: sketchedBytes}
	ctx, cancel := context.WithTimeoutCause(context.Background(), sketchedTime, errSketchTakesLong)
	defer cancel()
	err := fill(found.displays, &found.part, func(p Payload) string {
		if !strings.HasPrefix(p.MIME, "image/") || !slices.Contains(newest, p.Display) {
			return later(p, "")
		}
		picture, err := pictures.Load(ctx, filepath.Join(r.scratch, filepath.Base(p.File)), &budget)
		switch {
		case errors.Is(err, os.ErrNotExist): // replaced since
			return later(p, "")
		case err != nil:
			return later(p, fmt.Sprintf(" (%v)", err))
		}
		return found.part.add(picture)
	})
	if err != nil {
		return sketched{}
	}
	return found
}

// later is the placeholder of what only the last answer has.
func later(p Payload, why string) string {
	return fmt.Sprintf("<%s, left out while the code runs%s>", p.MIME, why)
}

// sketches reads the files of the request that runs, in the order in which the displays were made.
func (r *recording) sketches() (all []sketch) {
	paths, err := filepath.Glob(filepath.Join(r.scratch, fmt.Sprintf("sketch-%d-*.json", r.request.Load())))
	if err != nil {
		return nil
	}
	for _, path := range paths {
		var s sketch
		if text, err := os.ReadFile(path); err == nil && json.Unmarshal(text, &s) == nil {
			all = append(all, s)
		}
	}
	return all
}
