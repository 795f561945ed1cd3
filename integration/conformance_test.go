//go:build integration

package integration

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/servers/waisd"
	"github.com/urlget/urlget/integration/lab"
	"github.com/urlget/urlget/protocols"
	"github.com/urlget/urlget/protocols/gemini"
	"github.com/urlget/urlget/protocols/http"
	"github.com/urlget/urlget/protocols/nntp"
	"github.com/urlget/urlget/protocols/prospero"
	"github.com/urlget/urlget/protocols/spartan"
	"github.com/urlget/urlget/protocols/tftp"
	"github.com/urlget/urlget/protocols/wais"
)

// servers lists the lab's server for each scheme. A row without a harness gives the reason why the
// suite of fetchtest does not apply, and names the test that replaces it. A row without a server
// gives the reason for that.
var servers = []struct {
	scheme, server string
	features       string // tested features of the protocol
	harness        func(server string) fetchtest.Harness
	why            string
}{
	{scheme: "http", server: "nginx", features: "HTTP/1.1", harness: nginxHarness("plain", http.Options{})},
	{scheme: "http", server: "nginx", features: "content coding", harness: nginxHarness("plain", http.Options{Compressed: true})},
	{scheme: "https", server: "nginx", features: "HTTP/1.1", harness: nginxHarness("tls", http.Options{Protocols: http.HTTP1})},
	{scheme: "https", server: "nginx", features: "HTTP/2", harness: nginxHarness("tls", http.Options{})},
	{scheme: "dav", server: "nginx", features: "PROPFIND", harness: davHarness("plain", "dav")},
	{scheme: "davs", server: "nginx", features: "PROPFIND", harness: davHarness("tls", "davs")},
	{scheme: "webdav", why: "the same as dav"},
	{scheme: "webdavs", why: "the same as davs"},

	{scheme: "ftp", server: "vsftpd", features: "clear", harness: ftpHarness("clear")},
	{scheme: "ftp", server: "vsftpd", features: "AUTH TLS", harness: ftpHarness("tls")},
	{scheme: "ftp", server: "proftpd", features: "clear", harness: ftpHarness("clear")},
	{scheme: "ftp", server: "proftpd", features: "AUTH TLS", harness: ftpHarness("tls")},
	{scheme: "ftp", server: "pure-ftpd", features: "clear", harness: ftpHarness("clear")},
	{scheme: "ftp", server: "pure-ftpd", features: "AUTH TLS", harness: ftpHarness("tls")},
	{scheme: "ftp", server: "pyftpdlib", features: "clear", harness: ftpHarness("clear")},
	{scheme: "ftp", server: "pyftpdlib", features: "AUTH TLS", harness: ftpHarness("tls")},
	{scheme: "ftps", server: "vsftpd", features: "implicit TLS", harness: ftpHarness("implicit")},

	{scheme: "gopher", server: "gophernicus", features: "plain", harness: gopherHarness("plain", "gopher", "")},
	{scheme: "gopher", server: "pygopherd", features: "plain", harness: gopherHarness("plain", "gopher", "")},
	{scheme: "gopher", server: "pygopherd", features: "Gopher+", harness: gopherHarness("plain", "gopher", "+")},
	{scheme: "gophers", server: "pygopherd", features: "plain", harness: gopherHarness("tls", "gophers", "")},
	{scheme: "gophers", server: "pygopherd", features: "Gopher+", harness: gopherHarness("tls", "gophers", "+")},
	{scheme: "gemini", server: "molly-brown", features: "first use", harness: geminiHarness},
	{scheme: "spartan", server: "pygopherd", features: "2021-03-24", harness: spartanHarness},
	{scheme: "nex", why: "no Nex server is packaged: protocols/nex has one of ours"},
	{scheme: "tftp", server: "tftpd-hpa", features: "tsize, blksize", harness: tftpHarness},
	{scheme: "tftp", server: "atftpd", features: "windowsize", harness: tftpHarness},
	{scheme: "finger", server: "fingerd", features: "users", harness: fingerHarness},

	{scheme: "news", server: "inn", features: "RFC 3977", harness: newsHarness("plain", "news", nntp.Options{})},
	{scheme: "news", server: "inn", features: "STARTTLS", harness: newsHarness("starttls", "news", nntp.Options{StartTLS: true})},
	{scheme: "news", server: "sn", features: "RFC 977", harness: newsHarness("plain", "news", nntp.Options{})},
	{scheme: "snews", server: "inn", features: "RFC 3977", harness: newsHarness("tls", "snews", nntp.Options{})},
	{scheme: "nntp", server: "inn", features: "RFC 3977", why: "articles are numbers, not names: TestNewsByNumber"},
	{scheme: "nntp", server: "sn", features: "RFC 977", why: "articles are numbers, not names: TestNewsByNumber"},
	{scheme: "nntps", server: "inn", features: "RFC 3977", why: "articles are numbers, not names: TestNewsByNumber"},

	{scheme: "imap", server: "dovecot", features: "STARTTLS", harness: imapHarness("imap", "imap")},
	{scheme: "imaps", server: "dovecot", features: "TLS", harness: imapHarness("imaps", "imaps")},
	{scheme: "pop", server: "dovecot", features: "STLS", harness: popHarness("pop", "pop")},
	{scheme: "pops", server: "dovecot", features: "TLS", harness: popHarness("pops", "pops")},
	{scheme: "pop3", server: "dovecot", features: "STLS", why: "the same as pop"},
	{scheme: "pop3s", server: "dovecot", features: "TLS", why: "the same as pops"},

	{scheme: "dict", server: "dictd", features: "define, match, AUTH", why: "not a file server: TestDictd"},
	{scheme: "ldap", server: "slapd", features: "clear, StartTLS", why: "not a file server: TestSlapd"},
	{scheme: "ldaps", server: "slapd", features: "TLS", why: "not a file server: TestSlapd"},
	{scheme: "whois", server: "whois", features: "referral", why: "a script with fixed responses, because Debian has no server: TestWhois"},

	// The project's own servers imitate the original ones, because no WAIS or Prospero server is
	// packaged.
	{scheme: "wais", server: "waisd", features: "retrieval", harness: waisHarness},
	{scheme: "prospero", server: "prosperod", features: "version 5", harness: prosperoHarness},

	{scheme: "sftp", server: "openssh", features: "version 3", harness: sftpHarness},
	{scheme: "s3", why: "TestSwift starts OpenStack Swift, which is not in a container"},
	{scheme: "smb", server: "samba", features: "3.1.1", harness: smbHarness("lab")},
	{scheme: "smb", server: "samba", features: "3.1.1, encrypted share", harness: smbHarness("sealed")},
	{scheme: "rsync", server: "rsync", features: "anonymous", harness: rsyncHarness("lab")},
	{scheme: "rsync", server: "rsync", features: "login", harness: rsyncHarness("private")},
	{scheme: "scp", server: "openssh", features: "version 3", why: "the same as sftp"},

	{scheme: "nfs", server: "ganesha", features: "version 3", harness: nfsHarness},

	{scheme: "z39.50s", server: "ztest", features: "version 3", why: "not a file server: TestYazRecords"},
	{scheme: "z39.50r", server: "ztest", features: "version 3", why: "not a file server: TestYazRecords"},
	{scheme: "z39.50s", server: "zebra", features: "version 3", why: "not a file server: TestZebraRecords"},
	{scheme: "z39.50r", server: "zebra", features: "version 3", why: "not a file server: TestZebraRecords"},
	{scheme: "cso", why: "no CSO server is packaged: protocols/cso plays conversations"},
	{scheme: "data", why: "the URL is the document"},
	{scheme: "ipfs", why: "no gateway is packaged: protocols/ipfs has one of ours, and blocks of boxo"},
	{scheme: "ipns", why: "the same as ipfs, with records of boxo: protocols/ipfs"},
	{scheme: "ni", why: "retrieves by https, and checks: protocols/ni"},
	{scheme: "file", why: "needs no server"},
	{scheme: "mid", why: "reads mailboxes; asks the servers of news where it may"},
	{scheme: "cid", why: "reads mailboxes; asks the servers of news where it may"},
	{scheme: "afs", why: "a mounted file system: a client of AFS is a module of the kernel, which no container brings"},
}

func TestConformance(t *testing.T) {
	for _, row := range servers {
		if row.harness == nil {
			continue
		}
		t.Run(row.scheme+"/"+row.server+"/"+row.features, func(t *testing.T) {
			fetchtest.Run(t, row.harness(row.server))
		})
	}
}

// TestEverySchemeHasServer compares the table with the registered schemes.
func TestEverySchemeHasServer(t *testing.T) {
	c := fetch.New(nil, protocols.All)
	defer c.Close()
	have := make(map[string]bool)
	for _, row := range servers {
		have[row.scheme] = true
		if _, ok := lab.Services()[row.server]; !ok && row.server != "" {
			t.Errorf("%s: no server %q in the lab", row.scheme, row.server)
		}
		if (row.harness == nil) != (row.why != "") {
			t.Errorf("%s by %s: needs either a harness or a reason", row.scheme, cmp.Or(row.server, "nobody"))
		}
		if !slices.ContainsFunc(c.Schemes(), func(s fetch.Scheme) bool { return s.Name == row.scheme }) {
			t.Errorf("no scheme %q", row.scheme)
		}
	}
	for _, s := range c.Schemes() {
		if s.State() == "retrieves" && !have[s.Name] {
			t.Errorf("%s can be retrieved, but is not in the table", s.Name)
		}
	}
}

// TestServerCount compares the number in docs/testing.md with the lab, without the project's own
// servers and the Samba variants.
func TestServerCount(t *testing.T) {
	text, err := os.ReadFile("../docs/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	services := lab.Services()
	for _, name := range []string{"waisd", "prosperod", "whois", "samba-variants"} {
		if _, ok := services[name]; !ok {
			t.Errorf("no server %q in the lab", name)
		}
		delete(services, name)
	}
	if want := fmt.Sprintf("The lab runs %d servers by other authors", len(services)); !strings.Contains(string(text), want) {
		t.Errorf("docs/testing.md does not say: %s", want)
	}
}

// startWith starts a server with the files of tree.
func startWith(t testing.TB, server string, tree fs.FS) *lab.Server {
	t.Helper()
	dir := lab.TempDir(t)
	if err := os.CopyFS(dir, tree); err != nil {
		t.Fatal(err)
	}
	return lab.StartRoot(t, server, dir)
}

// waisHarness serves the tree as one database, because databases have no folders.
func waisHarness(server string) fetchtest.Harness {
	return fetchtest.Harness{Start: func(t testing.TB, tree fs.FS) fetchtest.Site {
		dir := lab.TempDir(t)
		if err := os.CopyFS(dir+"/db", tree); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(dir+"/text", 0o755); err != nil { // the lab's greeting requires it
			t.Fatal(err)
		}
		s := lab.StartRoot(t, server, dir)
		return fetchtest.Site{
			Load: wais.Load,
			URL: func(name string) string {
				if info, err := fs.Stat(tree, name); err == nil && info.IsDir() {
					return "" // a database is not a directory
				}
				return waisd.DocumentURL(s.Addr("plain"), "db", name)
			},
			Escaped: true, // messages have no lines: identifiers have a length
		}
	}}
}

func prosperoHarness(server string) fetchtest.Harness {
	return fetchtest.Harness{Start: func(t testing.TB, tree fs.FS) fetchtest.Site {
		s := startWith(t, server, tree)
		root := uri.MustParse("prospero://" + s.Addr("plain"))
		return fetchtest.Site{
			Load: prospero.Load,
			URL: func(name string) string {
				if name == "." {
					name = ""
				}
				return uri.Must(uri.Prospero{Host: root.Host(), Port: root.Port(0), HSOName: "/" + name}.URI()).String()
			},
		}
	}}
}

// geminiHarness uses the name localhost, the only one that the server accepts.
func geminiHarness(server string) fetchtest.Harness {
	return fetchtest.Harness{
		Start: func(t testing.TB, tree fs.FS) fetchtest.Site {
			s := startWith(t, server, tree)
			return fetchtest.Site{
				Load: gemini.Load,
				URL: func(name string) string {
					if strings.Contains(name, "..") {
						return "" // the server refuses it as a path out of the tree
					}
					segments := strings.Split(name, "/")
					for i := range segments {
						segments[i] = uri.Escape(segments[i])
					}
					u := "gemini://localhost:" + s.Port("plain") + "/" + strings.Join(segments, "/")
					if name == "." {
						return strings.TrimSuffix(u, ".")
					}
					if info, err := fs.Stat(tree, name); err == nil && info.IsDir() {
						u += "/"
					}
					return u
				},
				Escaped: true,
			}
		},
		Skip: map[string]string{"List": "sizes and dates are a part of the names: TestMollyBrown"},
	}
}

// spartanHarness uses pygopherd, which detects Spartan requests.
func spartanHarness(server string) fetchtest.Harness {
	return fetchtest.Harness{
		Start: func(t testing.TB, tree fs.FS) fetchtest.Site {
			s := lab.StartRoot(t, server, gopherRoot(t, tree, nil))
			return fetchtest.Site{
				Load: spartan.Load,
				URL: func(name string) string {
					if strings.Contains(name, "..") {
						return "" // the server refuses it as a path out of the tree
					}
					return "spartan://" + s.Addr("plain") + "/" + strings.ReplaceAll(uri.Escape(strings.TrimPrefix(name, ".")), "%2F", "/")
				},
				Escaped: true,
			}
		},
		Skip: map[string]string{
			"List":       "its links to directories have no slash at the end, and so look like those to files",
			"FileSystem": "its links to directories have no slash at the end, and so look like those to files",
		},
	}
}

func tftpHarness(server string) fetchtest.Harness {
	return fetchtest.Harness{Start: func(t testing.TB, tree fs.FS) fetchtest.Site {
		s := startWith(t, server, tree)
		return fetchtest.Site{
			Load: tftp.Load,
			URL: func(name string) string {
				if info, err := fs.Stat(tree, name); err == nil && info.IsDir() || strings.Contains(name, "..") {
					return "" // no directories; the server refuses dots as a path out of the tree
				}
				return "tftp://" + s.Addr("plain") + "/" + strings.ReplaceAll(uri.Escape(name), "%2F", "/")
			},
		}
	}}
}
