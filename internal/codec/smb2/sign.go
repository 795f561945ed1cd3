package smb2

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/binary"
)

// The signing algorithms ([MS-SMB2], section 2.2.3.1.7).
const (
	SignHMAC = 0 // HMAC-SHA256
	SignCMAC = 1 // AES-CMAC
	SignGMAC = 2 // AES-GMAC
)

// A Signer signs messages of a session and verifies their signatures.
type Signer struct {
	key   []byte
	block cipher.Block // for CMAC
	gcm   cipher.AEAD  // for GMAC
}

// NewSigner returns the signer for a session with the session key. Only dialect 3.1.1 uses algorithm
// and hash, the preauthentication integrity hash; in other dialects the algorithm is fixed.
func NewSigner(dialect, algorithm uint16, key []byte, hash *Hash) *Signer {
	s := &Signer{key: key}
	switch {
	case dialect == Dialect311:
		s.key = kdf(key, "SMBSigningKey\x00", hash[:], 16)
	case dialect >= Dialect300:
		s.key, algorithm = kdf(key, "SMB2AESCMAC\x00", []byte("SmbSign\x00"), 16), SignCMAC
	default:
		algorithm = SignHMAC
	}
	if algorithm == SignHMAC {
		return s
	}
	block, err := aes.NewCipher(s.key)
	if err != nil {
		panic(err) // impossible: the key has 16 bytes
	}
	if algorithm == SignCMAC {
		s.block = block
		return s
	}
	if s.gcm, err = cipher.NewGCM(block); err != nil {
		panic(err) // impossible: AES blocks have 16 bytes
	}
	return s
}

// Sign signs a message in place.
func (s *Signer) Sign(msg []byte) {
	msg[headerFlags] |= FlagSigned
	clear(msg[headerSignature:HeaderSize])
	sum := s.sum(msg)
	copy(msg[headerSignature:HeaderSize], sum[:])
}

// Verify reports whether a message has a valid signature. It modifies msg while it runs and restores
// it.
func (s *Signer) Verify(msg []byte) bool {
	if le.Uint32(msg[headerFlags:])&FlagSigned == 0 {
		return false
	}
	var got [16]byte
	copy(got[:], msg[headerSignature:])
	clear(msg[headerSignature:HeaderSize])
	sum := s.sum(msg)
	copy(msg[headerSignature:], got[:])
	return subtle.ConstantTimeCompare(sum[:], got[:]) == 1
}

func (s *Signer) sum(msg []byte) (sum [16]byte) {
	switch {
	case s.gcm != nil:
		nonce := make([]byte, 12) // [MS-SMB2], section 3.1.4.1
		copy(nonce, msg[headerMessageID:][:8])
		nonce[8] = msg[headerFlags] & FlagServerToRedir
		if Command(le.Uint16(msg[headerCommand:])) == Cancel {
			nonce[8] |= 2
		}
		s.gcm.Seal(sum[:0], nonce, nil, msg)
	case s.block != nil:
		sum = cmac(s.block, msg)
	default:
		h := hmac.New(sha256.New, s.key)
		h.Write(msg)
		copy(sum[:], h.Sum(nil))
	}
	return sum
}

// cmac returns the AES-CMAC of msg (RFC 4493).
func cmac(block cipher.Block, msg []byte) (x [16]byte) {
	var k [16]byte
	block.Encrypt(k[:], k[:])
	double(&k)
	for len(msg) > 16 {
		subtle.XORBytes(x[:], x[:], msg[:16])
		block.Encrypt(x[:], x[:])
		msg = msg[16:]
	}
	if len(msg) < 16 {
		double(&k)
		x[len(msg)] ^= 0x80
	}
	subtle.XORBytes(x[:], x[:], k[:])
	subtle.XORBytes(x[:], x[:], msg)
	block.Encrypt(x[:], x[:])
	return x
}

// double doubles k in GF(2^128) to derive a subkey (RFC 4493, section 2.3).
func double(k *[16]byte) {
	carry := k[0] >> 7
	for i := range 15 {
		k[i] = k[i]<<1 | k[i+1]>>7
	}
	k[15] = k[15]<<1 ^ carry*0x87
}

// kdf derives a key of 16 or 32 bytes (NIST SP 800-108, counter mode with HMAC-SHA256).
func kdf(key []byte, label string, context []byte, size int) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte{0, 0, 0, 1})
	h.Write([]byte(label))
	h.Write([]byte{0})
	h.Write(context)
	h.Write(binary.BigEndian.AppendUint32(nil, uint32(8*size)))
	return h.Sum(nil)[:size]
}

// A Hash is the preauthentication integrity hash of dialect 3.1.1: a hash of all messages until the
// client is authenticated. The keys depend on it, so modified messages lead to different keys.
type Hash [sha512.Size]byte

// Add adds a message to the hash.
func (h *Hash) Add(msg []byte) {
	sum := sha512.New()
	sum.Write(h[:])
	sum.Write(msg)
	sum.Sum(h[:0])
}
