package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"os"
	"testing"
	"testing/fstest"

	"golang.org/x/crypto/ssh"

	"github.com/urlget/urlget/fetchtest/servers/sftpd"
)

// newSSH starts an SSH server. It returns its line for known_hosts, a private key that it accepts,
// and its address.
func newSSH(t testing.TB) (known, key []byte, addr string) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	known, addr = serveSSH(t, signer.PublicKey())
	return known, pem.EncodeToMemory(block), addr
}

// newLockedSSH is newSSH with an encrypted key. "ssh-keygen -t ed25519 -a 1 -N sesame" made it: one round
// of bcrypt takes milliseconds, and the rounds of package ssh a tenth of a second.
func newLockedSSH(t testing.TB) (known, key []byte, addr string) {
	t.Helper()
	key, err := os.ReadFile("testdata/locked.key")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.ParsePrivateKeyWithPassphrase(key, []byte("sesame"))
	if err != nil {
		t.Fatal(err)
	}
	known, addr = serveSSH(t, signer.PublicKey())
	return known, key, addr
}

func serveSSH(t testing.TB, key ssh.PublicKey) (known []byte, addr string) {
	s := sftpd.Start(t, sftpd.Options{Keys: []ssh.PublicKey{key}, Users: map[string]string{"joe": "secret"},
		Tree: fstest.MapFS{"pub/hello.txt": {Data: []byte("hello\n"), Mode: 0o644, ModTime: modified}}})
	return []byte(s.KnownHosts()), s.Addr
}
