package smb2

import (
	"crypto/cipher"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"slices"
)

// A ccm is CCM mode (NIST SP 800-38C) for 16-byte blocks, which the standard library lacks.
type ccm struct {
	block      cipher.Block
	nonce, tag int // sizes in bytes: nonce 7 to 13; tag 4 to 16, even
}

var errOpen = errors.New("smb2: message authentication failed")

// maxAdditional limits the additional data, in bytes. More would require a longer length field.
const maxAdditional = 0xff00 - 1

func (c ccm) NonceSize() int { return c.nonce }
func (c ccm) Overhead() int  { return c.tag }

func (c ccm) Seal(dst, nonce, plaintext, additional []byte) []byte {
	tag := c.mac(nonce, plaintext, additional)
	head := len(dst)
	dst = slices.Grow(dst, len(plaintext)+c.tag)[:head+len(plaintext)]
	c.stream(nonce, &tag).XORKeyStream(dst[head:], plaintext)
	return append(dst, tag[:c.tag]...)
}

func (c ccm) Open(dst, nonce, ciphertext, additional []byte) ([]byte, error) {
	n := len(ciphertext) - c.tag
	if n < 0 {
		return nil, errOpen
	}
	got := ciphertext[n:]
	var key [16]byte
	stream := c.stream(nonce, &key)
	head := len(dst)
	dst = slices.Grow(dst, n)[:head+n]
	stream.XORKeyStream(dst[head:], ciphertext[:n])
	want := c.mac(nonce, dst[head:], additional)
	subtle.XORBytes(want[:], want[:], key[:])
	if subtle.ConstantTimeCompare(got, want[:c.tag]) != 1 {
		clear(dst[head:])
		return nil, errOpen
	}
	return dst, nil
}

// stream returns the key stream for the content. It encrypts tag with the first key block.
func (c ccm) stream(nonce []byte, tag *[16]byte) cipher.Stream {
	var counter [16]byte
	counter[0] = byte(14 - len(nonce)) // the size of the counter, less 1
	copy(counter[1:], nonce)
	s := cipher.NewCTR(c.block, counter[:])
	s.XORKeyStream(tag[:], tag[:])
	return s
}

func (c ccm) mac(nonce, plaintext, additional []byte) (x [16]byte) {
	if len(nonce) != c.nonce || len(additional) > maxAdditional {
		panic("smb2: nonce or additional data of another size")
	}
	var b [16]byte
	binary.BigEndian.PutUint64(b[8:], uint64(len(plaintext)))
	b[0] = byte((c.tag-2)/2<<3 | (14 - len(nonce)))
	if len(additional) > 0 {
		b[0] |= 1 << 6
	}
	copy(b[1:], nonce)
	c.block.Encrypt(x[:], b[:])
	if len(additional) > 0 {
		c.chain(&x, append(binary.BigEndian.AppendUint16(nil, uint16(len(additional))), additional...))
	}
	c.chain(&x, plaintext)
	return x
}

// chain adds data to a CBC-MAC and pads it to a whole block.
func (c ccm) chain(x *[16]byte, data []byte) {
	for len(data) > 0 {
		n := subtle.XORBytes(x[:], x[:], data[:min(16, len(data))])
		c.block.Encrypt(x[:], x[:])
		data = data[n:]
	}
}
