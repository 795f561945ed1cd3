//go:build integration && linux

package integration

import (
	"bytes"
	"context"
	"crypto/tls"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers/waisd"
	"github.com/urlget/urlget/integration/lab"
	"github.com/urlget/urlget/integration/wan"
	"github.com/urlget/urlget/protocols"
	"github.com/urlget/urlget/protocols/gemini"
	"github.com/urlget/urlget/protocols/imap"
	"github.com/urlget/urlget/protocols/pop"
)

// distantRows are servers with URLs to retrieve and to list over a slow link.
var distantRows = []struct {
	server string
	urls   func(*lab.Server) []string
	lists  func(*lab.Server) []string
}{
	{server: "nginx", urls: func(s *lab.Server) []string {
		return []string{"http://" + s.Addr("plain") + "/65537.bin", "https://" + s.Addr("tls") + "/65537.bin"}
	}},
	{server: "vsftpd", urls: func(s *lab.Server) []string {
		return []string{"ftp://" + s.Addr("plain") + "/65537.bin", "ftps://" + s.Addr("tls") + "/65537.bin"}
	}, lists: func(s *lab.Server) []string {
		return []string{"ftp://" + s.Addr("plain") + "/many/"}
	}},
	{server: "proftpd", urls: func(s *lab.Server) []string {
		return []string{"ftp://" + s.Addr("plain") + "/65537.bin"}
	}},
	{server: "openssh", urls: func(s *lab.Server) []string {
		return []string{"sftp://" + lab.User + ":" + lab.Password + "@" + s.Addr("ssh") + "/~/65537.bin"}
	}},
	{server: "gophernicus", urls: func(s *lab.Server) []string {
		return []string{"gopher://" + s.Addr("plain") + "/9/65537.bin"}
	}, lists: func(s *lab.Server) []string {
		return []string{"gopher://" + s.Addr("plain") + "/1/many"}
	}},
	{server: "pygopherd", urls: func(s *lab.Server) []string {
		return []string{"gophers://" + s.Addr("tls") + "/9/65537.bin"}
	}},
	{server: "molly-brown", urls: func(s *lab.Server) []string {
		return []string{"gemini://localhost:" + s.Port("plain") + "/65537.bin"}
	}},
	{server: "inn", urls: func(s *lab.Server) []string {
		return []string{"news://" + s.Addr("plain") + "/long@lab.invalid", "snews://" + s.Addr("tls") + "/long@lab.invalid"}
	}, lists: func(s *lab.Server) []string {
		return []string{"nntp://" + s.Addr("plain") + "/test.urlget"}
	}},
	{server: "dovecot", urls: func(s *lab.Server) []string {
		login := lab.User + ":" + lab.Password + "@"
		return []string{"pop://" + login + s.Addr("pop") + "/1", "pops://" + login + s.Addr("pops") + "/1"}
	}, lists: func(s *lab.Server) []string {
		login := lab.User + ":" + lab.Password + "@"
		return []string{"imap://" + login + s.Addr("imap") + "/INBOX", "imaps://" + login + s.Addr("imaps") + "/INBOX"}
	}},
	{server: "waisd", urls: func(s *lab.Server) []string {
		return []string{waisd.DocumentURL(s.Addr("plain"), "text", "long.txt")}
	}},
	{server: "prosperod", urls: func(s *lab.Server) []string {
		return []string{"prospero://" + s.Addr("plain") + "//65537.bin"}
	}},
	{server: "tftpd-hpa", urls: func(s *lab.Server) []string {
		return []string{"tftp://" + s.Addr("plain") + "/octets.bin"}
	}},
	{server: "atftpd", urls: func(s *lab.Server) []string {
		return []string{"tftp://" + s.Addr("plain") + "/octets.bin"}
	}},
	{server: "dictd", urls: func(s *lab.Server) []string {
		return []string{"dict://" + s.Addr("plain") + "/d:verse"}
	}},
	{server: "slapd", urls: func(s *lab.Server) []string {
		return []string{"ldap://" + s.Addr("plain") + "/dc=lab,dc=test??sub", "ldaps://" + s.Addr("tls") + "/dc=lab,dc=test??sub"}
	}},
	{server: "fingerd", urls: func(s *lab.Server) []string {
		return []string{"finger://" + s.Addr("plain") + "/labuser"}
	}},
	{server: "whois", urls: func(s *lab.Server) []string {
		return []string{"whois://" + s.Addr("plain") + "/example.test"}
	}},
}

// TestEverySchemeOverSlowLink retrieves and lists with and without a link with delay and loss, and
// compares the results.
func TestEverySchemeOverSlowLink(t *testing.T) {
	link := wan.Open(t, wan.Far)
	for _, row := range distantRows {
		t.Run(row.server, func(t *testing.T) {
			s := startNear(t, row.server)
			near := labClient(t, s, (&net.Dialer{}).DialContext)
			far := labClient(t, s, link.DialContext)
			for _, url := range row.urls(s) {
				want, err := near.ReadAll(t.Context(), url, 1<<20)
				if err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				got, err := far.ReadAll(t.Context(), url, 1<<20)
				if err != nil || !bytes.Equal(got, want) {
					t.Errorf("%s: %d bytes of %d are there or right: %v", url, len(got), len(want), err)
				}
				if elapsed := time.Since(start); elapsed < 2*wan.Far.Delay {
					t.Errorf("%s took %v, which is less than a round trip", url, elapsed)
				}
			}
			if row.lists == nil {
				return
			}
			for _, url := range row.lists(s) {
				want, got := names(t, near, url), names(t, far, url)
				if len(want) == 0 || !slices.Equal(got, want) {
					t.Errorf("%s: the entries are %q, not %q", url, got, want)
				}
			}
		})
	}
	passed, lost := link.Packets()
	t.Logf("%d packets passed, %d were lost", passed, lost)
}

// startNear starts a server that replies from an address of this machine. TFTP servers reply from
// ports that Docker does not publish.
func startNear(t *testing.T, name string) *lab.Server {
	t.Helper()
	if !strings.Contains(name, "tftpd") {
		return lab.Start(t, name)
	}
	tree, err := lab.Tree()
	if err != nil {
		t.Fatal(err)
	}
	return lab.StartRoot(t, name, tree)
}

// labClient returns a client for a server of the lab that connects with dial.
func labClient(t *testing.T, s *lab.Server, dial func(context.Context, string, string) (net.Conn, error)) *fetch.Client {
	t.Helper()
	config := protocols.Config{
		Gemini: &gemini.Options{Certificates: filepath.Join(t.TempDir(), "certificates")},
		IMAP:   &imap.Options{AllowPlaintext: true},
		POP:    &pop.Options{AllowPlaintext: true},
	}
	if s.Name == "openssh" {
		ssh := sftpOptions(t, s)
		config.SFTP = &ssh
	}
	c := fetch.New(&fetch.Options{
		TLS:          &tls.Config{RootCAs: lab.CA(), ServerName: "localhost"},
		DialContext:  dial,
		ListenPacket: new(net.ListenConfig).ListenPacket, // sends directly to the address
	}, protocols.With(config))
	t.Cleanup(func() { c.Close() })
	return c
}

// names returns the names of a listing's entries.
func names(t *testing.T, c *fetch.Client, url string) []string {
	t.Helper()
	var list []string
	for _, e := range drive.MustList(t, c, url) {
		list = append(list, e.Name)
	}
	return list
}
