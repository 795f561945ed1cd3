package sftp

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/servers/sftpd"
)

// A claimedConn reports another address for its peer.
type fakeAddrConn struct {
	net.Conn
	peer net.Addr
}

func (c *fakeAddrConn) RemoteAddr() net.Addr { return c.peer }

// serveAgent starts an agent with keys until the test ends and sets SSH_AUTH_SOCK to it.
func serveAgent(t *testing.T, keys ...any) {
	t.Helper()
	t.Setenv("SSH_AUTH_SOCK", startAgent(t, keys...))
}

// startAgent starts an agent with keys until the test ends, and returns its socket.
func startAgent(t *testing.T, keys ...any) (socket string) {
	t.Helper()
	ring := agent.NewKeyring()
	for _, key := range keys {
		if err := ring.Add(agent.AddedKey{PrivateKey: key}); err != nil {
			t.Fatal(err)
		}
	}
	socket = t.TempDir() + "/agent"
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Skipf("Unix sockets are not supported: %v", err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			agent.ServeAgent(ring, conn)
			conn.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return socket
}

// TestUntrustedRequestsIgnoreUserSettings has a user whose agent and key files give access to two
// servers: a public one, and one behind it from the configuration file. The policy on addresses sees
// only the first. An untrusted request must reach neither.
func TestUntrustedRequestsIgnoreUserSettings(t *testing.T) {
	_, key, _ := ed25519.GenerateKey(rand.Reader)
	keys := []ssh.PublicKey{publicKey(t, key)}
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	serveAgent(t, key)
	internal := sftpd.Start(t, sftpd.Options{Tree: tree(), Keys: keys})
	jump := sftpd.Start(t, sftpd.Options{Tree: tree(), Keys: keys, Forward: func(addr string) bool { return addr == internal.Addr }})
	_, port, _ := net.SplitHostPort(internal.Addr)
	if err := os.Mkdir(filepath.Join(home, ".ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"id_ed25519": readFile(t, identity(t, key)),
		"config": fmt.Sprintf("Host internal\n\tHostName 127.0.0.1\n\tPort %s\n\tUser joe\n\tProxyJump joe@203.0.113.1\n"+
			"Host alias\n\tHostName 127.0.0.1\n\tPort %[1]s\n", port),
		"known_hosts": hostLine("203.0.113.1", jump.HostKey) + internal.KnownHosts(),
	} {
		if err := os.WriteFile(filepath.Join(home, ".ssh", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		if addr != "203.0.113.1:22" {
			return nil, &net.DNSError{Err: "no such host", Name: addr, IsNotFound: true}
		}
		c, err := (&net.Dialer{}).DialContext(ctx, network, jump.Addr)
		if err != nil {
			return nil, err
		}
		return &fakeAddrConn{c, &net.TCPAddr{IP: net.IPv4(203, 0, 113, 1), Port: 22}}, nil
	}
	for _, tt := range []struct {
		url, from          string
		opts               Options
		trusted, untrusted fetch.Code // of a trusted and an untrusted request; "" means success
	}{
		{url: "sftp://joe@203.0.113.1/dir/a.txt", untrusted: fetch.ErrAuth},
		{url: "sftp://joe@203.0.113.1/dir/a.txt", from: "sftp://joe@203.0.113.1/dir/", untrusted: fetch.ErrAuth},
		{url: "sftp://joe@203.0.113.1/dir/a.txt", opts: Options{NoAgent: true}, untrusted: fetch.ErrAuth},
		{url: "sftp://joe@203.0.113.1/dir/a.txt", opts: Options{NoIdentities: true}, untrusted: fetch.ErrAuth},
		{url: "sftp://joe@203.0.113.1/dir/a.txt", opts: Options{NoAgent: true, NoIdentities: true}, trusted: fetch.ErrAuth, untrusted: fetch.ErrAuth},
		{url: "sftp://internal/dir/a.txt", untrusted: fetch.ErrNetwork},
		{url: "sftp://internal/dir/a.txt", from: "sftp://internal/dir/", untrusted: fetch.ErrNetwork},
		{url: "sftp://internal/dir/a.txt", from: "http://203.0.113.2/", trusted: fetch.ErrNetwork, untrusted: fetch.ErrNetwork},
		{url: "sftp://alias/dir/a.txt", trusted: fetch.ErrNetwork, untrusted: fetch.ErrNetwork},
		{url: "sftp://127.0.0.1:" + port + "/dir/a.txt", trusted: fetch.ErrNetwork, untrusted: fetch.ErrPolicy},
	} {
		for _, policy := range []*fetch.Policy{{}, {Untrusted: true}} {
			want := tt.trusted
			if policy.Untrusted {
				want = tt.untrusted
			}
			c := client(t, tt.opts, &fetch.Options{Policy: policy, DialContext: dial,
				Proxy: func(uri.URI) (uri.URI, error) { return uri.URI{}, nil }})
			req := &fetch.Request{URL: uri.MustParse(tt.url), Op: fetch.OpStat}
			if tt.from != "" {
				req.From = uri.MustParse(tt.from)
			}
			before := internal.Accepted()
			_, err := c.Do(t.Context(), req)
			if fetch.CodeOf(err) != want || err != nil && strings.Contains(err.Error(), home) {
				t.Errorf("%s from %q, untrusted %v: error %v, want one of class %q", tt.url, tt.from, policy.Untrusted, err, want)
			}
			if policy.Untrusted && internal.Accepted() != before {
				t.Errorf("%s from %q: an untrusted request reached the internal server", tt.url, tt.from)
			}
			x, err := c.Explain(req)
			if err != nil {
				t.Fatal(err)
			}
			if policy.Untrusted && slices.ContainsFunc(x.Steps, func(s string) bool { return strings.Contains(s, " through ") }) {
				t.Errorf("%s from %q: an untrusted request is explained by %q", tt.url, tt.from, x.Steps)
			}
		}
	}
}

// TestUntrustedErrorsHideLocalPaths checks that errors of untrusted requests reveal no local paths.
func TestUntrustedErrorsHideLocalPaths(t *testing.T) {
	t.Parallel()
	s := sftpd.Start(t, sftpd.Options{Tree: tree()})
	dir := t.TempDir()
	changed := hostLine("["+"127.0.0.1]:"+s.Addr[strings.LastIndexByte(s.Addr, ':')+1:], hostKey(t).PublicKey())
	for name, text := range map[string]string{"changed": changed, "revoked": "@revoked * " + string(ssh.MarshalAuthorizedKey(s.HostKey)), "broken": "x\n" + changed} {
		opts := options(t)
		opts.KnownHosts = []string{filepath.Join(dir, name)}
		if err := os.WriteFile(opts.KnownHosts[0], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, policy := range []*fetch.Policy{{}, {Untrusted: true, AllowPrivate: true}} {
			_, err := client(t, opts, &fetch.Options{Policy: policy}).Stat(t.Context(), &fetch.Request{URL: uri.MustParse("sftp://tester@" + s.Addr + "/")})
			var e *fetch.Error
			if !errors.As(err, &e) || e.Code != fetch.ErrTLS && e.Code != fetch.ErrFile || strings.Contains(err.Error()+e.Hint, dir) == policy.Untrusted {
				t.Errorf("%s, untrusted %v: error %v", name, policy.Untrusted, err)
			}
		}
	}
}

func readFile(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
