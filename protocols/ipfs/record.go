package ipfs

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"
)

// maxRecord limits an IPNS record, in bytes (https://specs.ipfs.tech/ipns/ipns-record/).
const maxRecord = 10 << 10

const recordType = "application/vnd.ipfs.ipns-record"

// A record is an IPNS record: the fields of the IpnsEntry message.
type record struct {
	value, validity, publicKey, signature, data []byte
	signatureV1                                 []byte
	validityType, sequence, ttl                 uint64
}

// readRecord returns the value of a record that the owner of name has signed and that is valid now.
func readRecord(name cid, b []byte, now time.Time) (value string, err error) {
	var r record
	if err := fields(b, r.set); err != nil || len(r.signature) == 0 || len(r.data) == 0 {
		return "", errors.New("the record is malformed, or has no signature of version 2")
	}
	key := []byte(name.digest)
	if name.hash != hashInline {
		if key = r.publicKey; !name.matches(key) {
			return "", errors.New("the record has the key of another name")
		}
	}
	signed := append([]byte("ipns-signature:"), r.data...)
	if err := verifySignature(key, signed, r.signature); err != nil {
		return "", err
	}
	data, err := readMap(r.data)
	if err != nil {
		return "", err
	}
	return r.check(data, now)
}

func (r *record) set(f field) error {
	for number, to := range map[uint64]*[]byte{1: &r.value, 2: &r.signatureV1, 4: &r.validity,
		7: &r.publicKey, 8: &r.signature, 9: &r.data} {
		if f.number == number {
			*to = f.bytes
		}
	}
	switch f.number {
	case 3:
		r.validityType = f.value
	case 5:
		r.sequence = f.value
	case 6:
		r.ttl = f.value
	}
	return nil
}

// check returns the value of the signed data. The fields outside it, which only the signature of version
// 1 covers, must agree with it.
func (r *record) check(data map[string]element, now time.Time) (string, error) {
	value, validity := data["Value"].bytes, data["Validity"].bytes
	if (r.value != nil || r.signatureV1 != nil) && (!bytes.Equal(r.value, value) ||
		!bytes.Equal(r.validity, validity) || r.validityType != data["ValidityType"].number ||
		r.sequence != data["Sequence"].number || r.ttl != data["TTL"].number) {
		return "", errors.New("the record contradicts its signed data")
	}
	if data["ValidityType"].number != 0 { // EOL
		return "", errors.New("the record has an unknown type of validity")
	}
	end, err := time.Parse(time.RFC3339Nano, string(validity))
	switch {
	case err != nil:
		return "", errors.New("the record has no end of its validity")
	case now.After(end):
		return "", fmt.Errorf("the record expired at %s", end.Format(time.RFC3339))
	}
	return string(value), nil
}

// Types of keys (https://github.com/libp2p/specs/blob/master/peer-ids/peer-ids.md).
const (
	keyRSA     = 0
	keyEd25519 = 1
	keyECDSA   = 3
)

func verifySignature(key, message, signature []byte) error {
	kind, data := uint64(math.MaxUint64), []byte(nil)
	err := fields(key, func(f field) error {
		switch f.number {
		case 1:
			kind = f.value
		case 2:
			data = f.bytes
		}
		return nil
	})
	if err != nil {
		return err
	}
	sum, valid := sha256.Sum256(message), false
	switch kind {
	case keyEd25519:
		valid = len(data) == ed25519.PublicKeySize && ed25519.Verify(data, message, signature)
	case keyRSA, keyECDSA:
		public, err := x509.ParsePKIXPublicKey(data)
		if err != nil {
			return err
		}
		switch p := public.(type) {
		case *rsa.PublicKey:
			valid = kind == keyRSA && rsa.VerifyPKCS1v15(p, crypto.SHA256, sum[:], signature) == nil
		case *ecdsa.PublicKey:
			valid = kind == keyECDSA && ecdsa.VerifyASN1(p, sum[:], signature)
		}
	default:
		return fmt.Errorf("keys of type %d are not supported, only RSA, Ed25519 and ECDSA", kind)
	}
	if !valid {
		return errors.New("the signature of the record is wrong")
	}
	return nil
}

// An element is a value of a CBOR map: a number, bytes or text.
type element struct {
	number uint64
	bytes  []byte
}

var errMap = errors.New("the signed data of the record is malformed")

// maxElements limits the elements of the map of a record.
const maxElements = 64

// readMap reads a map of DAG-CBOR with texts as keys. Its values are not nested.
func readMap(b []byte) (map[string]element, error) {
	kind, n, b, ok := cborHead(b)
	if !ok || kind != 5 || n > maxElements {
		return nil, errMap
	}
	m := make(map[string]element, n)
	for range n {
		var key, value element
		if kind, key, b, ok = cborElement(b); !ok || kind != 3 {
			return nil, errMap
		}
		if _, value, b, ok = cborElement(b); !ok {
			return nil, errMap
		}
		if _, twice := m[string(key.bytes)]; twice {
			return nil, errMap
		}
		m[string(key.bytes)] = value
	}
	if len(b) > 0 {
		return nil, errMap
	}
	return m, nil
}

func cborElement(b []byte) (kind byte, e element, rest []byte, ok bool) {
	kind, n, b, ok := cborHead(b)
	switch {
	case !ok:
	case kind == 2 || kind == 3:
		if n > uint64(len(b)) {
			return 0, e, nil, false
		}
		e.bytes, b = b[:n], b[n:]
	case kind == 0 || kind == 1 || kind == 7:
		e.number = n
	default:
		ok = false
	}
	return kind, e, b, ok
}

// cborHead reads the head of a data item (RFC 8949, section 3).
func cborHead(b []byte) (kind byte, n uint64, rest []byte, ok bool) {
	if len(b) == 0 {
		return 0, 0, nil, false
	}
	kind, n, b = b[0]>>5, uint64(b[0]&31), b[1:]
	if n < 24 {
		return kind, n, b, true
	}
	size := 1 << (n - 24)
	if n > 27 || len(b) < size {
		return 0, 0, nil, false
	}
	var number [8]byte
	copy(number[8-size:], b)
	return kind, binary.BigEndian.Uint64(number[:]), b[size:], true
}
