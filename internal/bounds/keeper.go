package bounds

import (
	"fmt"
	"slices"
	"strings"
)

// Snapshot is what is kept of a text: the whole of it, or its two ends.
type Snapshot struct {
	Head, Tail string // together the whole text where Omitted is 0
	Total      int64  // characters of the text
	Omitted    int64  // characters between Head and Tail
}

// Render joins the two ends with a marker on a line of its own between them, which counts for no limit. The hint, which
// may be empty, tells how to get the rest.
func (s Snapshot) Render(hint string) string {
	if s.Omitted == 0 {
		return s.Head + s.Tail
	}
	var b strings.Builder
	b.WriteString(s.Head)
	if s.Head != "" && !strings.HasSuffix(s.Head, "\n") {
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "… %d characters omitted (of %d)", s.Omitted, s.Total)
	if hint != "" {
		b.WriteString("; ")
		b.WriteString(hint)
	}
	b.WriteString(" …\n")
	b.WriteString(s.Tail)
	return b.String()
}

// CutMiddle shortens a text of more than limit characters to its first and last halves around a marker line, and
// returns how many characters it left out. Bytes that are not UTF-8 become visible as \xNN first. See [Snapshot.Render]
// for the hint.
func CutMiddle(text string, limit int, hint string) (string, int) {
	k := newKeeper(limit)
	valid := []byte(validText(text))
	k.add(valid, countRunes(valid))
	cut := k.snapshot()
	return cut.Render(hint), int(cut.Omitted)
}

// keeper holds the first half and the last half of a text of any length. Its owner locks.
type keeper struct {
	headLimit, tailLimit int    // characters
	head                 []byte // complete once it has headLimit characters
	headRunes            int
	tail                 []byte // what follows the head; cut back to tailLimit characters from time to time
	tailRunes            int
	total                int64
}

func newKeeper(limit int) keeper {
	return keeper{headLimit: limit / 2, tailLimit: limit - limit/2}
}

// add appends valid UTF-8 of so many characters.
func (k *keeper) add(text []byte, runes int) {
	k.total += int64(runes)
	if missing := min(k.headLimit-k.headRunes, runes); missing > 0 {
		size := runeOffset(text, runes, missing)
		k.head = append(k.head, text[:size]...)
		k.headRunes += missing
		text, runes = text[size:], runes-missing
	}
	if runes >= k.tailLimit {
		k.tail = append(k.tail[:0], text[runeOffset(text, runes, runes-k.tailLimit):]...)
		k.tailRunes = k.tailLimit
		return
	}
	k.tail = append(k.tail, text...)
	k.tailRunes += runes
	if k.tailRunes/2 > k.tailLimit {
		k.trim()
	}
}

// trim cuts the tail back to the characters that are kept.
func (k *keeper) trim() {
	if k.tailRunes > k.tailLimit {
		k.tail = append(k.tail[:0], k.tail[runeOffset(k.tail, k.tailRunes, k.tailRunes-k.tailLimit):]...)
		k.tailRunes = k.tailLimit
	}
}

func (k *keeper) snapshot() Snapshot {
	k.trim()
	return Snapshot{
		Head: string(k.head), Tail: string(k.tail),
		Total: k.total, Omitted: k.total - int64(k.headRunes) - int64(k.tailRunes),
	}
}

// clone makes a copy that shares no memory that either of the two may change.
func (k *keeper) clone() keeper {
	k.trim()
	c := *k
	c.head, c.tail = slices.Clip(k.head), slices.Clone(k.tail)
	return c
}
