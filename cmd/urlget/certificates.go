package main

import (
	"bytes"
	"crypto/x509"
	"encoding/asn1"
	"fmt"
	"os"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/fetch"
)

func readAuthorities(file string) (*x509.CertPool, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, failure.File(err)
	}
	pool := x509.NewCertPool()
	if pool.AppendCertsFromPEM(content) {
		return pool, nil
	}
	if isPKCS12(content) {
		return nil, &fetch.Error{Code: fetch.ErrFile, Err: fmt.Errorf("%s is a PKCS#12 file, not PEM", file),
			Hint: decryption(content)}
	}
	list, err := x509.ParseCertificates(content)
	if err != nil || len(list) == 0 {
		return nil, failure.File(fmt.Errorf("%s contains no certificate", file))
	}
	for _, c := range list {
		pool.AddCert(c)
	}
	return pool, nil
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
