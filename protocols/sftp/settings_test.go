package sftp

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers/sftpd"
)

// configured returns options with a configuration file for the host "alias", which is s.
func configured(t testing.TB, s *sftpd.Server, settings string) Options {
	t.Helper()
	host, port, _ := net.SplitHostPort(s.Addr)
	opts := options(t, s)
	opts.NoConfig = false
	opts.Config = file(t, "config", fmt.Sprintf("Host alias other\n\tHostName %s\n\tPort %s\n%s\n", host, port, settings))
	return opts
}

func stat(t testing.TB, opts Options, url string) error {
	t.Helper()
	_, err := client(t, opts, nil).Stat(t.Context(), &fetch.Request{URL: uri.MustParse(url)})
	return err
}

func TestAlgorithmsOfConfigFile(t *testing.T) {
	t.Parallel()
	oldKex := ssh.Config{KeyExchanges: []string{"diffie-hellman-group1-sha1"}}
	oldCipher := ssh.Config{Ciphers: []string{"aes128-cbc"}}
	counter := ssh.Config{Ciphers: []string{"aes128-ctr"}}
	for _, tt := range []struct {
		server   ssh.Config
		settings string
		want     fetch.Code
	}{
		{oldKex, "", fetch.ErrTLS},
		{oldKex, "KexAlgorithms +diffie-hellman-group1-sha1", ""},
		{oldKex, "KexAlgorithms ^diffie-hellman-group1-*", ""},
		{oldKex, "KexAlgorithms unknown,diffie-hellman-group1-sha1", ""},
		{ssh.Config{}, "KexAlgorithms curve25519-sha256@libssh.org", ""},
		{ssh.Config{KeyExchanges: []string{"ecdh-sha2-nistp256"}}, "KexAlgorithms -ecdh*", fetch.ErrTLS},
		{ssh.Config{}, "KexAlgorithms unknown", fetch.ErrFile},
		{ssh.Config{}, "KexAlgorithms -*", fetch.ErrFile},
		{oldCipher, "", fetch.ErrTLS},
		{oldCipher, "Ciphers +aes128-cbc", ""},
		{counter, "Ciphers aes256-ctr", fetch.ErrTLS},
		{ssh.Config{}, "Ciphers unknown", fetch.ErrFile},
		{counter, "MACs hmac-sha2-256", ""},
		{counter, "MACs umac-64@openssh.com", fetch.ErrTLS},
		{ssh.Config{}, "MACs umac-64@openssh.com", ""}, // the cipher needs none
		{ssh.Config{}, "HostKeyAlgorithms unknown", fetch.ErrFile},
	} {
		t.Run(tt.settings, func(t *testing.T) {
			t.Parallel()
			s := sftpd.Start(t, sftpd.Options{Tree: tree(), Algorithms: tt.server})
			if err := stat(t, configured(t, s, tt.settings), "sftp://alias/"); fetch.CodeOf(err) != tt.want {
				t.Errorf("error %v, want one of class %q", err, tt.want)
			}
		})
	}
}

// TestTextsOfFailedKeyExchanges checks that errors name what the server has, and not TLS.
func TestTextsOfFailedKeyExchanges(t *testing.T) {
	t.Parallel()
	rivest := rsaKey(t)
	signer, err := ssh.NewSignerFromKey(rivest)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		server     sftpd.Options
		settings   string
		want, hint string
	}{
		{sftpd.Options{Algorithms: ssh.Config{KeyExchanges: []string{"diffie-hellman-group1-sha1"}}}, "",
			"no algorithm for the key exchange in common: the server has diffie-hellman-group1-sha1",
			"KexAlgorithms +diffie-hellman-group1-sha1 in ~/.ssh/config accepts an algorithm that is not secure"},
		{sftpd.Options{Algorithms: ssh.Config{Ciphers: []string{"aes128-cbc"}}}, "",
			"no algorithm for the client to server cipher in common: the server has aes128-cbc",
			"Ciphers +aes128-cbc in ~/.ssh/config accepts an algorithm that is not secure"},
		{sftpd.Options{Algorithms: ssh.Config{Ciphers: []string{"aes128-ctr"}}}, "MACs umac-64@openssh.com",
			"no algorithm for the client to server MAC in common: the server has hmac-sha2-256-etm@openssh.com, ",
			"MACs +hmac-sha2-256-etm@openssh.com in ~/.ssh/config accepts it"},
		{sftpd.Options{HostKeys: []ssh.Signer{signer}}, "HostKeyAlgorithms ssh-ed25519",
			"no algorithm for the host key in common: the server has rsa-sha2-256, rsa-sha2-512, ssh-rsa",
			"HostKeyAlgorithms +rsa-sha2-256 in ~/.ssh/config accepts it"},
	} {
		t.Run(tt.want, func(t *testing.T) {
			t.Parallel()
			tt.server.Tree = tree()
			s := sftpd.Start(t, tt.server)
			err := stat(t, configured(t, s, tt.settings), "sftp://alias/")
			var e *fetch.Error
			if !errors.As(err, &e) || e.Code != fetch.ErrTLS || e.Reason.Kind != fetch.ReasonKeyExchange {
				t.Fatalf("error %v (%+v)", err, e)
			}
			if got := e.Message(); !strings.HasPrefix(got, tt.want) || e.Hint != tt.hint {
				t.Errorf("%q, hint %q; want %q, %q", got, e.Hint, tt.want, tt.hint)
			}
		})
	}
}

func TestHostKeyAlgorithmsOfConfigFile(t *testing.T) {
	t.Parallel()
	private := rsaKey(t)
	rivest, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	edwards := hostKey(t)
	cert := &ssh.Certificate{Key: edwards.PublicKey(), CertType: ssh.HostCert, ValidPrincipals: []string{"127.0.0.1"}, ValidBefore: ssh.CertTimeInfinity}
	if err := cert.SignCert(rand.Reader, hostKey(t)); err != nil {
		t.Fatal(err)
	}
	certified, err := ssh.NewCertSigner(cert, edwards)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		settings string
		keys     []ssh.Signer
		known    ssh.PublicKey
		want     fetch.Code
	}{
		{"", []ssh.Signer{edwards, rivest}, rivest.PublicKey(), ""},
		{"HostKeyAlgorithms rsa-sha2-512", []ssh.Signer{edwards, rivest}, rivest.PublicKey(), ""},
		{"HostKeyAlgorithms ssh-ed25519,rsa-sha2-512", []ssh.Signer{edwards, rivest}, rivest.PublicKey(), fetch.ErrTLS},
		{"HostKeyAlgorithms -ssh-ed25519", []ssh.Signer{edwards}, edwards.PublicKey(), fetch.ErrTLS},
		{"HostKeyAlgorithms +ssh-rsa", []ssh.Signer{edwards, rivest}, rivest.PublicKey(), ""},
		{"HostKeyAlgorithms ssh-ed25519-cert-v01@openssh.com,ssh-ed25519", []ssh.Signer{certified, edwards}, edwards.PublicKey(), ""},
	} {
		t.Run(tt.settings, func(t *testing.T) {
			t.Parallel()
			s := sftpd.Start(t, sftpd.Options{Tree: tree(), HostKeys: tt.keys})
			opts := configured(t, s, tt.settings)
			opts.KnownHosts = []string{file(t, "known_hosts", hostLine(knownhosts.Normalize(s.Addr), tt.known))}
			if err := stat(t, opts, "sftp://alias/"); fetch.CodeOf(err) != tt.want {
				t.Errorf("error %v, want one of class %q", err, tt.want)
			}
		})
	}
}

func TestKeysOfConfigFile(t *testing.T) {
	t.Parallel()
	_, key, _ := ed25519.GenerateKey(rand.Reader)
	private := identity(t, key)
	certified, certificate := certifiedIdentity(t)
	moved := file(t, "moved", string(ssh.MarshalAuthorizedKey(certificate)))
	alone := file(t, "alone", readFile(t, certified))
	plainKey, certKey := []ssh.PublicKey{publicKey(t, key)}, []ssh.PublicKey{certificate}
	for _, tt := range []struct {
		settings string
		accepted []ssh.PublicKey
		want     fetch.Code
	}{
		{"IdentityFile " + private, plainKey, ""},
		{"IdentityFile none", plainKey, fetch.ErrAuth},
		{"IdentityFile " + certified, certKey, ""},
		{"IdentityFile " + alone, certKey, fetch.ErrAuth},
		{"IdentityFile " + alone + "\nCertificateFile " + moved, certKey, ""},
		{"IdentityFile " + private + "\nCertificateFile " + moved, certKey, fetch.ErrAuth},
		{"IdentityFile " + private + "\nCertificateFile " + moved, plainKey, ""},
		{"IdentityFile " + private + "\nCertificateFile /nonexistent", plainKey, ""},
		{"IdentityFile " + private + "\nPubkeyAcceptedAlgorithms ssh-ed25519", plainKey, ""},
		{"IdentityFile " + private + "\nPubkeyAcceptedAlgorithms rsa-*", plainKey, fetch.ErrAuth},
		{"IdentityFile " + private + "\nPubkeyAcceptedAlgorithms -ssh-ed25519", plainKey, fetch.ErrAuth},
		{"IdentityFile " + certified + "\nPubkeyAcceptedAlgorithms -*-cert-*", certKey, fetch.ErrAuth},
		{"IdentityFile " + certified + "\nPubkeyAcceptedAlgorithms *-cert-*", certKey, ""},
	} {
		t.Run(tt.settings, func(t *testing.T) {
			t.Parallel()
			s := sftpd.Start(t, sftpd.Options{Tree: tree(), Keys: tt.accepted})
			if err := stat(t, configured(t, s, tt.settings), "sftp://alias/"); fetch.CodeOf(err) != tt.want {
				t.Errorf("error %v, want one of class %q", err, tt.want)
			}
		})
	}
}

// TestSignatureAlgorithmsOfConfigFile checks that an RSA key signs with the algorithms of the list only.
func TestSignatureAlgorithmsOfConfigFile(t *testing.T) {
	t.Parallel()
	key := rsaKey(t)
	private := identity(t, key)
	s := sftpd.Start(t, sftpd.Options{Tree: tree(), Keys: []ssh.PublicKey{publicKey(t, key)}, KeyAlgorithms: []string{ssh.KeyAlgoRSASHA512}})
	for list, want := range map[string]fetch.Code{
		"rsa-sha2-512":         "",
		"ssh-rsa,rsa-sha2-512": "",
		"rsa-sha2-256":         fetch.ErrAuth,
	} {
		opts := configured(t, s, "IdentityFile "+private+"\nPubkeyAcceptedAlgorithms "+list)
		if err := stat(t, opts, "sftp://alias/"); fetch.CodeOf(err) != want {
			t.Errorf("%s: error %v, want one of class %q", list, err, want)
		}
	}
}

// TestKeysOfTheAgent is not parallel, because it sets an environment variable. The agent has more keys
// than the server lets a client try.
func TestKeysOfTheAgent(t *testing.T) {
	var keys []any
	var private ed25519.PrivateKey
	for range 8 {
		_, private, _ = ed25519.GenerateKey(rand.Reader)
		keys = append(keys, private)
	}
	locked, err := ssh.ParseRawPrivateKeyWithPassphrase([]byte(readFile(t, encrypted)), []byte("sesame"))
	if err != nil {
		t.Fatal(err)
	}
	serveAgent(t, append(keys, locked)...)
	last := publicKey(t, private)
	public := file(t, "id.pub", string(ssh.MarshalAuthorizedKey(last)))
	foreign := file(t, "id_other", "a key in another format")
	if err := os.WriteFile(foreign+".pub", ssh.MarshalAuthorizedKey(last), 0o600); err != nil {
		t.Fatal(err)
	}
	cert := &ssh.Certificate{Key: last, CertType: ssh.UserCert, ValidPrincipals: []string{"tester"}, ValidBefore: ssh.CertTimeInfinity}
	if err := cert.SignCert(rand.Reader, hostKey(t)); err != nil {
		t.Fatal(err)
	}
	certificate := file(t, "id-cert.pub", string(ssh.MarshalAuthorizedKey(cert)))
	_, stranger, _ := ed25519.GenerateKey(rand.Reader)
	other := identity(t, stranger)
	for _, tt := range []struct {
		name, settings string
		identities     []string
		accepted       ssh.PublicKey
		want           fetch.Code
	}{
		{name: "no file", accepted: last, want: fetch.ErrAuth},
		{name: "file of a key", settings: "IdentityFile " + identity(t, private), accepted: last},
		{name: "file of a public key", settings: "IdentityFile " + public, accepted: last},
		{name: "public key beside a missing file", settings: "IdentityFile " + public[:len(public)-len(".pub")], accepted: last},
		{name: "public key beside a key in another format", settings: "IdentityFile " + foreign, accepted: last},
		{name: "option", identities: []string{public}, accepted: last},
		{name: "encrypted key that the agent holds", identities: []string{encrypted}, accepted: publicKey(t, locked)},
		{name: "certificate", settings: "IdentityFile " + public + "\nCertificateFile " + certificate, accepted: cert},
		{name: "only named keys", settings: "IdentitiesOnly yes\nIdentityFile " + other, accepted: publicKey(t, keys[0]), want: fetch.ErrAuth},
		{name: "key of a file behind few", settings: "IdentitiesOnly yes\nIdentityFile " + other, accepted: publicKey(t, stranger)},
		{name: "key of a file behind many", settings: "IdentityFile " + other, accepted: publicKey(t, stranger), want: fetch.ErrAuth},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := sftpd.Start(t, sftpd.Options{Tree: tree(), Keys: []ssh.PublicKey{tt.accepted}})
			opts := configured(t, s, tt.settings)
			opts.NoAgent, opts.NoIdentities, opts.Identities = false, true, tt.identities
			opts.Passphrase = func(context.Context, string) (string, error) { t.Error("prompted"); return "", nil }
			if err := stat(t, opts, "sftp://alias/"); fetch.CodeOf(err) != tt.want {
				t.Errorf("error %v, want one of class %q", err, tt.want)
			}
		})
	}
}

// TestAgentsOfConfigFile has a key in the agent of the environment, and another in an agent that the
// configuration names.
func TestAgentsOfConfigFile(t *testing.T) {
	_, usual, _ := ed25519.GenerateKey(rand.Reader)
	_, special, _ := ed25519.GenerateKey(rand.Reader)
	serveAgent(t, usual)
	socket := startAgent(t, special)
	t.Setenv("OTHER_AGENT", socket)
	for setting, want := range map[string]ed25519.PrivateKey{
		"":                             usual,
		"IdentityAgent SSH_AUTH_SOCK":  usual,
		"IdentityAgent " + socket:      special,
		"IdentityAgent $OTHER_AGENT":   special,
		"IdentityAgent ${OTHER_AGENT}": special,
		"IdentityAgent none":           nil,
		"IdentityAgent /nonexistent":   nil,
	} {
		for _, key := range []ed25519.PrivateKey{usual, special} {
			s := sftpd.Start(t, sftpd.Options{Tree: tree(), Keys: []ssh.PublicKey{publicKey(t, key)}})
			opts := configured(t, s, setting)
			opts.NoAgent, opts.NoIdentities = false, true
			if err := stat(t, opts, "sftp://alias/"); (err == nil) != key.Equal(want) || err != nil && !errors.Is(err, fetch.ErrAuth) {
				t.Errorf("%q: %v", setting, err)
			}
		}
	}
}

// TestNamesWithSettingsOfTheirOwn uses two names for a server, one of which has no key.
func TestNamesWithSettingsOfTheirOwn(t *testing.T) {
	t.Parallel()
	_, key, _ := ed25519.GenerateKey(rand.Reader)
	s := sftpd.Start(t, sftpd.Options{Tree: tree(), Keys: []ssh.PublicKey{publicKey(t, key)}})
	c := client(t, configured(t, s, "Host alias\n\tIdentityFile "+identity(t, key)+"\nHost other\n\tIdentityFile none"), nil)
	drive.Gets(t, c, "sftp://alias/dir/a.txt", "content of a")
	drive.Fails(t, c, "sftp://other/dir/a.txt", fetch.ErrAuth)
}

// TestUnreadableCertificatesAreSkipped has a directory in place of a certificate.
func TestUnreadableCertificatesAreSkipped(t *testing.T) {
	t.Parallel()
	_, key, _ := ed25519.GenerateKey(rand.Reader)
	private := identity(t, key)
	if err := os.Mkdir(private+"-cert.pub", 0o700); err != nil {
		t.Fatal(err)
	}
	s := sftpd.Start(t, sftpd.Options{Tree: tree(), Keys: []ssh.PublicKey{publicKey(t, key)}})
	if err := stat(t, configured(t, s, "IdentityFile "+private), "sftp://alias/"); err != nil {
		t.Error(err)
	}
}
