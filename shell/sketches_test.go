package shell

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What was displayed so far is read from the files of the request that runs, and nothing of it is taken away.
func TestRecording_Sketched(t *testing.T) {
	r := &recording{scratch: t.TempDir()}
	r.request.Store(7)
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(r.scratch, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const image = `{"data": {"image/png": null}, "metadata": {}, "files": {"image/png": %q}, "cut": false, "omitted": false}`
	write("sketch-6-000.json", `{"data": {"text/plain": "of another"}}`)
	write("sketch-7-010.json", `{"data": {"text/plain": "last"}, "metadata": {}, "files": {}, "cut": true, "omitted": true}`)
	write("sketch-7-011.json.new", `{"data"`)
	write("sketch-7-012.json", `{"data"`)
	for i, file := range []string{"old", "lost", "broken", "../small"} {
		write(fmt.Sprintf("sketch-7-00%d.json", i), fmt.Sprintf(image, file))
	}
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
