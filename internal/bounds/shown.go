package bounds

import (
	"math"
	"strings"
)

// Shown returns the text that a terminal would show in the end. Without control sequences it is the text itself.
func Shown(text string) string {
	if !strings.ContainsRune(text, escape) && !strings.ContainsFunc(text, isUpperControl) {
		return text
	}
	shown := NewStream(math.MaxInt, nil)
	_, _ = shown.Write([]byte(text)) // into memory
	return shown.Close().Render("")
}

// isUpperControl tells the control characters that begin sequences in eight-bit terminals.
func isUpperControl(r rune) bool { return r >= 0x80 && r < 0xa0 }
