package pictures

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"

	"golang.org/x/image/draw"
)

const jpegQuality = 85

// encode makes a picture of what was decoded: as large as both bounds allow, without loss where that is small enough. For a source that had
// losses already, only JPEG is tried.
func encode(decoded image.Image, lossy bool) (Picture, error) {
	original := decoded.Bounds().Size()
	for side := MaxSide; ; side = side * 3 / 4 {
		decoded = scaled(decoded, side)
		size := decoded.Bounds().Size()
		for _, format := range formats(lossy) {
			var data bytes.Buffer
			if err := format.encode(&data, decoded); err != nil {
				return Picture{}, err
			}
			if base64.StdEncoding.EncodedLen(data.Len()) <= MaxEncodedBytes {
				return Picture{format.name, data.Bytes(), size.X, size.Y, original}, nil
			}
		}
	}
}

type format struct {
	name   string
	encode func(*bytes.Buffer, image.Image) error
}

func formats(lossy bool) []format {
	asJPEG := format{"jpeg", func(to *bytes.Buffer, from image.Image) error {
		return jpeg.Encode(to, onWhite(from), &jpeg.Options{Quality: jpegQuality})
	}}
	if lossy {
		return []format{asJPEG}
	}
	return []format{{"png", func(to *bytes.Buffer, from image.Image) error { return png.Encode(to, from) }}, asJPEG}
}

// scaled returns the image with no side longer than that; one that is small enough comes back as it is.
func scaled(from image.Image, side int) image.Image {
	size := from.Bounds().Size()
	longest := max(size.X, size.Y)
	if longest <= side {
		return from
	}
	width, height := max(size.X*side/longest, 1), max(size.Y*side/longest, 1)
	to := image.NewRGBA(image.Rect(0, 0, width, height))
	draw.BiLinear.Scale(to, to.Bounds(), from, from.Bounds(), draw.Src, nil)
	return to
}

// onWhite returns the image without transparency, which JPEG does not have.
func onWhite(from image.Image) image.Image {
	if opaque, is := from.(interface{ Opaque() bool }); is && opaque.Opaque() {
		return from
	}
	to := image.NewRGBA(from.Bounds())
	draw.Draw(to, to.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.Draw(to, to.Bounds(), from, from.Bounds().Min, draw.Over)
	return to
}
