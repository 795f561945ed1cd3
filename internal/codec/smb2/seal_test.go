package smb2

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestCCM checks the examples of NIST SP 800-38C, appendix C.
func TestCCM(t *testing.T) {
	t.Parallel()
	const key128 = "404142434445464748494a4b4c4d4e4f"
	for _, tt := range []struct {
		name, key, nonce, additional, text, want string
		tag                                      int
	}{
		{"example 1", key128, "10111213141516", "0001020304050607", "20212223", "7162015b4dac255d", 4},
		{"example 2", key128, "1011121314151617", "000102030405060708090a0b0c0d0e0f", "202122232425262728292a2b2c2d2e2f",
			"d2a1f0e051ea5f62081a7792073d593d1fc64fbfaccd", 6},
		{"example 3", key128, "101112131415161718191a1b", "000102030405060708090a0b0c0d0e0f10111213",
			"202122232425262728292a2b2c2d2e2f3031323334353637",
			"e3b201a9f5b71a7a9b1ceaeccd97e70b6176aad9a4428aa5484392fbc1b09951", 8},
	} {
		block, err := aes.NewCipher(unhex(t, tt.key))
		if err != nil {
			t.Fatal(err)
		}
		c := ccm{block, len(tt.nonce) / 2, tt.tag}
		nonce, additional, text := unhex(t, tt.nonce), unhex(t, tt.additional), unhex(t, tt.text)
		sealed := c.Seal(nil, nonce, text, additional)
		if hex.EncodeToString(sealed) != tt.want {
			t.Errorf("%s: %x, want %s", tt.name, sealed, tt.want)
		}
		if got, err := c.Open(nil, nonce, sealed, additional); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%s: opened as %x, %v", tt.name, got, err)
		}
		for i := range sealed {
			forged := bytes.Clone(sealed)
			forged[i] ^= 1
			if _, err := c.Open(nil, nonce, forged, additional); !errors.Is(err, errOpen) {
				t.Errorf("%s: a change of byte %d: %v", tt.name, i, err)
			}
		}
	}
}

var _ cipher.AEAD = ccm{}

// TestEncryptionKeys checks the example for dialect 3.0 in Microsoft's "Encryption in SMB 3.0: A
// protocol perspective".
func TestEncryptionKeys(t *testing.T) {
	t.Parallel()
	session := unhex(t, "b4546771b515f766a86735532dd6c4f0")
	for context, want := range map[string]string{
		"ServerIn \x00": "261b72350558f2e9dcf613070383edbf", "ServerOut\x00": "8fe2b57ec34d2db5b1a9727f526bbdb5",
	} {
		if got := kdf(session, "SMB2AESCCM\x00", []byte(context), 16); hex.EncodeToString(got) != want {
			t.Errorf("%q: %x, want %s", context, got, want)
		}
	}
}

func TestSealedMessages(t *testing.T) {
	t.Parallel()
	msg := Append(nil, Header{Command: Read, MessageID: 7}, &ReadResponse{}, bytes.Repeat([]byte("content "), 100))
	for dialect, ids := range map[uint16][]uint16{
		Dialect300: {CipherAES128CCM}, Dialect302: {CipherAES128CCM},
		Dialect311: {CipherAES128CCM, CipherAES128GCM, CipherAES256CCM, CipherAES256GCM},
	} {
		for _, id := range ids {
			client, err := NewSealer(dialect, id, 5, make([]byte, 16), new(Hash))
			if err != nil {
				t.Fatal(err)
			}
			server := client.ServerSide()
			first, second := client.Seal(nil, msg), client.Seal(nil, msg)
			if bytes.Equal(first[TransformSize:], second[TransformSize:]) {
				t.Errorf("%#x, cipher %d: the same message twice looks the same", dialect, id)
			}
			if !IsSealed(first) || IsSealed(msg) {
				t.Errorf("%#x, cipher %d: not taken for what it is", dialect, id)
			}
			if got, err := server.Open(bytes.Clone(first)); err != nil || !bytes.Equal(got, msg) {
				t.Errorf("%#x, cipher %d: %x, %v", dialect, id, got, err)
			}
			if got, err := client.Open(first); !isForged(err) {
				t.Errorf("%#x, cipher %d: a message that comes back: %x, error %v", dialect, id, got, err)
			}
			for i := 4; i < len(second); i++ { // the first four bytes identify encrypted messages
				second[i] ^= 1
				if _, err := server.Open(bytes.Clone(second)); !isForged(err) {
					t.Errorf("%#x, cipher %d: a change of byte %d: error %v", dialect, id, i, err)
				}
				second[i] ^= 1
			}
		}
	}
	if _, err := NewSealer(Dialect311, 9, 1, make([]byte, 16), new(Hash)); !errors.Is(err, ErrMalformed) {
		t.Error(err)
	}
}

// isForged reports whether err is the error for a malformed or unauthentic message. The GCM error has
// no exported name.
func isForged(err error) bool {
	return errors.Is(err, ErrMalformed) || strings.HasSuffix(fmt.Sprint(err), "message authentication failed")
}
