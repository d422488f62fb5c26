package tests

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image"
	_ "image/jpeg"
	_ "image/png"
	"os"
	"strings"
	"testing"
)

const (
	maxImageSide  = 1568
	maxImageChars = 1 << 20

	// pixel is a PNG of one pixel in base64.
	pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

// seen is what a client sees of an answer with images.
type seen struct {
	text   string
	images []image.Config
}

// look runs a cell and checks what holds for every answer: images that fit and can be decoded, no structured content
// beside them, and no base64 in the text.
func (s *server) look(code string) seen {
	s.t.Helper()
	return s.lookAt(s.call("execute", map[string]any{"code": code}))
}

func (s *server) lookAt(a answer) seen {
	s.t.Helper()
	found := seen{text: a.text()}
	for i, c := range a.Content {
		if c.Type != "image" {
			continue
		}
		data, err := base64.StdEncoding.DecodeString(c.Data)
		if err != nil {
			s.t.Fatalf("image %d: %v", i, err)
		}
		m, format, err := image.Decode(bytes.NewReader(data))
		if err != nil {
			s.t.Fatalf("image %d: %v", i, err)
		}
		size := m.Bounds().Size()
		if "image/"+format != c.MIMEType || size.X > maxImageSide || size.Y > maxImageSide || len(c.Data) > maxImageChars {
			s.t.Errorf("image %d is %s of %v in %d characters, called %s", i, format, size, len(c.Data), c.MIMEType)
		}
		found.images = append(found.images, image.Config{Width: size.X, Height: size.Y})
		if strings.Contains(found.text, c.Data[:30]) {
			s.t.Errorf("the text holds image %d", i)
		}
	}
	if (len(a.Structured) == 0) != (len(found.images) > 0) {
		s.t.Errorf("%d images beside the structured content %.300s", len(found.images), a.Structured)
	}
	return found
}

// shows checks how many images a cell shows, and what its text mentions.
func (s *server) shows(code string, images int, mentioned ...string) seen {
	s.t.Helper()
	found := s.look(code)
	if len(found.images) != images {
		s.t.Errorf("%.300s shows %d images, want %d: %.1000s", code, len(found.images), images, found.text)
	}
	mentions(s.t, found.text, mentioned...)
	return found
}

// painter defines raw PNG images without any library: png(width, height, data) is valid only where the data fits.
const painter = `
import struct, zlib
def chunk(kind, data): return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
def png(width, height, data=None):
    data = bytes((width + 1) * height) if data is None else data
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b"")
def show(mime, payload, **options): return display({mime: payload}, raw=True, **options)
class Picture:
    def __init__(self, *size): self.png = png(*size)
    def _repr_png_(self): return self.png
    def __repr__(self): return "a picture"
`

func TestPictures_OfAnyObject(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.succeed(painter)
	s.shows("print('out'); Picture(3, 2)", 1, "out\n", "<image 1 of this answer: 3x2 png>", "a picture")
	s.shows("show('image/png', png(1, 1)); Picture(2, 2)", 2, "<image 2 of this answer: 2x2 png>")
	s.shows("p = Picture(4000, 4)\ndisplay(p)\n1/0", 1, "1568x1 png, scaled down from 4000x4", "ZeroDivisionError")
	s.shows("display(Picture(1, 1)); print('x' * 20000)", 1, "characters omitted", "read_output execution_id=e")
	updated := s.shows("h = show('image/png', png(1, 1), display_id=True)\nh.update(Picture(5, 5))", 1)
	if updated.images[0].Width != 5 {
		t.Errorf("the update is %+v", updated.images)
	}
	s.shows("from IPython.display import clear_output\ndisplay(Picture(1, 1)); clear_output()", 0)
	s.shows("for _ in range(30): display(Picture(1, 1))", 20, "more was displayed than the 20 items")
	s.succeed("def draw(n: int):\n    display(Picture(n, n))\n    return n")
	s.call("register_tool", map[string]any{"name": "draw"})
	for tool, arguments := range map[string]any{
		"draw":          map[string]int{"n": 7},
		"call_function": map[string]any{"name": "draw", "arguments": map[string]int{"n": 7}},
	} {
		found := s.lookAt(s.call(tool, arguments))
		if len(found.images) != 1 || found.images[0].Width != 7 {
			t.Errorf("%s shows %+v", tool, found)
		}
		mentions(t, found.text, "<image 1 of this answer: 7x7 png>", "\n7")
	}
}

// TestPictures_ThatAreNone: what is broken or hostile is said, and never sent as an image.
func TestPictures_ThatAreNone(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.succeed(painter)
	for code, want := range map[string]string{
		"show('image/png', png(100000, 100000, b'x'))":                        "at most 64 megapixels",
		"show('image/png', png(2**31 - 1, 1, b'x'))":                          "2147483647x1 pixels",
		"show('image/png', png(10, 10, b'x'))":                                "cannot be decoded",
		"show('image/png', png(9, 9)[:-30])":                                  "cannot be decoded",
		"show('image/png', b'hello')":                                         "no PNG, JPEG, GIF or WebP image",
		"show('image/png', 'no base64!')":                                     "no base64",
		"show('image/webp', b'RIFF\\x14\\0\\0\\0WEBPVP8 \\x04\\0\\0\\0xxxx')": "cannot be decoded",
		"show('image/svg+xml', '<svg>' + 'x' * 10000)":                        "<svg>xxxx",
	} {
		found := s.shows(code, 0, want)
		if len(found.text) > 10_000 {
			t.Errorf("%s gives %d bytes of text", code, len(found.text))
		}
	}
	s.works("hostile images")
}

func TestPictures_OtherPayloadsAreFiles(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.succeed(painter)
	e := s.succeed("show('application/pdf', b'%PDF-1.7'); show('audio/wav', b'RIFF')")
	for i, want := range []string{"%PDF-1.7", "RIFF"} {
		for _, placeholder := range e.DisplayData[i].Data {
			_, path, found := strings.Cut(placeholder.(string), " in the file ")
			content, err := os.ReadFile(strings.TrimSuffix(path, ">"))
			if !found || err != nil || string(content) != want || !strings.HasPrefix(path, s.tmp) {
				t.Errorf("%v holds %q, %v", placeholder, content, err)
			}
		}
	}
	plotly := s.succeed("show('application/vnd.plotly.v1+json', {'data': [{'y': list(range(100))}] * 100})")
	encoded, err := json.Marshal(plotly.DisplayData)
	if err != nil || len(encoded) > 20_000 || !plotly.Truncated.DisplayData {
		t.Errorf("%d bytes of data, cut %v, %v", len(encoded), plotly.Truncated.DisplayData, err)
	}
}

// largePNG defines a function that displays a picture of 61 megapixels with 16 bits a channel, which takes seconds to decode, n times.
const largePNG = `import struct, zlib
from IPython.display import display
def chunk(kind, data): return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
packer = zlib.compressobj(1)
pixels = b"".join(packer.compress(bytes(1 + 6 * 7800)) for _ in range(7800)) + packer.flush()
header = struct.pack(">IIBBBBB", 7800, 7800, 16, 2, 0, 0, 0)
large = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
def show(n):
    for _ in range(n): display({"image/png": large}, raw=True)`

// What the pictures of one answer take is bounded, in time and memory; an interrupt ends their making, and the server answers meanwhile.
func TestPictures_BoundedInAll(t *testing.T) {
	t.Parallel()
	s := connect(t, options{})
	s.succeed(largePNG)
	id := s.sendCell("show(20)")
	s.promptly("ping", nil)
	found := s.lookAt(s.toolAnswer(id))
	if len(found.images) != 1 || strings.Count(found.text, "what is left for the images of this answer is 48; in the file ") != 19 {
		t.Errorf("%d images, %.3000s", len(found.images), found.text)
	}
	id = s.sendCell("show(1)\nprint('shown')")
	eventually(t, "the displays", func() bool { return strings.Contains(s.call("get_execution", map[string]any{}).text(), "shown\n") })
	if got := s.interrupt(""); got.Status != "ok" {
		t.Errorf("interrupt answers %+v", got)
	}
	// It may have come too late.
	found = s.lookAt(s.toolAnswer(id))
	if len(found.images) == 0 && !strings.Contains(found.text, "not shown: the call was interrupted before; in the file ") {
		t.Errorf("the interrupted answer is %s", found.text)
	}
}
