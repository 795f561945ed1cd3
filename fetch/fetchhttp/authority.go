package fetchhttp

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"
)

const (
	// authorityFile has the certificate that clients must trust, and secretFile the key, in the directory
	// of an Authority.
	authorityFile, secretFile = "ca.pem", "ca-key.pem"
	authorityLife             = 10 * 365 * 24 * time.Hour
	// leafLife is the validity of the certificate of a host. Browsers refuse more than 398 days.
	leafLife = 90 * 24 * time.Hour
	// maxLeaves limits the certificates that are kept.
	maxLeaves = 10_000
)

// An Authority makes certificates of hosts, so that a Proxy can read what its clients send and receive
// over TLS. Whoever has its key can impersonate every server to them.
type Authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey

	mu     sync.Mutex
	leaf   *ecdsa.PrivateKey // of all certificates
	leaves map[string]*tls.Certificate
}

// LoadAuthority loads the authority in a directory, and makes one if there is none. Its certificate, for
// the clients, is ca.pem. It refuses a key that other users can read, and a directory that they can
// change.
func LoadAuthority(dir string) (*Authority, error) {
	public, secret := filepath.Join(dir, authorityFile), filepath.Join(dir, secretFile)
	if err := errors.Join(isPrivate(dir, 0o022), isPrivate(secret, 0o077)); err != nil {
		return nil, err
	}
	pair, err := tls.LoadX509KeyPair(public, secret)
	if errors.Is(err, fs.ErrNotExist) {
		if err = makeAuthority(dir); err == nil {
			pair, err = tls.LoadX509KeyPair(public, secret)
		}
	}
	if err != nil {
		return nil, err
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok || !pair.Leaf.IsCA {
		return nil, errors.New("fetchhttp: " + public + " is not a certificate authority of urlget")
	}
	leaf, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	return &Authority{cert: pair.Leaf, key: key, leaf: leaf, leaves: make(map[string]*tls.Certificate)}, err
}

// isPrivate returns an error if other users have one of the permissions to a file.
func isPrivate(name string, forbidden fs.FileMode) error {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist), runtime.GOOS == "windows":
		return nil
	case err != nil:
		return err
	case info.Mode().Perm()&forbidden != 0:
		return fmt.Errorf("fetchhttp: other users can read or change %s: its mode is %04o", name,
			info.Mode().Perm())
	}
	return nil
}

// makeAuthority writes the files of a new authority. It replaces no file.
func makeAuthority(dir string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	now := time.Now()
	cert := &x509.Certificate{
		SerialNumber: serial(),
		Subject:      pkix.Name{CommonName: "urlget proxy " + now.UTC().Format(time.DateOnly)},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.Add(authorityLife),
		KeyUsage:     x509.KeyUsageCertSign,
		IsCA:         true, BasicConstraintsValid: true, MaxPathLenZero: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, &key.PublicKey, key)
	if err != nil {
		return err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, file := range []struct {
		name, kind string
		content    []byte
		mode       fs.FileMode
	}{{secretFile, "PRIVATE KEY", secret, 0o600}, {authorityFile, "CERTIFICATE", der, 0o644}} {
		f, err := os.OpenFile(filepath.Join(dir, file.name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, file.mode)
		if err != nil {
			return err
		}
		err = pem.Encode(f, &pem.Block{Type: file.kind, Bytes: file.content})
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

func serial() *big.Int {
	b := make([]byte, 16)
	rand.Read(b) // never fails
	return new(big.Int).SetBytes(b)
}

// certificate returns a certificate of a host, which may be an IP address.
func (a *Authority) certificate(host string) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if known := a.leaves[host]; known != nil && time.Until(known.Leaf.NotAfter) > leafLife/2 {
		return known, nil
	}
	now := time.Now()
	cert := &x509.Certificate{
		SerialNumber: serial(),
		Subject:      pkix.Name{CommonName: host[:min(len(host), 64)]},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.Add(leafLife),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(host); ip != nil {
		cert.IPAddresses = []net.IP{ip}
	} else {
		cert.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, a.cert, &a.leaf.PublicKey, a.key)
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	if len(a.leaves) >= maxLeaves {
		clear(a.leaves)
	}
	made := &tls.Certificate{Certificate: [][]byte{der, a.cert.Raw}, PrivateKey: a.leaf, Leaf: parsed}
	a.leaves[host] = made
	return made, nil
}
