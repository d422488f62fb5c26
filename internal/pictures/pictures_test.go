package pictures

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/color/palette"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// webp1x1 is the smallest lossless WebP image.
const webp1x1 = "UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA=="

func plain(width, height int) image.Image { return image.NewNRGBA(image.Rect(0, 0, width, height)) }

// noise is an image that no encoder makes small.
func noise(width, height int, alpha uint8) image.Image {
	m := image.NewNRGBA(image.Rect(0, 0, width, height))
	source := rand.New(rand.NewPCG(1, 2))
	for i := 0; i < len(m.Pix); i += 4 {
		binary.LittleEndian.PutUint32(m.Pix[i:], source.Uint32())
		m.Pix[i+3] = alpha
	}
	return m
}

func pngOf(t *testing.T, m image.Image) []byte {
	t.Helper()
	var data bytes.Buffer
	if err := png.Encode(&data, m); err != nil {
		t.Fatal(err)
	}
	return data.Bytes()
}

func jpegOf(t *testing.T, m image.Image, quality int) []byte {
	t.Helper()
	var data bytes.Buffer
	if err := jpeg.Encode(&data, m, &jpeg.Options{Quality: quality}); err != nil {
		t.Fatal(err)
	}
	return data.Bytes()
}

func gifOf(t *testing.T, sizes ...int) []byte {
	t.Helper()
	var all gif.GIF
	for _, size := range sizes {
		all.Image = append(all.Image, image.NewPaletted(image.Rect(0, 0, size, size), palette.Plan9))
		all.Delay = append(all.Delay, 0)
	}
	var data bytes.Buffer
	if err := gif.EncodeAll(&data, &all); err != nil {
		t.Fatal(err)
	}
	return data.Bytes()
}

func load(t *testing.T, data []byte) (Picture, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "image")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return Load(t.Context(), path, &Budget{AnswerBytes})
}

func TestLoad_KeepsWhatFits(t *testing.T) {
	webp, err := base64.StdEncoding.DecodeString(webp1x1)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"png":  pngOf(t, plain(MaxSide, 7)),
		"jpeg": jpegOf(t, plain(7, MaxSide), 90),
		"webp": webp,
	} {
		p, err := load(t, data)
		if err != nil || p.Format != name || !bytes.Equal(p.Data, data) || p.Original != (image.Point{X: p.Width, Y: p.Height}) {
			t.Errorf("%s: %s of %d bytes, %v; want the same %d bytes", name, p.Format, len(p.Data), err, len(data))
		}
	}
}

func TestLoad_MakesItFit(t *testing.T) {
	for name, test := range map[string]struct {
		data                 []byte
		format               string
		width, height        int // 0: smaller than the original is enough
		originalX, originalY int
		background           color.Color // of the middle; nil: whatever
	}{
		"large":          {pngOf(t, plain(2000, 1200)), "png", 1568, 940, 2000, 1200, nil},
		"one pixel wide": {pngOf(t, plain(1, 9000)), "png", 1, 1568, 1, 9000, nil},
		"gray":           {pngOf(t, image.NewGray16(image.Rect(0, 0, 1600, 160))), "png", 1568, 156, 1600, 160, color.Black},
		"large jpeg":     {jpegOf(t, plain(1960, 98), 90), "jpeg", 1568, 78, 1960, 98, nil},
		"noise":          {pngOf(t, noise(700, 700, 255)), "jpeg", 0, 0, 700, 700, nil},
		"noisy jpeg":     {jpegOf(t, noise(900, 900, 255), 100), "jpeg", 0, 0, 900, 900, nil},
		"see-through":    {pngOf(t, noise(700, 700, 0)), "jpeg", 0, 0, 700, 700, color.White},
		"animation":      {gifOf(t, 64, 10, 10), "png", 64, 64, 64, 64, nil},
	} {
		p, err := load(t, test.data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		m, format, err := image.Decode(bytes.NewReader(p.Data))
		if err != nil || format != p.Format || m.Bounds().Size() != (image.Point{X: p.Width, Y: p.Height}) {
			t.Errorf("%s: the data is %s, %v, %v", name, format, m.Bounds(), err)
			continue
		}
		if p.Format != test.format || test.width > 0 && (p.Width != test.width || p.Height != test.height) {
			t.Errorf("%s: %dx%d %s", name, p.Width, p.Height, p.Format)
		}
		if p.Width > MaxSide || p.Height > MaxSide || base64.StdEncoding.EncodedLen(len(p.Data)) > MaxEncodedBytes {
			t.Errorf("%s: %dx%d, %d bytes do not fit", name, p.Width, p.Height, len(p.Data))
		}
		if p.Original != (image.Point{X: test.originalX, Y: test.originalY}) {
			t.Errorf("%s: the original is %v", name, p.Original)
		}
		if test.background != nil {
			r, _, _, a := m.At(p.Width/2, p.Height/2).RGBA()
			wantR, _, _, wantA := test.background.RGBA()
			if r>>12 != wantR>>12 || a != wantA {
				t.Errorf("%s: the middle is %v", name, m.At(p.Width/2, p.Height/2))
			}
		}
	}
}

// bomb is a PNG whose header promises more pixels than it has data for.
func bomb(t *testing.T, width, height uint32) []byte {
	t.Helper()
	data := pngOf(t, plain(1, 1))
	header := data[12:29] // type and content of the first chunk
	binary.BigEndian.PutUint32(header[4:], width)
	binary.BigEndian.PutUint32(header[8:], height)
	binary.BigEndian.PutUint32(data[29:], crc32.ChecksumIEEE(header))
	return data
}

func TestLoad_Refuses(t *testing.T) {
	good := pngOf(t, noise(50, 50, 255))
	flipped := bytes.Clone(good)
	flipped[len(flipped)/2] ^= 0x10
	for name, test := range map[string]struct {
		data []byte
		want string
	}{
		"empty":          {nil, "no PNG"},
		"text":           {[]byte("hello"), "no PNG"},
		"svg":            {[]byte("<svg/>"), "no PNG"},
		"half":           {good[:len(good)/2], "png data cannot be decoded"},
		"damaged":        {flipped, "png data cannot be decoded"},
		"header alone":   {good[:10], "cannot be decoded"},
		"half a jpeg":    {jpegOf(t, noise(50, 50, 255), 90)[:900], "jpeg data cannot be decoded"},
		"half a gif":     {gifOf(t, 64)[:700], "cannot be decoded"},
		"bomb":           {bomb(t, 100_000, 100_000), "100000x100000 pixels, and at most 64 megapixels"},
		"overflowing":    {bomb(t, 1<<31-1, 1<<31-1), ""},
		"wide bomb":      {bomb(t, 1<<30, 1), "at most 64 megapixels"},
		"without pixels": {bomb(t, 0, 5), ""},
	} {
		p, err := load(t, test.data)
		if err == nil || !strings.Contains(err.Error(), test.want) || p.Data != nil {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
		if isNone := errors.Is(err, ErrNoPicture); isNone != (test.want == "no PNG") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Load(t.Context(), filepath.Join(t.TempDir(), "none"), &Budget{AnswerBytes}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

// What the images of one answer take is bounded in all, by what each takes when it is decoded.
func TestLoad_WithinABudget(t *testing.T) {
	budget := Budget{2000*8 + 1000*3}
	for i, test := range []struct {
		image image.Image
		want  string
	}{
		{image.NewNRGBA64(image.Rect(0, 0, 100, 20)), ""},
		{image.NewNRGBA64(image.Rect(0, 0, 100, 20)), "takes 0 MiB, and what is left"},
		{image.NewPaletted(image.Rect(0, 0, 100, 20), palette.Plan9), ""},
		{image.NewGray(image.Rect(0, 0, 100, 20)), "what is left"},
		{image.NewGray(image.Rect(0, 0, 10, 10)), ""},
	} {
		path := filepath.Join(t.TempDir(), "image")
		if err := os.WriteFile(path, pngOf(t, test.image), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Load(t.Context(), path, &budget)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("image %d: %v, %d bytes are left", i, err, budget.Bytes)
		}
	}
}

// A progressive JPEG takes five times as much as another, wherever its frame begins.
func TestLoad_ProgressiveWithinABudget(t *testing.T) {
	baseline := jpegOf(t, plain(100, 20), 90)
	as := func(marker byte) []byte { return bytes.Replace(baseline, []byte{0xff, 0xc0}, []byte{0xff, marker}, 1) }
	const comment = "\xff\xd8\xff\xfe\x00\x06\xff\xc0\xff\xc0" // with what looks like the start of a frame
	garbled := append([]byte(comment+"\x01\x02\xff\xd0\xff\x00\xff\xff"), as(0xc2)[2:]...)
	for name, test := range map[string]struct {
		data  []byte
		bytes int64
	}{
		"baseline":    {baseline, 100 * 20 * 3},
		"extended":    {as(0xc1), 100 * 20 * 3},
		"progressive": {as(0xc2), 100 * 20 * 15},
		"garbled":     {garbled, 100 * 20 * 15},
		"gray":        {bytes.Replace(jpegOf(t, image.NewGray(image.Rect(0, 0, 100, 20)), 90), []byte{0xff, 0xc0}, []byte{0xff, 0xc2}, 1), 100 * 20 * 5},
	} {
		path := filepath.Join(t.TempDir(), "image")
		if err := os.WriteFile(path, test.data, 0o600); err != nil {
			t.Fatal(err)
		}
		budget := Budget{test.bytes - 1}
		if _, err := Load(t.Context(), path, &budget); err == nil || !strings.Contains(err.Error(), "what is left") {
			t.Errorf("%s: with a byte too few: %v", name, err)
		}
		budget.Bytes++
		// Whether it can be decoded then is another matter.
		if _, err := Load(t.Context(), path, &budget); budget.Bytes != 0 {
			t.Errorf("%s: with what it takes: %v, %d bytes are left", name, err, budget.Bytes)
		}
	}
	if !progressive(strings.NewReader("\xff\xd8\xff")) {
		t.Error("a file without a frame counts as baseline")
	}
}

// Work whose context ends stops, also in the middle of an image and while another image is being made.
func TestLoad_Stops(t *testing.T) {
	path := filepath.Join(t.TempDir(), "image")
	if err := os.WriteFile(path, pngOf(t, image.NewNRGBA64(image.Rect(0, 0, 8000, 8000))), 0o600); err != nil {
		t.Fatal(err)
	}
	ends := &endsSoon{Context: t.Context()}
	ends.looks.Store(3)
	if _, err := Load(ends, path, &Budget{AnswerBytes}); err != context.Canceled {
		t.Errorf("the error is %v", err)
	}
	one <- struct{}{}
	defer func() { <-one }()
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("enough")
	cancel(reason)
	if _, err := Load(ctx, path, &Budget{AnswerBytes}); err != reason {
		t.Errorf("beside another image the error is %v", err)
	}
}

// endsSoon is a context that ends when it has been looked at some times.
type endsSoon struct {
	context.Context
	looks atomic.Int32
}

func (e *endsSoon) Err() error {
	if e.looks.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte("\x89PNG\r\n\x1a\n"))
	f.Add([]byte("GIF89a"))
	f.Add([]byte("\xff\xd8\xff"))
	webp, _ := base64.StdEncoding.DecodeString(webp1x1)
	f.Add(webp)
	f.Fuzz(func(t *testing.T, data []byte) {
		if c, _, err := image.DecodeConfig(bytes.NewReader(data)); err == nil && c.Width*c.Height > 1<<16 {
			t.Skip("too slow")
		}
		p, err := load(t, data)
		if err != nil {
			return
		}
		if size := base64.StdEncoding.EncodedLen(len(p.Data)); !fits(image.Pt(p.Width, p.Height)) || size > MaxEncodedBytes {
			t.Errorf("%dx%d, %d characters", p.Width, p.Height, size)
		}
	})
}
