package pictures

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	_ "image/gif"  // registers the decoder
	_ "image/jpeg" // the same
	_ "image/png"  // the same
	"io"
	"os"

	_ "golang.org/x/image/webp" // the same
)

const (
	// MaxSide is the longest side of a picture in pixels: above, model services scale images down themselves.
	MaxSide = 1568
	// MaxEncodedBytes is the size of a picture in base64.
	MaxEncodedBytes = 1 << 20
	// maxPixels bounds what is decoded at all.
	maxPixels = 64 << 20
)

// ErrNoPicture is returned for a file that is no image of a known format.
var ErrNoPicture = errors.New("it is no PNG, JPEG, GIF or WebP image")

// Picture is an image that fits.
type Picture struct {
	Format        string // "png", "jpeg" or "webp"
	Data          []byte
	Width, Height int
	Original      image.Point // size of the image that it was made from
}

// MIME is the type of the picture's data.
func (p Picture) MIME() string { return "image/" + p.Format }

// one keeps images from being decoded at the same time: each may take half a gigabyte, what its budget has at most.
var one = make(chan struct{}, 1)

// Load makes a picture of an image file, within what is left of the budget. Whatever the name says, the content decides about the
// format. A context that ends ends the work with its cause.
func Load(ctx context.Context, path string, budget *Budget) (p Picture, err error) {
	select {
	case one <- struct{}{}:
		defer func() { <-one }()
	case <-ctx.Done():
		return Picture{}, context.Cause(ctx)
	}
	file, err := os.Open(path)
	if err != nil {
		return Picture{}, err
	}
	defer file.Close()
	defer func() {
		if cause := recover(); cause != nil {
			p, err = Picture{}, fmt.Errorf("it cannot be decoded: %v", cause)
		}
	}()
	config, format, err := image.DecodeConfig(file)
	switch {
	case errors.Is(err, image.ErrFormat):
		return Picture{}, ErrNoPicture
	case err != nil:
		return Picture{}, undecodable(format, err)
	case config.Width <= 0 || config.Height <= 0:
		return Picture{}, fmt.Errorf("it has %dx%d pixels", config.Width, config.Height)
	case config.Width > maxPixels/config.Height:
		return Picture{}, fmt.Errorf("it has %dx%d pixels, and at most %d megapixels are decoded",
			config.Width, config.Height, maxPixels>>20)
	}
	free, err := budget.spend(config, format == "jpeg" && progressive(file))
	if err != nil {
		return Picture{}, err
	}
	defer free()
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return Picture{}, err
	}
	decoded, _, err := image.Decode(stoppable{ctx, file})
	switch {
	case ctx.Err() != nil:
		return Picture{}, context.Cause(ctx)
	case err != nil:
		return Picture{}, undecodable(format, err)
	}
	if format != "gif" && fits(decoded.Bounds().Size()) {
		if data, err := readSmall(file); err != nil || data != nil {
			return Picture{format, data, config.Width, config.Height, decoded.Bounds().Size()}, err
		}
	}
	return encode(decoded, format == "jpeg")
}

// stoppable is a file whose content ends with its context.
type stoppable struct {
	ctx  context.Context
	file *os.File
}

func (s stoppable) Read(p []byte) (int, error) {
	if s.ctx.Err() != nil {
		return 0, context.Cause(s.ctx)
	}
	return s.file.Read(p)
}

func undecodable(format string, err error) error {
	if format == "" {
		format = "image"
	}
	return fmt.Errorf("its %s data cannot be decoded: %v", format, err)
}

func fits(size image.Point) bool { return size.X <= MaxSide && size.Y <= MaxSide }

// readSmall returns the content of a file that fits, or nil.
func readSmall(file *os.File) ([]byte, error) {
	info, err := file.Stat()
	if err != nil || base64.StdEncoding.EncodedLen(int(info.Size())) > MaxEncodedBytes {
		return nil, err
	}
	var content bytes.Buffer
	_, err = io.Copy(&content, io.NewSectionReader(file, 0, info.Size()))
	return content.Bytes(), err
}
