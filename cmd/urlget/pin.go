package main

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
)

// pins are the digests of public keys, one of which every server must have. A pin is written as
// curl has it, sha256//BASE64, several divided by semicolons, or as sha256: and hexadecimal digits.
type pins [][sha256.Size]byte

func (p *pins) String() string { return "" }
func (p *pins) Type() string   { return "hash" }

func (p *pins) Set(text string) error {
	for _, word := range strings.Split(text, ";") {
		var digest []byte
		err := errors.New("none")
		if digits, ok := strings.CutPrefix(word, "sha256//"); ok {
			digest, err = base64.StdEncoding.DecodeString(digits)
		} else if digits, ok := strings.CutPrefix(word, "sha256:"); ok {
			digest, err = hex.DecodeString(digits)
		}
		if err != nil || len(digest) != sha256.Size {
			return errors.New("want the digest of a public key, as in sha256//BASE64 or sha256:HEX")
		}
		*p = append(*p, [sha256.Size]byte(digest))
	}
	return nil
}

// verify is for tls.Config.VerifyConnection. It comes on top of the check of the certificate.
func (p pins) verify(state tls.ConnectionState) error {
	digest := sha256.Sum256(state.PeerCertificates[0].RawSubjectPublicKeyInfo)
	if !slices.Contains(p, digest) {
		return errors.New("the server's public key is not the pinned one, but sha256//" + base64.StdEncoding.EncodeToString(digest[:]))
	}
	return nil
}
