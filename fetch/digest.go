package fetch

import (
	"bytes"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"slices"
	"strings"
)

// A Digest is a digest that a peer stated, before any byte was compared with it.
type Digest struct {
	Algorithm string // a key of the IANA registry, in lower case, such as "sha-256"; see NewHash
	Sum       []byte
	// the source in lower case: a header field such as "repr-digest", or a command such as
	// "xsha256"
	By     string
	Covers Coverage
}

// String returns the digest as "sha-256:" followed by hexadecimal digits.
func (d Digest) String() string { return fmt.Sprintf("%s:%x", d.Algorithm, d.Sum) }

// MarshalJSON implements [json.Marshaler]: {"sha-256": "HEX", "by": "repr-digest"}.
func (d Digest) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]string{d.Algorithm: hex.EncodeToString(d.Sum), "by": d.By})
}

// UnmarshalJSON implements [json.Unmarshaler]. The coverage is CoversResource.
func (d *Digest) UnmarshalJSON(data []byte) error {
	var fields map[string]string
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	*d = Digest{By: fields["by"]}
	for name, digits := range fields {
		h := NewHash(name)
		if h == nil {
			continue
		}
		sum, err := hex.DecodeString(digits)
		if err != nil || len(sum) != h.Size() {
			return fmt.Errorf("%.100q is not a %s digest", digits, name)
		}
		d.Algorithm, d.Sum = name, sum
	}
	return nil
}

// A Coverage is the data that a Digest covers.
type Coverage uint8

// The coverages of digests.
const (
	CoversResource Coverage = iota // the whole resource, even if Body is a range of it
	CoversBody                     // exactly the bytes of Body, even if it is a range
	CoversEncoded                  // the bytes that the driver decodes; the driver verifies it itself
)

// digestAlgorithms lists the known algorithms, strongest first. The names are those of the registry
// "Hash Algorithms for HTTP Digest Fields" (RFC 9530, section 7.2) where it has them.
var digestAlgorithms = []struct {
	name string
	new  func() hash.Hash
}{
	{"sha-512", sha512.New},
	{"sha-384", sha512.New384},
	{"sha-256", sha256.New},
	{"sha-224", sha256.New224},
	{"sha-1", sha1.New},
	{"md5", md5.New},
	{"crc64nvme", func() hash.Hash { return crc64.New(nvmeTable()) }},
	{"crc32c", func() hash.Hash { return crc32.New(crc32.MakeTable(crc32.Castagnoli)) }},
	{"crc32", func() hash.Hash { return crc32.NewIEEE() }},
}

// nvmeTable returns the table of CRC-64/NVME. Its polynomial is 0xad93d23594c93659, in reversed order.
func nvmeTable() *crc64.Table { return crc64.MakeTable(0x9a6c9329ac4bc9b5) }

func rankDigest(algorithm string) int {
	for i, a := range digestAlgorithms {
		if a.name == algorithm {
			return i
		}
	}
	return len(digestAlgorithms)
}

// NewHash returns the hash function of an algorithm: "sha-512", "sha-384", "sha-256", "sha-224",
// "sha-1", "md5", "crc64nvme", "crc32c" or "crc32". It returns nil for others.
func NewHash(algorithm string) hash.Hash {
	if n := rankDigest(algorithm); n < len(digestAlgorithms) {
		return digestAlgorithms[n].new()
	}
	return nil
}

// StrongestDigest returns the digest with the strongest algorithm. It returns the zero Digest if there
// is none.
func StrongestDigest(list []Digest) Digest {
	if len(list) == 0 {
		return Digest{}
	}
	return slices.MinFunc(list,
		func(a, b Digest) int { return rankDigest(a.Algorithm) - rankDigest(b.Algorithm) })
}

// DigestsOf returns the digests with one of the coverages.
func DigestsOf(list []Digest, covers ...Coverage) []Digest {
	var some []Digest
	for _, d := range list {
		if slices.Contains(covers, d.Covers) {
			some = append(some, d)
		}
	}
	return some
}

// ContradictingDigests returns an error of class ErrChecksum if two digests of one algorithm that
// cover the same data differ.
func ContradictingDigests(list []Digest) error {
	for i, a := range list {
		for _, b := range list[:i] {
			if a.Algorithm == b.Algorithm && a.Covers == b.Covers && !bytes.Equal(a.Sum, b.Sum) {
				return ErrChecksum.Errorf("the server stated two %s digests: %x (%s) and %x (%s)",
					a.Algorithm, b.Sum, b.By, a.Sum, a.By)
			}
		}
	}
	return nil
}

// A DigestVerifier computes digests of what is written to it. Its Write never fails. The zero value
// computes none.
type DigestVerifier struct {
	stated []Digest
	hashes map[string]hash.Hash // by algorithm
}

// VerifyDigests returns a verifier of the digests. It returns nil if there are none with a known
// algorithm.
func VerifyDigests(list []Digest) *DigestVerifier {
	v := &DigestVerifier{}
	for _, d := range list {
		v.Add(d)
	}
	if len(v.stated) == 0 {
		return nil
	}
	return v
}

// Add makes Verify compare d, unless its algorithm is unknown. It must be called before Write or
// after Reset.
func (v *DigestVerifier) Add(d Digest) {
	if v.Compute(d.Algorithm); v.hashes[d.Algorithm] != nil {
		v.stated = append(v.stated, d)
	}
}

// Compute makes Sum return the digest with this algorithm. It must be called before Write or after
// Reset.
func (v *DigestVerifier) Compute(algorithm string) {
	if v.hashes[algorithm] != nil {
		return
	}
	if h := NewHash(algorithm); h != nil {
		if v.hashes == nil {
			v.hashes = make(map[string]hash.Hash, 1)
		}
		v.hashes[algorithm] = h
	}
}

// Computes reports whether v computes any digest.
func (v *DigestVerifier) Computes() bool { return len(v.hashes) > 0 }

// Verifies reports whether d was added.
func (v *DigestVerifier) Verifies(d Digest) bool {
	return slices.ContainsFunc(v.stated, func(have Digest) bool {
		return have.Algorithm == d.Algorithm && bytes.Equal(have.Sum, d.Sum)
	})
}

// Strongest returns the added digest with the strongest algorithm, or the zero Digest.
func (v *DigestVerifier) Strongest() Digest { return StrongestDigest(v.stated) }

// Write implements [io.Writer].
func (v *DigestVerifier) Write(p []byte) (int, error) {
	for _, h := range v.hashes {
		h.Write(p)
	}
	return len(p), nil
}

// Reset forgets what was written.
func (v *DigestVerifier) Reset() {
	for _, h := range v.hashes {
		h.Reset()
	}
}

// Verify compares the digests with what was written. A difference is an error of class ErrChecksum.
func (v *DigestVerifier) Verify() error {
	for _, d := range v.stated {
		if err := d.compare(v.hashes[d.Algorithm]); err != nil {
			return err
		}
	}
	return nil
}

// Sum returns the digest of what was written, or nil if the algorithm is not one of the verifier's.
func (v *DigestVerifier) Sum(algorithm string) []byte {
	if h := v.hashes[algorithm]; h != nil {
		return h.Sum(nil)
	}
	return nil
}

func (d Digest) compare(h hash.Hash) error {
	if got := h.Sum(nil); !bytes.Equal(got, d.Sum) {
		by := ""
		if d.By != "" {
			by = fmt.Sprintf(", the %s in %s", d.Algorithm, d.By)
		}
		return ErrChecksum.Errorf("got %x, not %x%s", got, d.Sum, by)
	}
	return nil
}

// CanonicalAlgorithm returns the name in a Digest for the name that a protocol uses, such as "SHA256"
// or "sha". The result may be unknown to NewHash.
func CanonicalAlgorithm(name string) string {
	name = strings.ToLower(name)
	switch name {
	case "sha", "sha1": // RFC 3230, section 4.1.1
		return "sha-1"
	case "sha224", "sha256", "sha384", "sha512":
		return "sha-" + name[3:]
	}
	return name
}
