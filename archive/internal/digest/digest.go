// Package digest parses the digests in the headers of WARC records.
package digest

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"strings"
	"sync"
)

// A Digest is the value of WARC-Block-Digest or WARC-Payload-Digest.
type Digest struct {
	Algorithm string // in lower case, without a hyphen
	Sum       []byte
}

// Parse reads a digest in base 32, the most common encoding, in hex or in base 64. It returns false
// if the algorithm is unknown or the sum has the wrong length.
func Parse(text string) (Digest, bool) {
	name, value, ok := strings.Cut(text, ":")
	d := Digest{Algorithm: strings.ReplaceAll(strings.ToLower(name), "-", "")}
	h := d.Hash()
	if !ok || h == nil {
		return d, false
	}
	value = strings.TrimRight(value, "=")
	for _, decode := range []func(string) ([]byte, error){
		hex.DecodeString,
		func(s string) ([]byte, error) {
			return base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.ToUpper(s))
		},
		base64.RawStdEncoding.DecodeString,
		base64.RawURLEncoding.DecodeString,
	} {
		if sum, err := decode(value); err == nil && len(sum) == h.Size() {
			d.Sum = sum
			return d, true
		}
	}
	return d, false
}

// SHA256 returns the SHA-256 that h has computed, as a header has it.
func SHA256(h hash.Hash) string {
	var b [sha256.Size]byte
	return string(appendSHA256(make([]byte, 0, sha256Length), h.Sum(b[:0])))
}

const (
	sha256Prefix = "sha256:"
	sha256Length = len(sha256Prefix) + 2*sha256.Size
)

func appendSHA256(b, sum []byte) []byte { return hex.AppendEncode(append(b, sha256Prefix...), sum) }

// A Hasher computes a SHA-256. It may not be used after Free, which lets others reuse it.
type Hasher struct {
	hash.Hash
	sum []byte // empty
}

var hashers = sync.Pool{New: func() any {
	return &Hasher{sha256.New(), make([]byte, 0, sha256.Size)}
}}

// NewHasher returns a Hasher of no bytes.
func NewHasher() *Hasher { return hashers.Get().(*Hasher) }

// Free resets the Hasher and makes it available to NewHasher.
func (h *Hasher) Free() {
	h.Reset()
	hashers.Put(h)
}

// AppendTo appends the digest, as a header has it.
func (h *Hasher) AppendTo(b []byte) []byte { return appendSHA256(b, h.Sum(h.sum)) }

// String returns the digest, as a header has it.
func (h *Hasher) String() string { return string(h.AppendTo(make([]byte, 0, sha256Length))) }

// Hash returns a new hash of the algorithm, or nil if the algorithm is unknown.
func (d Digest) Hash() hash.Hash {
	switch d.Algorithm {
	case "md5":
		return md5.New()
	case "sha1":
		return sha1.New()
	case "sha256":
		return sha256.New()
	case "sha512":
		return sha512.New()
	}
	return nil
}
