package shell

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What was displayed so far is read from the file of the request that runs, whatever its directory is called, and nothing of it is taken away.
func TestRecording_Sketched(t *testing.T) {
	r := &recording{scratch: filepath.Join(t.TempDir(), "x[y]")}
	if err := os.Mkdir(r.scratch, 0o700); err != nil {
		t.Fatal(err)
	}
	r.request.Store(7)
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(r.scratch, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const image = `{"data": {"image/png": null}, "files": {"image/png": %q}}, `
	displays := ""
	for _, file := range []string{"old", "lost", "broken", "../small"} {
		displays += fmt.Sprintf(image, file)
	}
	write("sketch-6.json", `{"displays": [{"data": {"text/plain": "of another"}}]}`)
	write("sketch-7.json", `{"displays": [`+displays+`{"data": {"text/plain": "last"}, "metadata": {}, "files": {}}], "cut": true, "omitted": true}`)
	write("sketch-7.json.new", `{"displays": [`)
	write("broken", "no picture")
	write("small", string(pngOf(t, 3, 4)))
	for range 2 {
		found := r.sketched()
		if !found.cut || !found.omitted || len(found.displays) != 5 || len(found.part.Images) != 1 || found.part.Payloads != nil {
			t.Fatalf("what was displayed is %+v", found)
		}
		for i, want := range []string{
			"<image/png, left out while the code runs>", "<image/png, left out while the code runs>",
			"<image/png, left out while the code runs (it is no PNG",
			"<image 1 of this answer: 3x4 png>", "last",
		} {
			var bundle map[string]string
			if err := json.Unmarshal(found.displays[i].Data, &bundle); err != nil || !strings.HasPrefix(bundle["image/png"]+bundle["text/plain"], want) {
				t.Errorf("display %d is %s, %v; want %s", i, found.displays[i].Data, err, want)
			}
		}
	}
}

// What counts is displays, not images: one display with images of several types is one.
func TestNewestImages(t *testing.T) {
	var payloads []Payload
	for display := range 6 {
		payloads = append(payloads, Payload{display, "application/pdf", "p"}, Payload{display, "image/png", "a"}, Payload{display, "image/tiff", "b"})
	}
	payloads = append(payloads, Payload{6, "application/pdf", "p"})
	if newest := newestImages(payloads); !maps.Equal(newest, map[int]bool{2: true, 3: true, 4: true, 5: true}) {
		t.Errorf("the newest images are in the displays %v", newest)
	}
}
