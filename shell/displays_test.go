package shell

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// displaying is a shell whose executions answer with displays and write the given files.
func displaying(t *testing.T, value string, contents map[string][]byte) *Shell {
	t.Helper()
	s, _, _ := started(t, func(string, map[string]any) string { return `"value": ` + value })
	for name, content := range contents {
		if err := os.WriteFile(filepath.Join(s.scratch, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func pngOf(t *testing.T, width, height int) []byte {
	t.Helper()
	var data bytes.Buffer
	if err := png.Encode(&data, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return data.Bytes()
}

func TestExecute_Displays(t *testing.T) {
	s := displaying(t, `{"ok": true, "display_data": [
		{"data": {"text/plain": "<Figure>", "image/png": null}, "metadata": {}},
		{"data": {"text/plain": "nothing"}, "metadata": {}},
		{"data": {"image/png": null, "application/pdf": null, "audio/x-wav": null, "image/gif": null}, "metadata": {}},
		{"data": {"image/jpeg": null}, "metadata": {}}
	], "payloads": [
		{"display": 0, "mime": "image/png", "file": "a"}, {"display": 2, "mime": "image/png", "file": "b"},
		{"display": 2, "mime": "application/pdf", "file": "c"}, {"display": 2, "mime": "audio/x-wav", "file": "d"},
		{"display": 2, "mime": "image/gif", "file": "../lost"}, {"display": 3, "mime": "image/jpeg", "file": "e"}
	]}`, map[string][]byte{
		"a": pngOf(t, 10, 20), "b": pngOf(t, 3136, 8), "c": []byte("%PDF"), "d": []byte("RIFF"), "e": pngOf(t, 9, 9)[:40],
	})
	answer, err := s.Execute(context.Background(), s.Reserve(), Cell{Code: "1"})
	if err != nil {
		t.Fatal(err)
	}
	kept := func(name string) string { return filepath.Join(s.scratch, name) }
	want := []map[string]string{
		{"text/plain": "<Figure>", "image/png": "<image 1 of this answer: 10x20 png>"},
		{"text/plain": "nothing"},
		{
			"image/png":       "<image 2 of this answer: 1568x4 png, scaled down from 3136x8>",
			"application/pdf": "<application/pdf, 4 bytes, in the file " + kept("display-1.pdf") + ">",
			"audio/x-wav":     "<audio/x-wav, 4 bytes, in the file " + kept("display-2.wav") + ">",
			"image/gif":       "<image/gif, lost: ",
		},
		{"image/jpeg": "<image/jpeg, 40 bytes, not shown: its png data cannot be decoded: "},
	}
	for i, bundle := range want {
		var got map[string]string
		if err := json.Unmarshal(answer.DisplayData[i].Data, &got); err != nil || len(got) != len(bundle) {
			t.Errorf("display %d: %s, %v", i, answer.DisplayData[i].Data, err)
		}
		for mime, text := range bundle {
			if !strings.HasPrefix(got[mime], text) || strings.HasSuffix(text, ">") && got[mime] != text {
				t.Errorf("display %d, %s: %q, want %q", i, mime, got[mime], text)
			}
		}
	}
	if len(answer.Images) != 2 || answer.Images[0].MIME != "image/png" || answer.Payloads != nil {
		t.Errorf("%d images, payloads %v", len(answer.Images), answer.Payloads)
	}
	if left := names(t, s.scratch); left != "display-1.pdf display-2.wav display-3.jpeg" {
		t.Errorf("in the scratch directory are %s", left)
	}
}

func names(t *testing.T, directory string) string {
	t.Helper()
	list, err := os.ReadDir(directory)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, entry := range list {
		all = append(all, entry.Name())
	}
	return strings.Join(all, " ")
}

func TestExecute_PayloadOfNoDisplay(t *testing.T) {
	s := displaying(t, `{"ok": true, "payloads": [{"display": 1, "mime": "image/png", "file": "a"}]}`, nil)
	if _, err := s.Execute(context.Background(), s.Reserve(), Cell{Code: "1"}); err == nil {
		t.Error("it has a place")
	}
}

func TestTake_CallsDisplay(t *testing.T) {
	s := displaying(t, `{"ok": true, "display_data": [{"data": {"image/png": null}, "metadata": {}}],
		"payloads": [{"display": 0, "mime": "image/png", "file": "a"}]}`, map[string][]byte{"a": pngOf(t, 1, 1)})
	var answer CallAnswer
	_, err := s.Take(context.Background(), s.Reserve(), func(turn Turn) (err error) {
		answer, err = turn.CallFunction("f", json.RawMessage("{}"))
		return err
	})
	if err != nil || len(answer.Images) != 1 || !strings.Contains(string(answer.DisplayData[0].Data), "<image 1 of") {
		t.Errorf("%d images, displays %s, %v", len(answer.Images), answer.DisplayData, err)
	}
}

func TestFiles_OldestGoFirst(t *testing.T) {
	f := files{directory: t.TempDir(), limit: 10}
	for i, size := range []int{4, 4, 11, 4, 10} {
		path := filepath.Join(f.directory, fmt.Sprint("new-", i))
		if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := f.keep(path, int64(size), "a/b"); (err != nil) != (size > 10) {
			t.Errorf("file %d: %v", i, err)
		}
		want := []string{
			"display-1.b", "display-1.b display-2.b", "display-1.b display-2.b", "display-2.b display-3.b", "display-4.b",
		}[i]
		if got := names(t, f.directory); got != want {
			t.Errorf("after file %d: %s, want %s", i, got, want)
		}
	}
}

func TestExtension(t *testing.T) {
	for mime, want := range map[string]string{
		"application/pdf": ".pdf", "audio/x-wav": ".wav", "video/mp4; codecs=x": ".mp4", "application/vnd.x.y": ".bin",
		"a/../../b": ".bin", "odd": ".bin",
	} {
		if got := extension(mime); got != want {
			t.Errorf("%s: %s, want %s", mime, got, want)
		}
	}
}

// Pictures are not made for a call that was interrupted; their files are kept.
func TestExecute_InterruptedDisplays(t *testing.T) {
	s := displaying(t, "null", map[string][]byte{"a": pngOf(t, 10, 20)})
	part := Illustrated{Payloads: []Payload{{Display: 0, MIME: "image/png", File: "a"}}}
	displays := []DisplayData{{Data: json.RawMessage(`{"image/png":null}`)}}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.illustrate(ctx, displays, &part); err != nil || len(part.Images) != 0 {
		t.Errorf("%d images, %v", len(part.Images), err)
	}
	if got := string(displays[0].Data); !strings.Contains(got, "not shown: the call was interrupted before; in the file") {
		t.Errorf("the display is %s", got)
	}
}
