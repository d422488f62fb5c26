package shell

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ipython-mcp/internal/bounds"
	"ipython-mcp/internal/pictures"
)

// Image is a picture that was displayed, as it goes to the client.
type Image struct {
	MIME string
	Data []byte
}

// Illustrated is the part of an answer that is not in its JSON: the images that its displays have placeholders for.
type Illustrated struct {
	Images []Image `json:"-"`
	// Payloads is what Python wrote to files; nil once the displays have their placeholders.
	Payloads []Payload `json:"payloads,omitempty"`
}

// Payload names the file that holds a binary payload of a display, below the scratch directory. Whoever decodes the answer owns it.
type Payload struct {
	Display int    `json:"display"` // index into the answer's displays
	MIME    string `json:"mime"`
	File    string `json:"file"`
}

// illustrate turns payloads into images and kept files, and writes their placeholders into the displays. It needs no turn. When the
// context ends, the files of the images that are left are kept instead.
func (s *Shell) illustrate(ctx context.Context, displays []DisplayData, part *Illustrated) error {
	if len(part.Payloads) == 0 {
		return nil
	}
	var err error
	s.aside(func() {
		budget := pictures.Budget{Bytes: pictures.AnswerBytes}
		err = fill(displays, part, func(payload Payload) string { return s.placeholder(ctx, payload, part, &budget) })
	})
	return err
}

// fill writes placeholders for the payloads into the displays.
func fill(displays []DisplayData, part *Illustrated, placeholder func(Payload) string) error {
	placeholders := make(map[int]map[string]string) // by display and type
	for _, payload := range part.Payloads {
		if placeholders[payload.Display] == nil {
			placeholders[payload.Display] = make(map[string]string)
		}
		placeholders[payload.Display][payload.MIME] = placeholder(payload)
	}
	part.Payloads = nil
	for i, texts := range placeholders {
		if i < 0 || i >= len(displays) {
			return fmt.Errorf("cannot place a payload in display %d of %d", i, len(displays))
		}
		var err error
		if displays[i].Data, err = filled(displays[i].Data, texts); err != nil {
			return fmt.Errorf("cannot place the payloads of display %d: %v", i, err)
		}
	}
	return nil
}

// filled returns a bundle with texts in the place of some payloads.
func filled(bundle json.RawMessage, texts map[string]string) (json.RawMessage, error) {
	data := make(map[string]any)
	var present map[string]json.RawMessage
	if err := json.Unmarshal(bundle, &present); err != nil {
		return nil, err
	}
	for mime, payload := range present {
		data[mime] = payload
	}
	for mime, text := range texts {
		data[mime] = text
	}
	return bounds.CanonicalJSON(data)
}

// placeholder adds the image of a payload to the answer, or keeps its file, and says which.
func (s *Shell) placeholder(ctx context.Context, payload Payload, part *Illustrated, budget *pictures.Budget) string {
	path := filepath.Join(s.scratch, filepath.Base(payload.File))
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Sprintf("<%s, lost: %v>", payload.MIME, err)
	}
	about := fmt.Sprintf("<%s, %d bytes, ", payload.MIME, info.Size())
	if strings.HasPrefix(payload.MIME, "image/") {
		picture, err := pictures.Load(ctx, path, budget)
		switch {
		case err == nil:
			// What cannot be removed goes with its directory at the end.
			_ = os.Remove(path)
			return part.add(picture)
		case ctx.Err() != nil:
			about += "not shown: the call was interrupted before; "
		default:
			about += fmt.Sprintf("not shown: %v; ", err)
		}
	}
	kept, err := s.files.keep(path, info.Size(), payload.MIME)
	if err != nil {
		return about + fmt.Sprintf("not kept: %v>", err)
	}
	return about + "in the file " + kept + ">"
}

// add puts a picture behind those that there are, and returns its placeholder.
func (part *Illustrated) add(p pictures.Picture) string {
	part.Images = append(part.Images, Image{p.MIME(), p.Data})
	scaled := ""
	if p.Original.X != p.Width || p.Original.Y != p.Height {
		scaled = fmt.Sprintf(", scaled down from %dx%d", p.Original.X, p.Original.Y)
	}
	return fmt.Sprintf("<image %d of this answer: %dx%d %s%s>", len(part.Images), p.Width, p.Height, p.Format, scaled)
}
