package sftp

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers/sftpd"
)

// hostKey returns a new host key.
func hostKey(t testing.TB) ssh.Signer {
	t.Helper()
	key, err := sftpd.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// hostLine returns a known_hosts line.
func hostLine(hosts string, key ssh.PublicKey) string {
	return hosts + " " + string(ssh.MarshalAuthorizedKey(key))
}

func TestHostKeys(t *testing.T) {
	t.Parallel()
	key, other, authority := hostKey(t), hostKey(t), hostKey(t)
	cert := &ssh.Certificate{Key: key.PublicKey(), CertType: ssh.HostCert, ValidPrincipals: []string{"127.0.0.1"}, ValidBefore: ssh.CertTimeInfinity}
	if err := cert.SignCert(rand.Reader, authority); err != nil {
		t.Fatal(err)
	}
	certified, err := ssh.NewCertSigner(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	plain := sftpd.Start(t, sftpd.Options{Tree: tree(), HostKeys: []ssh.Signer{key}})
	signed := sftpd.Start(t, sftpd.Options{Tree: tree(), HostKeys: []ssh.Signer{certified}})
	unknown, mismatch := fetch.ReasonHostKey, fetch.ReasonHostKeyChanged
	name := func(s *sftpd.Server) string { return knownhosts.Normalize(s.Addr) }
	port := func(s *sftpd.Server) string { return s.Addr[strings.LastIndexByte(s.Addr, ':')+1:] }
	for _, tt := range []struct {
		name   string
		server *sftpd.Server
		lines  string
		want   fetch.ReasonKind // "" if the key is accepted
	}{
		{"known", plain, hostLine(name(plain), key.PublicKey()), ""},
		{"known among others", plain, "# comment\n\n" + hostLine("elsewhere", other.PublicKey()) + hostLine(name(plain), key.PublicKey()), ""},
		{"after broken lines", plain, "x\n127.0.0.1\n" + name(plain) + " ssh-ed25519 AAAA\n" + hostLine(name(plain), key.PublicKey()), ""},
		{"changed after a broken line", plain, "x\n" + hostLine(name(plain), other.PublicKey()), mismatch},
		{"only a broken line", plain, "x", unknown},
		{"hashed", plain, hostLine(knownhosts.HashHostname(name(plain)), key.PublicKey()), ""},
		{"pattern", plain, hostLine("127.0.0.*", key.PublicKey()), ""},
		{"one of two", plain, hostLine(name(plain), other.PublicKey()) + hostLine(name(plain), key.PublicKey()), ""},
		{"no file", plain, "", unknown},
		{"another port", plain, hostLine("[127.0.0.1]:1", key.PublicKey()), unknown},
		{"another host", plain, hostLine("elsewhere", key.PublicKey()), unknown},
		{"changed", plain, hostLine(name(plain), other.PublicKey()), mismatch},
		{"changed, hashed", plain, hostLine(knownhosts.HashHostname(name(plain)), other.PublicKey()), mismatch},
		{"revoked", plain, hostLine(name(plain), key.PublicKey()) + hostLine("@revoked *", key.PublicKey()), mismatch},
		{"authority", signed, hostLine("@cert-authority 127.0.0.*", authority.PublicKey()), ""},
		{"authority of a port", signed, hostLine("@cert-authority "+name(signed), authority.PublicKey()), ""},
		{"authority of a host", signed, hostLine("@cert-authority 127.0.0.1", authority.PublicKey()), ""},
		{"another authority of a host", signed, hostLine("@cert-authority 127.0.0.1", other.PublicKey()), "none"},
		{"authority of a host, revoked", signed, hostLine("@cert-authority 127.0.0.1", authority.PublicKey()) + hostLine("@revoked "+name(signed), authority.PublicKey()), "none"},
		{"all ports of a host", plain, hostLine("elsewhere,[127.0.0.1]:*", key.PublicKey()), ""},
		{"all ports of a host, another key", plain, hostLine("[127.0.0.1]:*", other.PublicKey()), mismatch},
		{"some ports of a host", plain, hostLine("[127.0.0.1]:"+port(plain)[:2]+"*", key.PublicKey()), ""},
		{"short ports of a host", plain, hostLine("[127.0.0.1]:?", key.PublicKey()), unknown},
		{"all ports of another host", plain, hostLine("[elsewhere]:*", key.PublicKey()), unknown},
		{"not all ports of a host", plain, hostLine("![127.0.0.1]:*,127.0.0.1", key.PublicKey()), unknown},
		{"authority of all ports", signed, hostLine("@cert-authority [127.0.0.1]:*", authority.PublicKey()), ""},
		{"authority of all ports, after a broken line", signed, "x\n" + hostLine("@cert-authority [127.0.0.1]:*", authority.PublicKey()), ""},
		{"revoked, on all ports", plain, hostLine("@revoked [127.0.0.1]:*", key.PublicKey()) + hostLine(name(plain), key.PublicKey()), mismatch},
		{"key of a host", plain, hostLine("127.0.0.1", key.PublicKey()), unknown},
		{"key of an authority", plain, hostLine("@cert-authority "+name(plain), key.PublicKey()), unknown},
		{"key of an authority, by pattern", plain, hostLine("@cert-authority *", key.PublicKey()), unknown},
		{"authority of another host key", plain, hostLine("@cert-authority "+name(plain), authority.PublicKey()), unknown},
		{"authority and host key", plain, hostLine("@cert-authority "+name(plain), key.PublicKey()) + hostLine(name(plain), key.PublicKey()), ""},
		{"another authority", signed, hostLine("@cert-authority *", other.PublicKey()), "none"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			opts := options(t)
			opts.KnownHosts = []string{file(t, "known_hosts", tt.lines)}
			prompted := false
			opts.TrustKey = func(_ context.Context, k HostKey) (bool, error) {
				prompted = true
				if k.Fingerprint != ssh.FingerprintSHA256(key.PublicKey()) || k.Type != "ssh-ed25519" || k.Host != name(tt.server) {
					t.Errorf("prompted for %+v", k)
				}
				return false, nil
			}
			_, err := client(t, opts, nil).Stat(t.Context(), &fetch.Request{URL: uri.MustParse(tt.server.URL + "/")})
			if prompted != (tt.want == unknown) {
				t.Errorf("prompted: %v", prompted)
			}
			var e *fetch.Error
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want == "":
			case !errors.As(err, &e) || e.Code != fetch.ErrTLS:
				t.Errorf("error %v, want one of class %q", err, fetch.ErrTLS)
			case tt.want == "none":
			case e.Reason.Kind != tt.want || !strings.Contains(err.Error(), ssh.FingerprintSHA256(key.PublicKey())) || e.Hint == "":
				t.Errorf("error %v, reason %+v", err, e.Reason)
			}
		})
	}
}

func TestTrustedKeyIsAddedToKnownHosts(t *testing.T) {
	t.Parallel()
	s := sftpd.Start(t, sftpd.Options{Tree: tree()})
	opts := options(t)
	opts.KnownHosts = []string{t.TempDir() + "/new/known_hosts"}
	calls := 0
	opts.TrustKey = func(context.Context, HostKey) (bool, error) { calls++; return true, nil }
	for range 2 {
		if _, err := client(t, opts, nil).Stat(t.Context(), &fetch.Request{URL: uri.MustParse(s.URL + "/")}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(opts.KnownHosts[0])
	if calls != 1 || string(got) != s.KnownHosts() || err != nil {
		t.Errorf("%d prompts; known_hosts is %q, %v", calls, got, err)
	}
}

func TestForeignRequestsDoNotPromptForHostKeys(t *testing.T) {
	t.Parallel()
	s := sftpd.Start(t, sftpd.Options{Tree: tree()})
	opts := options(t)
	opts.TrustKey = func(context.Context, HostKey) (bool, error) { t.Error("prompted"); return true, nil }
	c := client(t, opts, &fetch.Options{Policy: &fetch.Policy{AllowPrivate: true}})
	u := uri.MustParse("sftp://tester@" + s.Addr + "/dir/a.txt")
	_, err := c.Do(t.Context(), &fetch.Request{URL: u, From: uri.MustParse("gopher://elsewhere.invalid/")})
	if !errors.Is(err, fetch.ErrTLS) {
		t.Errorf("error %v, want one of class %q", err, fetch.ErrTLS)
	}
}

// encrypted is a private key file with the passphrase "sesame". One round of its key derivation
// (ssh-keygen -a 1) takes less time than the 16 that are usual.
const encrypted = "testdata/encrypted_ed25519"

// identity writes a private key file.
func identity(t testing.TB, key any) string {
	t.Helper()
	block, err := ssh.MarshalPrivateKey(key.(crypto.PrivateKey), "test")
	if err != nil {
		t.Fatal(err)
	}
	return file(t, "id", string(pem.EncodeToMemory(block)))
}

// certifiedIdentity returns the file of a key that has a certificate beside it, and the certificate.
func certifiedIdentity(t testing.TB) (name string, cert *ssh.Certificate) {
	t.Helper()
	_, key, _ := ed25519.GenerateKey(rand.Reader)
	cert = &ssh.Certificate{Key: publicKey(t, key), CertType: ssh.UserCert, ValidPrincipals: []string{"tester"},
		ValidBefore: ssh.CertTimeInfinity}
	if err := cert.SignCert(rand.Reader, hostKey(t)); err != nil {
		t.Fatal(err)
	}
	name = identity(t, key)
	if err := os.WriteFile(name+"-cert.pub", ssh.MarshalAuthorizedKey(cert), 0o600); err != nil {
		t.Fatal(err)
	}
	return name, cert
}

// TestKeyExchanges checks that each method that is considered secure is offered.
func TestKeyExchanges(t *testing.T) {
	t.Parallel()
	for _, method := range ssh.SupportedAlgorithms().KeyExchanges {
		s := sftpd.Start(t, sftpd.Options{Tree: tree(), Algorithms: ssh.Config{KeyExchanges: []string{method}}})
		if _, err := client(t, options(t, s), nil).Stat(t.Context(), &fetch.Request{URL: uri.MustParse(s.URL + "/")}); err != nil {
			t.Errorf("%s: %v", method, err)
		}
	}
}

// publicKey returns the public key of key.
func publicKey(t testing.TB, key any) ssh.PublicKey {
	t.Helper()
	s, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return s.PublicKey()
}

// rsaKey returns the RSA key of all tests, because making one takes 50 ms.
func rsaKey(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	key, err := onlyRSAKey()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

var onlyRSAKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

func TestLogins(t *testing.T) {
	t.Parallel()
	_, edwards, _ := ed25519.GenerateKey(rand.Reader)
	_, stranger, _ := ed25519.GenerateKey(rand.Reader)
	rivest := rsaKey(t)
	encryptedPublic, _, _, _, err := ssh.ParseAuthorizedKey([]byte(readFile(t, encrypted+".pub")))
	if err != nil {
		t.Fatal(err)
	}
	certified, certificate := certifiedIdentity(t)
	known := []ssh.PublicKey{publicKey(t, edwards), publicKey(t, rivest), encryptedPublic}
	users := map[string]string{"tester": password, "": ""}
	for _, tt := range []struct {
		name      string
		server    sftpd.Options
		url       string // user information before the address
		options   Options
		passwords []string // the passwords of the credentials, in order
		want      fetch.Code
		calls     int
	}{
		{name: "key", server: sftpd.Options{Keys: known}, options: Options{Identities: []string{identity(t, edwards)}}},
		{name: "RSA key", server: sftpd.Options{Keys: known}, options: Options{Identities: []string{identity(t, rivest)}}},
		{name: "certificate", server: sftpd.Options{Keys: []ssh.PublicKey{certificate}}, options: Options{Identities: []string{certified}}},
		{name: "certificate, key accepted", server: sftpd.Options{Keys: []ssh.PublicKey{certificate.Key}}, options: Options{Identities: []string{certified}}},
		{name: "second key", server: sftpd.Options{Keys: known},
			options: Options{Identities: []string{identity(t, stranger), identity(t, edwards)}}},
		{name: "key with a passphrase", server: sftpd.Options{Keys: known},
			options: Options{Identities: []string{encrypted}, Passphrase: passphrase("sesame")}},
		{name: "wrong passphrase", server: sftpd.Options{Keys: known},
			options: Options{Identities: []string{encrypted}, Passphrase: passphrase("shut")}, want: fetch.ErrAuth},
		{name: "no passphrase", server: sftpd.Options{Keys: known},
			options: Options{Identities: []string{encrypted}}, want: fetch.ErrAuth},
		{name: "passphrase of a rejected key", server: sftpd.Options{Keys: known[:1]},
			options: Options{Identities: []string{encrypted, identity(t, edwards)},
				Passphrase: func(context.Context, string) (string, error) { t.Error("prompted"); return "", nil }}},
		{name: "malformed key", server: sftpd.Options{Keys: known}, options: Options{Identities: []string{file(t, "id", "no key")}}, want: fetch.ErrFile},
		{name: "missing key", server: sftpd.Options{Keys: known}, options: Options{Identities: []string{"/nonexistent/id"}}, want: fetch.ErrFile},
		{name: "other key", server: sftpd.Options{Keys: known}, options: Options{Identities: []string{identity(t, stranger)}}, want: fetch.ErrAuth},
		{name: "nothing", server: sftpd.Options{Keys: known}, want: fetch.ErrAuth},
		{name: "key rejected, password accepted", server: sftpd.Options{Keys: known, Users: users},
			options: Options{Identities: []string{identity(t, stranger)}}, passwords: []string{password}, calls: 1},
		{name: "password of the URL", server: sftpd.Options{Users: users}, url: "tester:pass%20word@"},
		{name: "second password", server: sftpd.Options{Users: users}, passwords: []string{"wrong", password}, calls: 2},
		{name: "wrong password", server: sftpd.Options{Users: users}, passwords: []string{"wrong"}, want: fetch.ErrAuth, calls: 2},
		{name: "wrong password of the URL", server: sftpd.Options{Users: users}, url: "tester:wrong@", want: fetch.ErrAuth, calls: 1},
		{name: "dialogue", server: sftpd.Options{Users: users, Dialogue: true}, passwords: []string{password}, calls: 1},
		{name: "dialogue with a code", server: sftpd.Options{Users: users, Dialogue: true, Further: map[string]string{"Code: ": "123456"}},
			passwords: []string{password, "123456"}, calls: 2},
		{name: "password of the URL and a code", server: sftpd.Options{Users: users, Dialogue: true, Further: map[string]string{"Code: ": "123456"}},
			url: "tester:pass%20word@", passwords: []string{"123456"}, calls: 1},
		{name: "question", server: sftpd.Options{Users: users, Dialogue: true, Prompt: "Do you agree (yes/no)? "}, url: "tester:pass%20word@",
			want: fetch.ErrAuth},
		{name: "prompt with echo", server: sftpd.Options{Users: users, Dialogue: true, Prompt: "Password: ", Echo: true}, url: "tester:pass%20word@",
			want: fetch.ErrAuth},
		{name: "prompt of a device", server: sftpd.Options{Users: users, Dialogue: true, Prompt: "TACACS Password: "}, url: "tester:pass%20word@"},
		{name: "prompt in Japanese", server: sftpd.Options{Users: users, Dialogue: true, Prompt: "パスワード:"}, url: "tester:pass%20word@"},
		{name: "one-time password", server: sftpd.Options{Users: users, Dialogue: true, Prompt: "One-time password (OATH): "}, url: "tester:pass%20word@",
			want: fetch.ErrAuth},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.server.Tree = tree()
			s := sftpd.Start(t, tt.server)
			opts := options(t, s)
			opts.Identities, opts.Passphrase = tt.options.Identities, tt.options.Passphrase
			calls := 0
			var trace bytes.Buffer
			more := &fetch.Options{
				Credentials: fetch.CredentialsFunc(func(_ context.Context, ch fetch.Challenge) (fetch.Credential, error) {
					calls++
					if ch.Mechanism != "ssh" || ch.User != "tester" || ch.Attempt != calls && !ch.Question {
						t.Errorf("challenge %+v, the %dth", ch, calls)
					}
					if calls > len(tt.passwords) {
						return fetch.Credential{}, fetch.ErrAuth
					}
					return fetch.Credential{User: ch.User, Password: tt.passwords[calls-1]}, nil
				}),
				Recorder: fetch.RecordLines(func(_ bool, line string) { fmt.Fprintln(&trace, line) }),
			}
			_, err := client(t, opts, more).Stat(t.Context(), &fetch.Request{URL: uri.MustParse("sftp://" + tt.url + s.Addr + "/")})
			if fetch.CodeOf(err) != tt.want {
				t.Errorf("error %v, want one of class %q", err, tt.want)
			}
			if tt.want == "" && calls != tt.calls {
				t.Errorf("%d calls for credentials, want %d", calls, tt.calls)
			}
			for _, secret := range append(tt.passwords, password, "wrong", "sesame") {
				if text := trace.String() + fmt.Sprint(err); strings.Contains(text, secret) {
					t.Errorf("%q shows in %q", secret, text)
				}
			}
		})
	}
}

func passphrase(text string) func(context.Context, string) (string, error) {
	return func(context.Context, string) (string, error) { return text, nil }
}

// TestEndlessDialogue uses a server that sends requests without prompts.
func TestEndlessDialogue(t *testing.T) {
	t.Parallel()
	s := sftpd.Start(t, sftpd.Options{Tree: tree(), Users: map[string]string{"tester": password}, Dialogue: true, Rounds: 10_000})
	drive.Fails(t, client(t, options(t, s), nil), "sftp://tester:pass%20word@"+s.Addr+"/", fetch.ErrProtocol)
}

// TestAgentKeys is not parallel, because it sets an environment variable.
func TestAgentKeys(t *testing.T) {
	_, key, _ := ed25519.GenerateKey(rand.Reader)
	serveAgent(t, key)
	s := sftpd.Start(t, sftpd.Options{Tree: tree(), Keys: []ssh.PublicKey{publicKey(t, key)}})
	opts := options(t, s)
	if _, err := client(t, opts, nil).Stat(t.Context(), &fetch.Request{URL: uri.MustParse(s.URL + "/")}); !errors.Is(err, fetch.ErrAuth) {
		t.Errorf("with NoAgent: error %v, want one of class %q", err, fetch.ErrAuth)
	}
	opts.NoAgent = false
	if _, err := client(t, opts, nil).Stat(t.Context(), &fetch.Request{URL: uri.MustParse(s.URL + "/")}); err != nil {
		t.Error(err)
	}
	foreign := &fetch.Request{URL: uri.MustParse("sftp://tester@" + s.Addr + "/"), Op: fetch.OpStat, From: uri.MustParse("http://elsewhere.invalid/")}
	c := client(t, opts, &fetch.Options{Policy: &fetch.Policy{AllowPrivate: true}})
	if _, err := c.Do(t.Context(), foreign); !errors.Is(err, fetch.ErrAuth) {
		t.Errorf("a foreign request: error %v, want one of class %q", err, fetch.ErrAuth)
	}
}

func TestConfigFile(t *testing.T) {
	t.Parallel()
	server := sftpd.Start(t, sftpd.Options{Tree: tree(), Users: map[string]string{"inner": password}})
	jump := sftpd.Start(t, sftpd.Options{Tree: tree(), Users: map[string]string{"outer": password},
		Forward: func(addr string) bool { return addr == server.Addr }})
	_, port, _ := net.SplitHostPort(server.Addr)
	opts := options(t, server, jump)
	opts.NoConfig, opts.User = false, ""
	opts.Config = file(t, "config", fmt.Sprintf(`
Host direct behind blocked
	HostName 127.0.0.1
	Port %s
	User inner
Host behind
	ProxyJump outer@%s
Host blocked
	ProxyJump outer@%[2]s
	Port 1
`, port, jump.Addr))
	c := client(t, opts, nil)
	for _, host := range []string{"direct", "behind"} {
		before := jump.Accepted()
		drive.Gets(t, c, "sftp://"+host+"/dir/a.txt", "content of a")
		if through := jump.Accepted() > before; through != (host == "behind") {
			t.Errorf("%s: through the jump host: %v", host, through)
		}
	}
	// The URL takes precedence.
	drive.Fails(t, c, "sftp://nobody@direct/dir/a.txt", fetch.ErrAuth) // another user
	if _, err := drive.Get(t, c, "sftp://behind:1025/dir/a.txt"); !errors.Is(err, fetch.ErrNetwork) || !strings.Contains(err.Error(), "127.0.0.1:1025") {
		t.Errorf("a refused forward: error %v, want one of class %q", err, fetch.ErrNetwork)
	}
	// Foreign requests do not use the configuration.
	c = client(t, opts, &fetch.Options{Policy: &fetch.Policy{AllowPrivate: true}})
	if x, err := c.Explain(&fetch.Request{URL: uri.MustParse("sftp://behind/"), From: uri.MustParse("gopher://elsewhere.invalid/")}); err != nil ||
		len(x.Steps) == 0 || x.Steps[0] != "connect to behind:22" {
		t.Errorf("%+v, %v", x, err)
	}
	opts.Config = file(t, "config", "Port twenty")
	if _, err := client(t, opts, nil).Stat(t.Context(), &fetch.Request{URL: uri.MustParse("sftp://direct/")}); !errors.Is(err, fetch.ErrFile) || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("a malformed configuration file: error %v", err)
	}
}

func TestPasswordAttemptsAreLimited(t *testing.T) {
	t.Parallel()
	s := sftpd.Start(t, sftpd.Options{Tree: tree(), Users: map[string]string{"tester": password}})
	calls := 0
	more := &fetch.Options{Credentials: fetch.CredentialsFunc(func(context.Context, fetch.Challenge) (fetch.Credential, error) {
		calls++
		return fetch.Credential{User: "tester", Password: "wrong"}, nil
	})}
	if _, err := client(t, options(t, s), more).Stat(t.Context(), &fetch.Request{URL: uri.MustParse(s.URL + "/")}); !errors.Is(err, fetch.ErrAuth) || calls != maxTries {
		t.Errorf("%d calls, error %v", calls, err)
	}
}
