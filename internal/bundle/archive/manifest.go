package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// Kind says what a name in a tree is. Its value is the letter in the manifest.
type Kind byte

// The kinds of entries. A tree holds nothing else: no devices, sockets or hard links.
const (
	Directory  Kind = 'd'
	File       Kind = 'f'
	Executable Kind = 'x'
	Link       Kind = 'l'
)

// Entry is one name in a tree.
type Entry struct {
	Name   string // clean, slash-separated, relative to the tree's root
	Kind   Kind
	Size   int64  // bytes; 0 for directories, the target's length for links
	Sum    string // lower-case hex SHA-256 of a file's content, else empty
	Target string // of links, relative
}

// Manifest says what a whole tree consists of. The zero value is an empty tree.
type Manifest struct {
	Entries []Entry // sorted by name: a directory comes before what is in it
	text    []byte  // what Key hashes and the archive carries
}

// keyChars is how many hex digits of the manifest's hash name a tree: 64 bits, for a handful of trees per
// cache.
const keyChars = 16

// Key identifies the tree's content: equal trees have equal keys.
func (m Manifest) Key() string {
	sum := sha256.Sum256(m.text)
	return hex.EncodeToString(sum[:])[:keyChars]
}

// Text is the manifest as the archive carries it: a line per entry, of kind, size, sum or target, and
// name, between tabs.
func (m Manifest) Text() []byte { return m.text }

// newManifest makes the manifest of entries and refuses what Parse would refuse.
func newManifest(entries []Entry) (Manifest, error) {
	var text bytes.Buffer
	for _, e := range entries {
		detail := e.Sum
		if e.Kind == Link {
			detail = e.Target
		}
		fmt.Fprintf(&text, "%c\t%d\t%s\t%s\n", e.Kind, e.Size, detail, e.Name)
	}
	return ParseManifest(text.Bytes())
}

// ParseManifest reads what Text wrote. It refuses names and links that lead out of the tree, names out of
// order or twice, and names below something that is not a directory of the same tree.
func ParseManifest(text []byte) (Manifest, error) {
	entries := make([]Entry, 0, bytes.Count(text, []byte{'\n'}))
	directories := map[string]bool{"": true}
	last := ""
	for line := range strings.Lines(string(text)) {
		e, err := parseLine(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return Manifest{}, err
		}
		if e.Name <= last {
			return Manifest{}, fmt.Errorf("archive: manifest names %q after %q", e.Name, last)
		}
		if parent := parentOf(e.Name); !directories[parent] {
			return Manifest{}, fmt.Errorf("archive: %q lies in %q, which is no directory of the tree", e.Name, parent)
		}
		if e.Kind == Directory {
			directories[e.Name] = true
		}
		last = e.Name
		entries = append(entries, e)
	}
	return Manifest{Entries: entries, text: text}, nil
}

// parentOf is path.Dir with "" for the root, without its cost for clean names.
func parentOf(name string) string { return name[:max(strings.LastIndexByte(name, '/'), 0)] }

func parseLine(line string) (Entry, error) {
	kind, rest, _ := strings.Cut(line, "\t")
	size, rest, _ := strings.Cut(rest, "\t")
	detail, name, found := strings.Cut(rest, "\t")
	if !found || len(kind) != 1 {
		return Entry{}, fmt.Errorf("archive: manifest line %q does not have four fields", line)
	}
	e := Entry{Name: name, Kind: Kind(kind[0])}
	if err := CheckName(name); err != nil {
		return Entry{}, err
	}
	var err error
	if e.Size, err = strconv.ParseInt(size, 10, 64); err != nil || e.Size < 0 {
		return Entry{}, fmt.Errorf("archive: manifest gives %q as the size of %q", size, name)
	}
	switch e.Kind {
	case Directory:
	case File, Executable:
		e.Sum = detail
	case Link:
		e.Target = detail
		err = checkLink(name, detail)
	default:
		err = fmt.Errorf("archive: manifest gives %q as the kind of %q", kind, name)
	}
	return e, err
}
