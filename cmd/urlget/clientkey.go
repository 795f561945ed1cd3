package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/youmark/pkcs8"
	"golang.org/x/crypto/ssh"
	"software.sslmate.com/src/go-pkcs12"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/fetch"
)

const (
	encryptedKey = "ENCRYPTED PRIVATE KEY" // RFC 7468, section 11
	plainKey     = "PRIVATE KEY"           // RFC 7468, section 10
)

// A prompter returns the passphrase of a file.
type prompter func(file string) (string, error)

// readClientCertificate reads a certificate and its key, which may be in the same file, in PEM, DER or
// PKCS#12. If ask is nil and the key is encrypted, the result is nil.
func readClientCertificate(certificate, key string, ask prompter) (*tls.Certificate, error) {
	public, err := readPEM(certificate, key == certificate, ask)
	if err != nil {
		return nil, err
	}
	secret := public
	if key != certificate {
		if secret, err = readPEM(key, true, ask); err != nil {
			return nil, err
		}
	}
	if public == nil || secret == nil {
		return nil, nil
	}
	pair, err := tls.X509KeyPair(public, secret)
	if err != nil {
		return nil, failure.File(fmt.Errorf("%s: %s", certificate, strings.TrimPrefix(err.Error(), "tls: ")))
	}
	return &pair, nil
}

// readPEM returns the certificates and, if withKey is set, the decrypted key of a file in PEM.
func readPEM(file string, withKey bool, ask prompter) ([]byte, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, failure.File(err)
	}
	switch {
	case isPKCS12(content):
		return readPKCS12(file, content, ask)
	case isDERCertificate(content):
		return encode("CERTIFICATE", content), nil
	case isDER(content):
		content = encode(derKeyType(content), content)
	}
	if !withKey || !hasEncryptedKey(content) {
		return content, nil
	}
	if ask == nil {
		return nil, nil
	}
	secret, err := ask(file)
	if err != nil {
		return nil, unanswered(err, file, content)
	}
	var all []byte
	for rest := content; ; {
		var b *pem.Block
		if b, rest = pem.Decode(rest); b == nil {
			return all, nil
		}
		if isEncrypted(b) {
			if b.Bytes, err = decrypt(b, []byte(secret)); err != nil {
				return nil, undecrypted(file, content, err)
			}
			b.Type, b.Headers = plainKey, nil
		}
		all = append(all, pem.EncodeToMemory(b)...)
	}
}

func encode(name string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: name, Bytes: der})
}

// derKeyType returns the name of a key in DER. Package tls recognizes the formats of plain keys itself.
func derKeyType(content []byte) string {
	for _, err := range []error{
		last(x509.ParsePKCS8PrivateKey(content)), last(x509.ParsePKCS1PrivateKey(content)),
		last(x509.ParseECPrivateKey(content)),
	} {
		if err == nil {
			return plainKey
		}
	}
	return encryptedKey
}

func last[T any](_ T, err error) error { return err }

var errPassphrase = errors.New("the passphrase is wrong")

// decrypt returns a key as PKCS#8.
func decrypt(b *pem.Block, passphrase []byte) (der []byte, err error) {
	if len(passphrase) == 0 {
		return nil, errPassphrase
	}
	defer func() { // package pkcs8 does not check the lengths of what it decrypts
		if v := recover(); v != nil {
			der, err = nil, errors.New("it is damaged")
		}
	}()
	var key any
	if b.Type == encryptedKey {
		key, err = pkcs8.ParsePKCS8PrivateKey(b.Bytes, passphrase)
	} else { // it reads the formats before PKCS#8, too (RFC 1421, section 4.6)
		key, err = ssh.ParseRawPrivateKeyWithPassphrase(pem.EncodeToMemory(b), passphrase)
	}
	switch {
	case errors.Is(err, x509.IncorrectPasswordError),
		err != nil && err.Error() == "pkcs8: incorrect password":
		return nil, errPassphrase
	case err != nil:
		return nil, err
	}
	return x509.MarshalPKCS8PrivateKey(key)
}

// readPKCS12 returns the certificates and the key of a PKCS#12 file in PEM. Many have no password.
func readPKCS12(file string, content []byte, ask prompter) ([]byte, error) {
	key, certificate, others, err := pkcs12.DecodeChain(content, "")
	if errors.Is(err, pkcs12.ErrIncorrectPassword) {
		if ask == nil {
			return nil, nil
		}
		var secret string
		if secret, err = ask(file); err != nil {
			return nil, unanswered(err, file, content)
		}
		key, certificate, others, err = pkcs12.DecodeChain(content, secret)
	}
	switch {
	case errors.Is(err, pkcs12.ErrIncorrectPassword):
		return nil, undecrypted(file, content, errPassphrase)
	case err != nil:
		return nil, undecrypted(file, content, err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, failure.File(fmt.Errorf("%s: %w", file, err))
	}
	all := encode(plainKey, der)
	for _, c := range append([]*x509.Certificate{certificate}, others...) {
		all = append(all, encode("CERTIFICATE", c.Raw)...)
	}
	return all, nil
}

// unanswered returns the error for a file whose passphrase is not known.
func unanswered(err error, file string, content []byte) error {
	if !errors.Is(err, fetch.ErrAuth) {
		return err // interrupted
	}
	e := &fetch.Error{Code: fetch.ErrFile, Err: fmt.Errorf("the private key in %s is encrypted", file)}
	e.Hint = "enter its passphrase in a terminal, or " + decryption(content)
	return e
}

func undecrypted(file string, content []byte, err error) error {
	if errors.Is(err, errPassphrase) {
		return failure.File(fmt.Errorf("the passphrase of %s is wrong", file))
	}
	text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "pkcs8: "), "pkcs12: ")
	return &fetch.Error{Code: fetch.ErrFile, Hint: decryption(content),
		Err: fmt.Errorf("the private key in %s cannot be read: %s", file, text)}
}

func decryption(content []byte) string {
	if isPKCS12(content) {
		return "convert it with: openssl pkcs12 -nodes -in FILE -out FILE.pem"
	}
	return "decrypt it with: openssl pkey -in FILE -out KEY.pem, and add --private-key KEY.pem"
}

func hasEncryptedKey(content []byte) bool {
	for {
		var b *pem.Block
		if b, content = pem.Decode(content); b == nil {
			return false
		}
		if isEncrypted(b) {
			return true
		}
	}
}

// isEncrypted recognizes the keys of RFC 7468, section 11, and of RFC 1421, section 4.6.
func isEncrypted(b *pem.Block) bool {
	return b.Type == encryptedKey || strings.Contains(b.Headers["Proc-Type"], "ENCRYPTED")
}
