package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/fetch"
)

// TestCertificateFiles checks the forms of certificates and keys that are read, and what is said of others.
func TestCertificateFiles(t *testing.T) {
	t.Parallel()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{SerialNumber: big.NewInt(1)},
		&x509.Certificate{SerialNumber: big.NewInt(1)}, secret.Public(), secret)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	type contentInfo struct {
		Type asn1.ObjectIdentifier
		Data []byte `asn1:"explicit,tag:0"`
	}
	pfx, err := asn1.Marshal(struct {
		Version int
		Content contentInfo
	}{3, contentInfo{asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 1}, []byte("safe")}})
	if err != nil {
		t.Fatal(err)
	}
	block := func(name string, content []byte, headers map[string]string) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: name, Bytes: content, Headers: headers}))
	}
	certificate, key := block("CERTIFICATE", der, nil), block("PRIVATE KEY", keyDER, nil)
	encrypted := block("ENCRYPTED PRIVATE KEY", []byte("x"), nil)
	old := block("EC PRIVATE KEY", []byte("x"),
		map[string]string{"Proc-Type": "4,ENCRYPTED", "DEK-Info": "AES-128-CBC,00"})
	const decrypt = "decrypt it with: openssl pkey -in FILE -out KEY.pem, and add --private-key KEY.pem"

	tests := []struct {
		name, ca, certificate, key string
		want, hint                 string // "" if the files are used
	}{
		{name: "an authority in PEM", ca: certificate},
		{name: "an authority in DER", ca: string(der)},
		{name: "two authorities in DER", ca: string(der) + string(der)},
		{name: "an authority in neither", ca: "hello", want: "ca contains no certificate"},
		{name: "an authority in PKCS#12", ca: string(pfx), want: "ca is a PKCS#12 file, not PEM",
			hint: "convert it with: openssl pkcs12 -nodes -in FILE -out FILE.pem"},
		{name: "one file", certificate: certificate + key},
		{name: "two files", certificate: certificate, key: key},
		{name: "PKCS#12", certificate: string(pfx), want: "certificate is a PKCS#12 file, not PEM",
			hint: "convert it with: openssl pkcs12 -nodes -in FILE -out FILE.pem"},
		{name: "a certificate in DER", certificate: string(der), key: key,
			want: "certificate is a certificate in DER, not PEM",
			hint: "convert it with: openssl x509 -inform DER -in FILE -out FILE.pem"},
		{name: "a key in DER", certificate: certificate, key: string(keyDER), want: "key is in DER, not PEM",
			hint: "convert a key with: openssl pkey -inform DER -in FILE -out KEY.pem"},
		{name: "an encrypted key", certificate: certificate, key: encrypted,
			want: "the private key in key is encrypted", hint: decrypt},
		{name: "an old encrypted key", certificate: certificate, key: old,
			want: "the private key in key is encrypted", hint: decrypt},
		{name: "an encrypted key in one file", certificate: certificate + encrypted,
			want: "the private key in certificate is encrypted", hint: decrypt},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir, o := t.TempDir(), &flags.Options{}
			write := func(name, content string) string {
				if content == "" {
					return ""
				}
				file := filepath.Join(dir, name)
				if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
				return file
			}
			o.Trust.CA, o.Trust.Certificate = write("ca", tt.ca), write("certificate", tt.certificate)
			o.Trust.Key = write("key", tt.key)
			cfg, err := tlsConfig(o)
			if tt.want == "" {
				if err != nil || (cfg.RootCAs == nil) == (len(cfg.Certificates) == 0) {
					t.Errorf("%+v, %v", cfg, err)
				}
				return
			}
			var e *fetch.Error
			if !errors.As(err, &e) || e.Code != fetch.ErrFile {
				t.Fatalf("%v, want ErrFile", err)
			}
			if got := strings.ReplaceAll(e.Err.Error(), dir+string(filepath.Separator), ""); got != tt.want || e.Hint != tt.hint {
				t.Errorf("%q (hint %q), want %q (hint %q)", got, e.Hint, tt.want, tt.hint)
			}
		})
	}
}
