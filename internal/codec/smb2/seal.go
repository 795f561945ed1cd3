package smb2

import (
	"crypto/aes"
	"crypto/cipher"
	"fmt"
)

// The encryption algorithms ([MS-SMB2], section 2.2.3.1.2).
const (
	CipherAES128CCM = 1 // AES-128-CCM, the only cipher of dialects 3.0 and 3.0.2
	CipherAES128GCM = 2 // AES-128-GCM
	CipherAES256CCM = 3 // AES-256-CCM
	CipherAES256GCM = 4 // AES-256-GCM
)

// TransformSize is the size of the header of an encrypted message, in bytes (SMB2 TRANSFORM_HEADER,
// section 2.2.41). The other constants up to transformSession are the offsets of its fields.
const (
	TransformSize = 52

	transformSignature = 4
	transformNonce     = 20
	transformLength    = 36 // OriginalMessageSize
	transformFlags     = 42
	transformSession   = 44

	transformEncrypted = 1 // Encrypted, in the Flags field
)

// TagSize is the number of bytes after a message that Open overwrites.
const TagSize = 16

// IsSealed reports whether a message is encrypted.
func IsSealed(msg []byte) bool { return len(msg) >= 4 && string(msg[:4]) == "\xfdSMB" }

// A Sealer encrypts the messages that one side of a session sends, and decrypts those it receives.
type Sealer struct {
	session    uint64
	count      uint64 // messages encrypted so far; also the nonce of the last one
	seal, open cipher.AEAD
}

// NewSealer returns the client's sealer for a session, from a cipher ID and the session key (section
// 3.2.5.3). Only dialect 3.1.1 uses hash, the preauthentication integrity hash.
func NewSealer(dialect, id uint16, session uint64, key []byte, hash *Hash) (*Sealer, error) {
	size := 16
	if id == CipherAES256CCM || id == CipherAES256GCM {
		size = 32
	}
	toServer := kdf(key, "SMBC2SCipherKey\x00", hash[:], size)
	toClient := kdf(key, "SMBS2CCipherKey\x00", hash[:], size)
	if dialect < Dialect311 {
		toServer = kdf(key, "SMB2AESCCM\x00", []byte("ServerIn \x00"), size)
		toClient = kdf(key, "SMB2AESCCM\x00", []byte("ServerOut\x00"), size)
	}
	s := &Sealer{session: session}
	var err error
	if s.seal, err = newAEAD(id, toServer); err != nil {
		return nil, err
	}
	s.open, err = newAEAD(id, toClient)
	return s, err
}

// ServerSide returns the server's sealer for a client's sealer.
func (s *Sealer) ServerSide() *Sealer {
	return &Sealer{session: s.session, seal: s.open, open: s.seal}
}

func newAEAD(id uint16, key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	switch id {
	case CipherAES128GCM, CipherAES256GCM:
		return cipher.NewGCM(block)
	case CipherAES128CCM, CipherAES256CCM:
		return ccm{block, 11, 16}, nil
	}
	return nil, fmt.Errorf("%w: unknown cipher %d", ErrMalformed, id)
}

// Seal encrypts msg and appends the result to b.
func (s *Sealer) Seal(b, msg []byte) []byte {
	head := make([]byte, TransformSize)
	copy(head, "\xfdSMB")
	s.count++
	le.PutUint64(head[transformNonce:], s.count)
	le.PutUint32(head[transformLength:], uint32(len(msg)))
	le.PutUint16(head[transformFlags:], transformEncrypted)
	le.PutUint64(head[transformSession:], s.session)
	at := len(b)
	b = s.seal.Seal(append(b, head...), head[transformNonce:][:s.seal.NonceSize()], msg,
		head[transformNonce:])
	end := len(b) - s.seal.Overhead()
	copy(b[at+transformSignature:], b[end:])
	return b[:end]
}

// Open decrypts a message. It works in place if msg has spare capacity for TagSize bytes.
func (s *Sealer) Open(msg []byte) ([]byte, error) {
	if len(msg) < TransformSize || le.Uint32(msg[transformLength:]) != uint32(len(msg)-TransformSize) ||
		le.Uint16(msg[transformFlags:]) != transformEncrypted ||
		le.Uint64(msg[transformSession:]) != s.session {
		return nil, fmt.Errorf("%w: invalid transform header", ErrMalformed)
	}
	head := msg[:TransformSize]
	text := append(msg[TransformSize:], head[transformSignature:transformNonce]...)
	return s.open.Open(text[:0], head[transformNonce:][:s.open.NonceSize()], text, head[transformNonce:])
}
