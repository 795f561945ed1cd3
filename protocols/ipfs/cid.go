package ipfs

import (
	"bytes"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math/big"
	"strings"

	"golang.org/x/crypto/blake2b"
)

// A cid is a content identifier: the codec of a block and the multihash of its bytes
// (https://github.com/multiformats/cid).
type cid struct {
	codec, hash uint64
	digest      string
}

// Codes of https://github.com/multiformats/multicodec.
const (
	codecRaw   = 0x55   // raw
	codecDagPB = 0x70   // dag-pb
	codecKey   = 0x72   // libp2p-key
	hashSHA256 = 0x12   // sha2-256
	hashBlake2 = 0xb220 // blake2b-256
	hashInline = 0      // identity
)

const (
	// maxCIDText limits the text of a CID, in bytes. The longest has an inline digest in base 16.
	maxCIDText = 512
	// maxInline limits the data in a CID, in bytes, as other implementations do.
	maxInline = 128
)

var (
	errCID    = errors.New("not a CID")
	lowerBase = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)
)

const (
	base58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	base36 = "0123456789abcdefghijklmnopqrstuvwxyz"
)

// parseCID parses a CID in base 58 (version 0) or with the prefix of a multibase.
func parseCID(text string) (cid, error) {
	if len(text) < 2 || len(text) > maxCIDText {
		return cid{}, errCID
	}
	if len(text) == 46 && strings.HasPrefix(text, "Qm") {
		b, err := decodeDigits(text, base58)
		if err != nil {
			return cid{}, err
		}
		return readCID(b)
	}
	var b []byte
	var err error
	switch rest := text[1:]; text[0] {
	case 'b', 'B':
		b, err = lowerBase.DecodeString(strings.ToLower(rest))
	case 'k', 'K':
		b, err = decodeDigits(strings.ToLower(rest), base36)
	case 'f', 'F':
		b, err = hex.DecodeString(rest)
	case 'z':
		b, err = decodeDigits(rest, base58)
	default:
		err = errCID
	}
	if err != nil {
		return cid{}, errCID
	}
	return readCID(b)
}

// decodeDigits decodes a number. A leading zero digit is a zero byte.
func decodeDigits(text, digits string) ([]byte, error) {
	n, base := new(big.Int), big.NewInt(int64(len(digits)))
	for i := range len(text) {
		d := strings.IndexByte(digits, text[i])
		if d < 0 {
			return nil, errCID
		}
		n.Add(n.Mul(n, base), big.NewInt(int64(d)))
	}
	zeros := len(text) - len(strings.TrimLeft(text, digits[:1]))
	return append(make([]byte, zeros), n.Bytes()...), nil
}

// readCID reads a CID in binary form.
func readCID(b []byte) (cid, error) {
	if len(b) == 34 && b[0] == hashSHA256 && b[1] == sha256.Size { // version 0
		return cid{codecDagPB, hashSHA256, string(b[2:])}, nil
	}
	version, b, ok := varint(b)
	if !ok || version != 1 {
		return cid{}, errCID
	}
	codec, b, ok := varint(b)
	if !ok {
		return cid{}, errCID
	}
	return readMultihash(codec, b)
}

func readMultihash(codec uint64, b []byte) (cid, error) {
	hash, b, ok := varint(b)
	if !ok {
		return cid{}, errCID
	}
	size, b, ok := varint(b)
	if !ok || size != uint64(len(b)) || size > maxInline {
		return cid{}, errCID
	}
	return cid{codec, hash, string(b)}, nil
}

// varint reads an unsigned varint of at most 9 bytes in its shortest form.
func varint(b []byte) (v uint64, rest []byte, ok bool) {
	v, n := binary.Uvarint(b[:min(len(b), 9)])
	if n <= 0 || n > 1 && b[n-1] == 0 {
		return 0, nil, false
	}
	return v, b[n:], true
}

// String returns c in base 32, as version 1.
func (c cid) String() string {
	b := binary.AppendUvarint([]byte{1}, c.codec)
	b = binary.AppendUvarint(binary.AppendUvarint(b, c.hash), uint64(len(c.digest)))
	return "b" + lowerBase.EncodeToString(append(b, c.digest...))
}

// check returns an error if c has a codec or hash function that is not implemented.
func (c cid) check() error {
	if c.codec != codecRaw && c.codec != codecDagPB {
		return unsupported("codec 0x%x of %s is not supported, only raw (0x55) and dag-pb (0x70)", c.codec, c)
	}
	switch {
	case c.hash == hashInline, len(c.digest) == sha256.Size && (c.hash == hashSHA256 || c.hash == hashBlake2):
		return nil
	}
	return unsupported("hash function 0x%x with %d bytes of %s is not supported, "+
		"only sha2-256, blake2b-256 and identity", c.hash, len(c.digest), c)
}

// matches reports whether the block is the one that c names. The caller has called check.
func (c cid) matches(block []byte) bool {
	switch c.hash {
	case hashSHA256:
		sum := sha256.Sum256(block)
		return c.digest == string(sum[:])
	case hashBlake2:
		sum := blake2b.Sum256(block)
		return c.digest == string(sum[:])
	}
	return bytes.Equal(block, []byte(c.digest))
}
