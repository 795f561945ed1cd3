package flags

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
)

// Pins are digests of public keys. The key of every server must match one of them.
type Pins [][sha256.Size]byte

// parsePins reads digests in the syntax of curl, sha256//BASE64, with semicolons between several, or
// as sha256:HEX.
func parsePins(text string) (Pins, error) {
	var pins Pins
	for word := range strings.SplitSeq(text, ";") {
		var digest []byte
		err := errors.New("none")
		if digits, ok := strings.CutPrefix(word, "sha256//"); ok {
			digest, err = base64.StdEncoding.DecodeString(digits)
		} else if digits, ok := strings.CutPrefix(word, "sha256:"); ok {
			digest, err = hex.DecodeString(digits)
		}
		if err != nil || len(digest) != sha256.Size {
			return nil, errors.New("must be a public key digest: sha256//BASE64 or sha256:HEX")
		}
		pins = append(pins, [sha256.Size]byte(digest))
	}
	return pins, nil
}

// Verify is for tls.Config.VerifyConnection. It runs after the verification of the certificate.
func (p Pins) Verify(state tls.ConnectionState) error {
	digest := sha256.Sum256(state.PeerCertificates[0].RawSubjectPublicKeyInfo)
	if !slices.Contains(p, digest) {
		return errors.New("the server's public key does not match --pinned, it is sha256//" +
			base64.StdEncoding.EncodeToString(digest[:]))
	}
	return nil
}
