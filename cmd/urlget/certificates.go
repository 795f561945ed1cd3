package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
	"os"
	"strings"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/fetch"
)

// readAuthorities reads certificates in PEM or DER.
func readAuthorities(file string) (*x509.CertPool, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, failure.File(err)
	}
	pool := x509.NewCertPool()
	if pool.AppendCertsFromPEM(content) {
		return pool, nil
	}
	list, err := x509.ParseCertificates(content)
	if err != nil || len(list) == 0 {
		return nil, unusable(file, content, fmt.Errorf("%s contains no certificate", file))
	}
	for _, c := range list {
		pool.AddCert(c)
	}
	return pool, nil
}

// readClientCertificate reads a certificate and its key, which may be in the same file.
func readClientCertificate(certificate, key string) (tls.Certificate, error) {
	public, err := os.ReadFile(certificate)
	if err != nil {
		return tls.Certificate{}, failure.File(err)
	}
	secret, err := os.ReadFile(key)
	if err != nil {
		return tls.Certificate{}, failure.File(err)
	}
	pair, err := tls.X509KeyPair(public, secret)
	if err == nil {
		return pair, nil
	}
	err = fmt.Errorf("%s: %s", certificate, strings.TrimPrefix(err.Error(), "tls: "))
	if e := unusable(certificate, public, nil); e != nil {
		return tls.Certificate{}, e
	}
	return tls.Certificate{}, unusable(key, secret, err)
}

// unusable says what a file is that cannot be read, and how to convert it. If that is unknown, it
// returns other as an error about the file.
func unusable(file string, content []byte, other error) error {
	e := &fetch.Error{Code: fetch.ErrFile}
	switch {
	case isPKCS12(content):
		e.Err = fmt.Errorf("%s is a PKCS#12 file, not PEM", file)
		e.Hint = "convert it with: openssl pkcs12 -nodes -in FILE -out FILE.pem"
	case hasEncryptedKey(content):
		e.Err = fmt.Errorf("the private key in %s is encrypted", file)
		e.Hint = "decrypt it with: openssl pkey -in FILE -out KEY.pem, and add --private-key KEY.pem"
	case isDERCertificate(content):
		e.Err = fmt.Errorf("%s is a certificate in DER, not PEM", file)
		e.Hint = "convert it with: openssl x509 -inform DER -in FILE -out FILE.pem"
	case isDER(content):
		e.Err = fmt.Errorf("%s is in DER, not PEM", file)
		e.Hint = "convert a key with: openssl pkey -inform DER -in FILE -out KEY.pem"
	case other != nil:
		return failure.File(other)
	default:
		return nil
	}
	return e
}

// isPKCS12 recognizes a PFX of version 3 (RFC 7292, section 4): its second element is a ContentInfo.
func isPKCS12(content []byte) bool {
	var pfx struct {
		Version int
		Content struct {
			Type asn1.ObjectIdentifier
			Rest asn1.RawValue
		}
		Rest asn1.RawValue `asn1:"optional"`
	}
	_, err := asn1.Unmarshal(content, &pfx)
	return err == nil && pfx.Version == 3
}

func isDERCertificate(content []byte) bool {
	_, err := x509.ParseCertificate(content)
	return err == nil
}

func isDER(content []byte) bool {
	var v asn1.RawValue
	rest, err := asn1.Unmarshal(content, &v)
	return err == nil && len(bytes.TrimSpace(rest)) == 0 && v.Tag == asn1.TagSequence && v.IsCompound
}

// hasEncryptedKey recognizes the keys of RFC 7468, section 11, and of RFC 1421, section 4.6.
func hasEncryptedKey(content []byte) bool {
	for {
		var b *pem.Block
		if b, content = pem.Decode(content); b == nil {
			return false
		}
		if b.Type == "ENCRYPTED PRIVATE KEY" || strings.Contains(b.Headers["Proc-Type"], "ENCRYPTED") {
			return true
		}
	}
}
