package pictures

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"io"
	"math"
	"runtime/debug"
)

const (
	// AnswerBytes is what the images of one answer may take in all: one of the largest (of a progressive JPEG: 35 megapixels), or a
	// dozen photographs. Decoding that much takes two or three seconds.
	AnswerBytes = 512 << 20
	// coefficientBytes is what the decoder keeps of a progressive JPEG beside each byte of the image, until it has all of it.
	coefficientBytes = 4
	// keptBytes is what a decoded image may leave to the garbage collector.
	keptBytes = 32 << 20
)

// The markers of frames in a JPEG file: baseline, extended, progressive.
const (
	sof0 = 0xc0 + iota
	sof1
	sof2
)

// Budget is what images may still take when they are decoded, one after the other.
type Budget struct {
	Bytes int64
}

// spend takes what an image needs out of the budget, or fails; free is to be called once it is not needed any more.
func (b *Budget) spend(config image.Config, progressive bool) (free func(), err error) {
	needed := int64(config.Width) * int64(config.Height) * bytesPerPixel(config.ColorModel)
	if progressive {
		needed *= 1 + coefficientBytes
	}
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

// progressive tells whether a JPEG file is decoded in several scans. As for the decoder, the first header of a frame says so, and what
// stands between segments is passed over. A file whose header is not found counts as one.
func progressive(file io.ReaderAt) bool {
	data := bufio.NewReader(io.NewSectionReader(file, 2, math.MaxInt64-2))
	for {
		head, err := data.Peek(4)
		if err != nil {
			return true
		}
		skip := 1
		switch marker := head[1]; {
		case head[0] != 0xff, marker == 0xff: // garbage, fill
		case marker == 0, 0xd0 <= marker && marker <= 0xd7: // without content
			skip = 2
		case marker == sof0, marker == sof1:
			return false
		case marker == sof2:
			return true
		default:
			skip = 2 + int(binary.BigEndian.Uint16(head[2:]))
		}
		if _, err := data.Discard(skip); err != nil {
			return true
		}
	}
}
