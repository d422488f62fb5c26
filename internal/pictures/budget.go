package pictures

import (
	"fmt"
	"image"
	"image/color"
	"runtime/debug"
)

const (
	// AnswerBytes is what the images of one answer may take in all: one of the largest, or a hundred photographs. Decoding that much
	// takes two or three seconds.
	AnswerBytes = 512 << 20
	// keptBytes is what a decoded image may leave to the garbage collector.
	keptBytes = 32 << 20
)

// Budget is what images may still take when they are decoded, one after the other.
type Budget struct {
	Bytes int64
}

// spend takes what an image needs out of the budget, or fails; free is to be called once it is not needed any more.
func (b *Budget) spend(config image.Config) (free func(), err error) {
	needed := int64(config.Width) * int64(config.Height) * bytesPerPixel(config.ColorModel)
	if needed > b.Bytes {
		return nil, fmt.Errorf("decoded, it takes %.0f MiB, and what is left for the images of this answer is %.0f",
			mebibytes(needed), mebibytes(b.Bytes))
	}
	b.Bytes -= needed
	if needed < keptBytes {
		return func() {}, nil
	}
	return debug.FreeOSMemory, nil
}

func mebibytes(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// bytesPerPixel is about what a decoded image takes.
func bytesPerPixel(model color.Model) int64 {
	if _, paletted := model.(color.Palette); paletted {
		return 1
	}
	switch model {
	case color.GrayModel:
		return 1
	case color.Gray16Model:
		return 2
	case color.YCbCrModel:
		return 3
	case color.RGBA64Model, color.NRGBA64Model:
		return 8
	}
	return 4
}
