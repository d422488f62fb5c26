package envprov

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	metadataName   = "ipython-mcp.json"
	metadataFormat = 1
	// maxMetadata bounds what is read of a metadata file, in bytes: far above what 64 requirements need.
	maxMetadata = 1 << 20
)

// metadata describes an environment, in a file of its own inside it. It holds no secret: requirements are redacted.
type metadata struct {
	Format       int      `json:"format"`
	Python       string   `json:"python"` // major.minor
	Requirements []string `json:"requirements"`
	// Fingerprint is over the canonical requirements without the user-info of URLs, so that a new token is no new
	// environment.
	Fingerprint string `json:"fingerprint"`
}

// describe is the metadata of an environment that a start wants; requirements are canonical and sorted.
func describe(python string, requirements []string, redactor *Redactor) metadata {
	shown, hashed := make([]string, len(requirements)), make([]string, len(requirements))
	for i, requirement := range requirements {
		shown[i], hashed[i] = redactor.Redact(requirement), redactURLs(requirement)
	}
	text, err := json.Marshal(hashed)
	if err != nil {
		panic(err) // strings always encode
	}
	sum := sha256.Sum256(text)
	return metadata{metadataFormat, majorMinor(python), shown, hex.EncodeToString(sum[:])}
}

// majorMinor is the beginning of a Python version: 3.14 of 3.14.6.
func majorMinor(version string) string {
	parts := strings.SplitN(version, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

func (m metadata) write(environment string) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(environment, metadataName), append(text, '\n'), 0o644)
}

// differences says how the environment at the directory is not the one that is wanted; nil where it is.
func (m metadata) differences(environment string) []string {
	recorded, err := readMetadata(environment)
	if err != nil {
		return []string{err.Error()}
	}
	var found []string
	differs := func(what string, recorded, wanted any) {
		found = append(found, fmt.Sprintf("%s differs (recorded %v, wanted %v)", what, recorded, wanted))
	}
	if recorded.Format != m.Format {
		differs("the metadata format", recorded.Format, m.Format)
		return found // the rest may mean something else
	}
	if recorded.Python != m.Python {
		differs("Python", recorded.Python, m.Python)
	}
	if !slices.Equal(recorded.Requirements, m.Requirements) {
		found = append(found, fmt.Sprintf("the requirements differ (recorded %s, wanted %s)",
			list(recorded.Requirements), list(m.Requirements)))
	}
	// A part that is not shown, or metadata that somebody edited.
	if recorded.Fingerprint != m.Fingerprint && slices.Equal(recorded.Requirements, m.Requirements) {
		found = append(found, fmt.Sprintf("the requirements' fingerprint differs (recorded %.12q…, wanted %.12q…)",
			recorded.Fingerprint, m.Fingerprint))
	}
	return found
}

func readMetadata(environment string) (metadata, error) {
	path := filepath.Join(environment, metadataName)
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return metadata{}, fmt.Errorf("it has no %s, so this program did not make it", metadataName)
	case err != nil:
		return metadata{}, fmt.Errorf("its %s cannot be read: %v", metadataName, err)
	case !info.Mode().IsRegular() || info.Size() > maxMetadata:
		return metadata{}, fmt.Errorf("its %s is no file that this program wrote", metadataName)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return metadata{}, fmt.Errorf("its %s cannot be read: %v", metadataName, err)
	}
	var m metadata
	if err := json.Unmarshal(text, &m); err != nil {
		return metadata{}, fmt.Errorf("its %s is no JSON: %v", metadataName, err)
	}
	return m, nil
}

// list shows requirements, at most a few.
func list(requirements []string) string {
	const shown = 8
	if len(requirements) > shown {
		return fmt.Sprintf("%q and %d more", requirements[:shown], len(requirements)-shown)
	}
	return fmt.Sprintf("%q", requirements)
}
