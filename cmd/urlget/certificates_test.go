package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
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
	block := func(name string, content []byte, headers map[string]string) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: name, Bytes: content, Headers: headers}))
	}
	certificate, key := block("CERTIFICATE", der, nil), block("PRIVATE KEY", keyDER, nil)
	files := make(map[string]string)
	for _, name := range []string{"cert.pem", "pbkdf2.pem", "scrypt.pem", "des3.pem", "pbes1.pem", "dekinfo.pem",
		"pbkdf2.der", "new.p12", "old.p12", "open.p12"} {
		content, err := os.ReadFile(filepath.Join("testdata", "clientkeys", name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(content)
	}
	broken, _ := pem.Decode([]byte(files["pbkdf2.pem"]))
	cut := block("ENCRYPTED PRIVATE KEY", broken.Bytes[:len(broken.Bytes)-1], nil)
	odd := bytes.Clone(broken.Bytes[:len(broken.Bytes)-1]) // not a multiple of the block size
	odd[2]--
	odd[bytes.LastIndex(odd, []byte{0x04, 0x81})+2]--
	const decrypt = "decrypt it with: openssl pkey -in FILE -out KEY.pem, and add --private-key KEY.pem"
	const convert = "convert it with: openssl pkcs12 -nodes -in FILE -out FILE.pem"
	const enter = "enter its passphrase in a terminal, or "

	tests := []struct {
		name, ca, certificate, key string
		passphrase                 string // "" if there is no terminal
		want, hint                 string // "" if the files are used
	}{
		{name: "an authority in PEM", ca: certificate},
		{name: "an authority in DER", ca: string(der)},
		{name: "two authorities in DER", ca: string(der) + string(der)},
		{name: "an authority in neither", ca: "hello", want: "ca contains no certificate"},
		{name: "an authority in PKCS#12", ca: files["new.p12"], want: "ca is a PKCS#12 file, not PEM", hint: convert},
		{name: "one file", certificate: certificate + key},
		{name: "two files", certificate: certificate, key: key},
		{name: "DER", certificate: string(der), key: string(keyDER)},
		{name: "neither", certificate: "hello", want: "certificate: failed to find any PEM data in certificate input"},
		{name: "PKCS#12", certificate: files["new.p12"], passphrase: "sesame"},
		{name: "PKCS#12 of earlier programs", certificate: files["old.p12"], passphrase: "sesame"},
		{name: "PKCS#12 without a password", certificate: files["open.p12"]},
		{name: "PKCS#12 without a terminal", certificate: files["new.p12"],
			want: "the private key in certificate is encrypted", hint: enter + convert},
		{name: "PKCS#12, wrong", certificate: files["new.p12"], passphrase: "wrong", want: "the passphrase of certificate is wrong"},
		{name: "PKCS#12, damaged", certificate: files["new.p12"][:900], want: "certificate: failed to find any PEM data in certificate input"},
		{name: "PBKDF2", certificate: files["cert.pem"], key: files["pbkdf2.pem"], passphrase: "sesame"},
		{name: "PBKDF2 in one file", certificate: files["cert.pem"] + files["pbkdf2.pem"], passphrase: "sesame"},
		{name: "PBKDF2 in DER", certificate: files["cert.pem"], key: files["pbkdf2.der"], passphrase: "sesame"},
		{name: "scrypt", certificate: files["cert.pem"], key: files["scrypt.pem"], passphrase: "sesame"},
		{name: "Triple DES", certificate: files["cert.pem"], key: files["des3.pem"], passphrase: "sesame"},
		{name: "DEK-Info", certificate: files["cert.pem"], key: files["dekinfo.pem"], passphrase: "sesame"},
		{name: "PBES1", certificate: files["cert.pem"], key: files["pbes1.pem"], passphrase: "sesame",
			want: "the private key in key cannot be read: only PBES2 supported", hint: decrypt},
		{name: "PBKDF2, wrong", certificate: files["cert.pem"], key: files["pbkdf2.pem"], passphrase: "wrong", want: "the passphrase of key is wrong"},
		{name: "DEK-Info, wrong", certificate: files["cert.pem"], key: files["dekinfo.pem"], passphrase: "wrong", want: "the passphrase of key is wrong"},
		{name: "cut off", certificate: files["cert.pem"], key: cut, passphrase: "sesame",
			want: "the private key in key cannot be read: only PKCS #5 v2.0 supported", hint: decrypt},
		{name: "odd length", certificate: files["cert.pem"], key: block("ENCRYPTED PRIVATE KEY", odd, nil), passphrase: "sesame",
			want: "the private key in key cannot be read: it is damaged", hint: decrypt},
		{name: "no terminal", certificate: files["cert.pem"], key: files["pbkdf2.pem"],
			want: "the private key in key is encrypted", hint: enter + decrypt},
		{name: "no terminal, in one file", certificate: files["cert.pem"] + files["dekinfo.pem"],
			want: "the private key in certificate is encrypted", hint: enter + decrypt},
		{name: "another key", certificate: files["cert.pem"], key: key, want: "certificate: private key does not match public key"},
		{name: "an encrypted key that is not used", certificate: certificate + files["pbkdf2.pem"], key: key},
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
			asked := 0
			cfg, err := tlsConfig(o, func(string) (string, error) {
				if asked++; tt.passphrase == "" {
					return "", fetch.ErrAuth
				}
				return tt.passphrase, nil
			})
			if asked > 1 || tt.passphrase != "" && asked == 0 {
				t.Errorf("the passphrase was asked for %d times", asked)
			}
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
