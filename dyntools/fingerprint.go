package dyntools

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"ipython-mcp/internal/bounds"
)

// canonical is the one form of a JSON text: compact, keys sorted, non-ASCII characters and numbers as they are
// written.
func canonical(raw json.RawMessage) ([]byte, error) {
	form, err := bounds.CanonicalJSON(raw)
	if err != nil {
		return nil, fmt.Errorf("writing the canonical form of a schema: %w", err)
	}
	return form, nil
}

// fingerprint hashes the canonical form.
func fingerprint(raw json.RawMessage) (string, error) {
	form, err := canonical(raw)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(form)
	return hex.EncodeToString(sum[:]), nil
}
