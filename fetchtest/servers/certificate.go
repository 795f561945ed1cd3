package servers

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"sync"
	"time"
)

// certificate creates one certificate per process.
var certificate = sync.OnceValues(func() (tls.Certificate, *x509.CertPool) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test server"},
		// The clock of testing/synctest starts in 2000, and the first caller creates the
		// certificate for all.
		NotBefore: time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(2199, 1, 1, 0, 0, 0, 0,
			time.UTC),
		IsCA: true, BasicConstraintsValid: true, // so that clients can trust it as a root
		DNSNames: []string{"localhost", "example.com"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1),
			net.IPv6loopback},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		panic(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, roots
})

// Certificate returns TLS configurations for a server and for a client that trusts it. The
// certificate is for localhost, example.com and the loopback addresses. It is created once per
// process. The server prefers X25519 without ML-KEM, which takes less time.
func Certificate() (server, client *tls.Config) {
	cert, roots := certificate()
	return &tls.Config{Certificates: []tls.Certificate{cert},
		CurvePreferences: []tls.CurveID{tls.X25519}}, &tls.Config{RootCAs: roots}
}
