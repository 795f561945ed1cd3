package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"testing"
	"testing/fstest"

	"golang.org/x/crypto/ssh"

	"github.com/urlget/urlget/fetchtest/servers/sftpd"
)

// newSSH starts an SSH server. It returns its line for known_hosts, a private key that it accepts,
// and its address. The key is encrypted if passphrase is not empty.
func newSSH(t testing.TB, passphrase string) (known, key []byte, addr string) {
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
	if passphrase != "" {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(private, "", []byte(passphrase))
	}
	if err != nil {
		t.Fatal(err)
	}
	s := sftpd.Start(t, sftpd.Options{Keys: []ssh.PublicKey{signer.PublicKey()}, Users: map[string]string{"joe": "secret"},
		Tree: fstest.MapFS{"pub/hello.txt": {Data: []byte("hello\n"), Mode: 0o644, ModTime: modified}}})
	return []byte(s.KnownHosts()), pem.EncodeToMemory(block), s.Addr
}
