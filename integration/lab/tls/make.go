//go:build ignore

// Make writes the certificates of the lab into the current folder. Its output is committed,
// embedded in the package and copied into the containers. The private key is public, like the
// password of the lab.
//
//	cd integration/lab/tls && go run make.go
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log"
	"math/big"
	"net"
	"os"
	"time"
)

func main() {
	from := time.Date(2020, time.January, 1, 0, 0, 0, 0, time.UTC)
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "urlget lab CA"},
		NotBefore: from, NotAfter: from.AddDate(100, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	// The services in docker-compose.yml connect to each other by name.
	server := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "localhost"},
		NotBefore: from, NotAfter: from.AddDate(100, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: []string{"localhost", "vsftpd", "proftpd", "pure-ftpd", "pyftpdlib", "nginx",
			"pygopherd", "inn", "slapd"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	caKey, serverKey := newKey(), newKey()
	caPEM := sign(ca, ca, caKey, caKey)
	chain := append(sign(server, ca, serverKey, caKey), caPEM...)
	der, err := x509.MarshalPKCS8PrivateKey(serverKey)
	check(err)
	key := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	check(os.WriteFile("ca.pem", caPEM, 0o644))
	check(os.WriteFile("chain.pem", chain, 0o644))
	check(os.WriteFile("key.pem", key, 0o644))
}

func newKey() *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	return key
}

func sign(cert, parent *x509.Certificate, key, parentKey *ecdsa.PrivateKey) []byte {
	der, err := x509.CreateCertificate(rand.Reader, cert, parent, &key.PublicKey, parentKey)
	check(err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
