package sftp

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/sftpd"
)

// sending starts a server that sends text to each client and closes the connection.
func sending(t *testing.T, text string) (addr string) {
	t.Helper()
	s, err := servers.Listen(servers.Config{Scheme: "sftp"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	s.Serve(func(c *servers.Conn) {
		conn := c.NetConn().(*net.TCPConn)
		io.WriteString(conn, text)
		conn.CloseWrite()
		io.Copy(io.Discard, conn) // so that the client gets all before a reset
	})
	return s.Addr
}

// packet returns an SSH packet without encryption (RFC 4253, section 6).
func packet(payload []byte) string {
	padding := 16 - (5+len(payload))%8
	b := binary.BigEndian.AppendUint32(nil, uint32(1+len(payload)+padding))
	b = append(b, byte(padding))
	return string(append(append(b, payload...), make([]byte, padding)...))
}

func disconnection(reason uint32, text string) string {
	return packet(ssh.Marshal(struct {
		Reason   uint32 `sshtype:"1"`
		Text     string
		Language string
	}{reason, text, ""}))
}

func TestReasonsOfServersThatEndTheConnection(t *testing.T) {
	t.Parallel()
	const version = "SSH-2.0-test\r\n"
	for _, tt := range []struct {
		text  string
		want  fetch.Code
		retry bool
		shown string
	}{
		{version, fetch.ErrNetwork, true, "closed the connection during the login"},
		{"", fetch.ErrNetwork, true, "closed the connection during the login"},
		{"Exceeded MaxStartups\r\n", fetch.ErrNetwork, true, "(Exceeded MaxStartups)"},
		{"Not allowed\nat \x1b[1mthis time", fetch.ErrNetwork, true, `(Not allowed at \x1b[1mthis time)`},
		{strings.Repeat("line\n", 2000), fetch.ErrProtocol, false, "line line"},
		{"welcome\r\n" + version + disconnection(1, "no"), fetch.ErrRefused, false, "1 no"},
		{version + disconnection(2, "Too many connections"), fetch.ErrBusy, true, "2 Too many connections"},
		{version + disconnection(2, "Bad packet"), fetch.ErrProtocol, false, "2 Bad packet"},
		{version + disconnection(3, "no key exchange"), fetch.ErrTLS, false, "/: the server ended the connection (3 no key exchange)"},
		{version + disconnection(7, "maintenance"), fetch.ErrRefused, false, "7 maintenance"},
		{version + disconnection(11, "restarting"), fetch.ErrNetwork, true, "11 restarting"},
		{version + disconnection(12, "full\n\"x\""), fetch.ErrBusy, true, `12 full\n"x"`},
		{version + disconnection(15, "who?"), fetch.ErrAuth, false, "15 who?"},
		{version + disconnection(99, ""), fetch.ErrProtocol, false, "99"},
	} {
		t.Run(tt.shown, func(t *testing.T) {
			t.Parallel()
			addr := sending(t, tt.text)
			err := stat(t, options(t), "sftp://"+addr+"/")
			var e *fetch.Error
			if !errors.As(err, &e) || e.Code != tt.want || e.Retry != tt.retry || !strings.Contains(err.Error(), tt.shown) || len(err.Error()) > 2000 {
				t.Errorf("error %v (%+v), want %q of class %q, retry %v", err, e, tt.shown, tt.want, tt.retry)
			}
		})
	}
}

func TestReasonsOfRejectedLogins(t *testing.T) {
	t.Parallel()
	users := map[string]string{"tester": password}
	var identities []string
	for range 8 {
		_, key, _ := ed25519.GenerateKey(rand.Reader)
		identities = append(identities, identity(t, key))
	}
	known := []ssh.PublicKey{hostKey(t).PublicKey()}
	for name, tt := range map[string]struct {
		login      string // of the URL; a password in it is tried before other methods
		server     sftpd.Options
		identities []string
		err, hint  string
	}{
		"expired": {"tester", sftpd.Options{Users: users, Dialogue: true, Expired: true}, nil, "the password of tester has expired", "set a new one with ssh"},
		"expired, asked in a dialogue": {"tester:pass%20word", sftpd.Options{Users: users, Dialogue: true, Further: map[string]string{"New password: ": "x"}}, nil,
			"the password of tester has expired", "set a new one with ssh"},
		"wrong password": {"tester:pass%20word", sftpd.Options{Users: map[string]string{"tester": "other"}}, nil, "the server rejected the login as tester", "supply a private key"},
		"too many keys":  {"tester", sftpd.Options{Keys: known}, identities, "the server rejected the login as tester", "offer fewer keys than 8"},
		"few keys":       {"tester", sftpd.Options{Keys: known}, identities[:2], "the server rejected the login as tester", "supply a private key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.server.Tree = tree()
			s := sftpd.Start(t, tt.server)
			opts := options(t, s)
			opts.Identities = tt.identities
			err := stat(t, opts, "sftp://"+tt.login+"@"+s.Addr+"/")
			var e *fetch.Error
			if !errors.As(err, &e) || e.Code != fetch.ErrAuth || !strings.Contains(fmt.Sprint(e), tt.err) || !strings.Contains(e.Hint, tt.hint) {
				t.Errorf("error %v, hint %q", err, e.Hint)
			}
		})
	}
}
