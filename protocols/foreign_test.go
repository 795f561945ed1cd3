package protocols_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"golang.org/x/crypto/ssh"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/netrc"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
	"github.com/urlget/urlget/fetchtest/servers/imapd"
	"github.com/urlget/urlget/fetchtest/servers/nfsd"
	"github.com/urlget/urlget/fetchtest/servers/nntpd"
	"github.com/urlget/urlget/fetchtest/servers/popd"
	"github.com/urlget/urlget/fetchtest/servers/rsyncd"
	"github.com/urlget/urlget/fetchtest/servers/sftpd"
	"github.com/urlget/urlget/fetchtest/servers/smbd"
	"github.com/urlget/urlget/protocols"
	webdriver "github.com/urlget/urlget/protocols/http"
	"github.com/urlget/urlget/protocols/imap"
	"github.com/urlget/urlget/protocols/mid"
	"github.com/urlget/urlget/protocols/mounted"
	"github.com/urlget/urlget/protocols/nfs"
	"github.com/urlget/urlget/protocols/nntp"
	"github.com/urlget/urlget/protocols/pop"
	"github.com/urlget/urlget/protocols/s3"
	"github.com/urlget/urlget/protocols/sftp"
	"github.com/urlget/urlget/protocols/ws"
)

// own stands for the origin of the URL itself.
const own = "own"

// provenances lists the ways in which a URL reaches a client.
var provenances = []struct {
	name      string
	from      string // own for a page of the same origin
	redirect  bool   // another origin redirects to the URL
	untrusted bool   // the policy's Untrusted
	foreign   bool   // the user's credentials must not be used
}{
	{name: "typed"},
	{name: "page of the same origin", from: own},
	{name: "page of another origin", from: "http://192.0.2.1/", foreign: true},
	{name: "menu of another origin", from: "gopher://192.0.2.1/1/", foreign: true},
	{name: "redirect", redirect: true, foreign: true},
	{name: "remote list", from: "https://192.0.2.1/list.txt", foreign: true},
	{name: "metalink", from: "https://192.0.2.1/file.meta4", foreign: true},
	{name: "sitemap", from: "https://192.0.2.1/sitemap.xml", foreign: true},
	{name: "robots.txt", from: "https://192.0.2.1/robots.txt", foreign: true},
	{name: "archive", from: "file:///archive.warc.gz", foreign: true},
	{name: "job", untrusted: true, foreign: true},
	{name: "job of a crawl, same origin", from: own, untrusted: true, foreign: true},
	{name: "job of a crawl, another origin", from: "http://192.0.2.1/", untrusted: true, foreign: true},
	{name: "job of a crawl, redirect", redirect: true, untrusted: true, foreign: true},
}

// A userResource is a secret or resource of the user that a driver may use, such as a login or a key.
type userResource struct {
	name    string
	schemes []string
	// start returns how to request a URL that needs it.
	start func(t *testing.T, scheme string) userRequest
}

type userRequest struct {
	url    string
	op     fetch.Op
	method string
	config protocols.Config
	opts   fetch.Options
	// used reports whether the driver used it, from the content and the error. Nil means that every
	// success uses it.
	used func(content string, err error) bool
	// hostless is set if a page of the same origin cannot exist.
	hostless bool
}

// noLoans gives the reasons why drivers use no resources of the user, by scheme.
var noLoans = map[string]string{
	"afs": "Local", "file": "Local", "mid": "Local",
	"data":   "the content is the URL",
	"mailto": "names only, or Local with mailboxes",
	"ldap":   "a login in the URL, or what Env.Credential answers, as in the rows for others",
	"cso":    "no logins", "dict": "no logins", "finger": "no logins", "whois": "no logins", "nex": "no logins",
	"gopher": "no logins", "spartan": "no logins", "tftp": "no logins", "wais": "no logins", "prospero": "no logins",
	"z39.50r": "a login in the URL", "z39.50s": "a login in the URL",
	"ni":     "asks by http",
	"ipfs":   "the gateway is the user's choice for all requests, and verified: fetch, TestOpenGatewayIsTheUsersChoice",
	"ipns":   "as ipfs",
	"telnet": "the session belongs to the terminal", "rlogin": "the session belongs to the terminal",
	"tn3270": "the session belongs to the terminal",
}

// TestForeignRequestsUseNoUserResources runs every driver with every provenance: a loan is used if
// and only if the request is not foreign.
func TestForeignRequestsUseNoUserResources(t *testing.T) {
	t.Parallel()
	for _, l := range userResources {
		for _, scheme := range l.schemes {
			t.Run(l.name+"/"+scheme, func(t *testing.T) {
				t.Parallel()
				b := l.start(t, scheme)
				for _, p := range provenances {
					if p.from == own && b.hostless || p.redirect && b.method != "" {
						continue
					}
					o := b.opts
					o.Proxy = func(uri.URI) (uri.URI, error) { return uri.URI{}, nil }
					o.Policy = &fetch.Policy{Untrusted: p.untrusted, AllowPrivate: true, AllowSessions: true, AllowRedirects: []string{scheme}}
					req := &fetch.Request{URL: uri.MustParse(b.url), Op: b.op, Method: b.method}
					if p.redirect {
						req.URL = uri.MustParse("lure://192.0.2.1/")
					}
					if p.from == own {
						req.From = req.URL
					} else if p.from != "" {
						req.From = uri.MustParse(p.from)
					}
					c := fetch.New(&o, protocols.With(b.config), redirector(b.url))
					content, err := contentOf(t, c, req)
					c.Close()
					used := err == nil
					if b.used != nil {
						used = b.used(content, err)
					}
					if used == p.foreign {
						t.Errorf("%s: used %v, want %v (%v)", p.name, used, !p.foreign, err)
					}
				}
			})
		}
	}
}

// TestEveryDriverHasALoanTest fails for a new driver without a row in the table.
func TestEveryDriverHasALoanTest(t *testing.T) {
	t.Parallel()
	c := fetch.New(nil, protocols.All)
	defer c.Close()
	known := make(map[string]bool)
	for _, l := range userResources {
		for _, scheme := range l.schemes {
			known[scheme] = true
		}
	}
	for _, s := range c.Schemes() {
		_, without := noLoans[s.Name]
		switch {
		case s.State() == "names_only" && !without && !known[s.Name]: // the driver never connects
		case !known[s.Name] && !without:
			t.Errorf("%s: say in loans what of the user's its driver may use, or in nothing why it has none", s.Name)
		case known[s.Name] && without:
			t.Errorf("%s has a row in loans, and one in nothing", s.Name)
		case noLoans[s.Name] == "Local" && !s.Local:
			t.Errorf("%s is not Local", s.Name)
		}
		delete(known, s.Name)
	}
	for name := range noLoans {
		if _, ok := c.Scheme(name); !ok {
			t.Errorf("there is no scheme %s", name)
		}
	}
	for name := range known {
		t.Errorf("there is no scheme %s", name)
	}
}

// redirector returns a loader for a driver that redirects to a URL.
func redirector(to string) fetch.Loader {
	return func(_ fetch.Env, reg *fetch.Registry) {
		reg.Register(fetch.Scheme{Name: "lure", Ops: []fetch.Op{fetch.OpGet, fetch.OpStat, fetch.OpList, fetch.OpDial},
			Driver: fetch.DriverFunc(func(context.Context, *fetch.Request) (*fetch.Response, error) {
				return &fetch.Response{Location: []uri.URI{uri.MustParse(to)}, Body: fetch.NoBody}, nil
			})})
	}
}

func contentOf(t *testing.T, c *fetch.Client, req *fetch.Request) (string, error) {
	resp, err := c.Do(t.Context(), req)
	if err != nil || req.Op == fetch.OpDial {
		if err == nil {
			resp.Body.Close()
		}
		return "", err
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	return string(content), err
}

var files = fstest.MapFS{"pub/a.txt": {Data: []byte("content"), Mode: 0o644}}

// logins returns a netrc file with the login u, p at 127.0.0.1.
func logins(t *testing.T) fetch.Options {
	return fetch.Options{Credentials: netrc.New(writeFile(t, "netrc", "machine 127.0.0.1 login u password p\n"))}
}

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// web serves clients with the login or the cookie. It ends WebSockets after the header.
func web(t *testing.T) (addr string) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if c, err := r.Cookie("session"); (err != nil || c.Value != "s") && (user != "u" || password != "p") {
			w.Header().Set("WWW-Authenticate", `Basic realm="r"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, "content")
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// isLoggedIn reports whether a WebSocket failed for another reason than a login. The server accepts the
// login but does not implement WebSocket.
func isLoggedIn(_ string, err error) bool { return fetch.CodeOf(err) != fetch.ErrAuth }

func jar(t *testing.T, addr string) *cookiejar.Jar {
	j, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	j.SetCookies(&url.URL{Scheme: "http", Host: addr, Path: "/"}, []*http.Cookie{{Name: "session", Value: "s"}})
	return j
}

var userResources = []userResource{
	{"netrc", []string{"http", "dav", "webdav"}, func(t *testing.T, scheme string) userRequest {
		return userRequest{url: scheme + "://" + web(t) + "/a", opts: logins(t)}
	}},
	{"netrc", []string{"ws"}, func(t *testing.T, scheme string) userRequest {
		return userRequest{url: scheme + "://" + web(t) + "/", op: fetch.OpDial, opts: logins(t), used: isLoggedIn}
	}},
	{"cookies that change something", []string{"http"}, func(t *testing.T, scheme string) userRequest {
		addr := web(t)
		return userRequest{url: scheme + "://" + addr + "/", method: "DELETE", config: protocols.Config{HTTP: &webdriver.Options{Jar: jar(t, addr)}}}
	}},
	{"cookies", []string{"ws"}, func(t *testing.T, scheme string) userRequest {
		addr := web(t)
		return userRequest{url: scheme + "://" + addr + "/", op: fetch.OpDial, config: protocols.Config{WS: &ws.Options{Jar: jar(t, addr)}}, used: isLoggedIn}
	}},
	{"netrc", []string{"ftp"}, func(t *testing.T, scheme string) userRequest {
		s := ftpd.Start(t, ftpd.Options{Tree: files, Users: map[string]string{"u": "p"}})
		return userRequest{url: scheme + "://" + s.Addr + "/pub/a.txt", opts: logins(t)}
	}},
	{"netrc", []string{"imap"}, func(t *testing.T, scheme string) userRequest {
		s := imapd.Start(t, imapd.Options{User: "u", Password: "p"})
		return userRequest{url: scheme + "://" + s.Addr + "/", op: fetch.OpList, opts: logins(t), config: protocols.Config{IMAP: &imap.Options{AllowPlaintext: true}}}
	}},
	{"netrc", []string{"pop", "pop3"}, func(t *testing.T, scheme string) userRequest {
		s := popd.Start(t, popd.Options{User: "u", Password: "p"})
		return userRequest{url: scheme + "://" + s.Addr + "/", op: fetch.OpList, opts: logins(t), config: protocols.Config{POP: &pop.Options{AllowPlaintext: true}}}
	}},
	{"netrc", []string{"nntp", "news"}, func(t *testing.T, scheme string) userRequest {
		s := nntpd.Start(t, nntpd.Options{User: "u", Password: "p", Groups: []nntpd.Group{{Name: "g"}}})
		return userRequest{url: scheme + "://" + s.Addr + "/g", op: fetch.OpList, opts: logins(t), config: protocols.Config{NNTP: &nntp.Options{AllowPlaintext: true}}}
	}},
	{"netrc", []string{"smb"}, func(t *testing.T, scheme string) userRequest {
		s := smbd.Start(t, smbd.Options{Tree: files, Users: map[string]string{"u": "p"}})
		return userRequest{url: scheme + "://" + s.Addr + "/share/pub/a.txt", opts: logins(t)}
	}},
	{"netrc", []string{"rsync"}, func(t *testing.T, scheme string) userRequest {
		s := rsyncd.Start(t, rsyncd.Options{Tree: files, Users: map[string]string{"u": "p"}})
		return userRequest{url: scheme + "://" + s.Addr + "/files/pub/a.txt", opts: logins(t)}
	}},
	{"netrc", []string{"sftp", "scp"}, func(t *testing.T, scheme string) userRequest {
		s := sftpd.Start(t, sftpd.Options{Tree: files, Users: map[string]string{"u": "p"}})
		return userRequest{url: scheme + "://u@" + s.Addr + "/pub/a.txt", opts: logins(t), config: ssHome(t, s, "")}
	}},
	{"key", []string{"sftp", "scp"}, func(t *testing.T, scheme string) userRequest {
		public, private, _ := ed25519.GenerateKey(rand.Reader)
		key, err := ssh.NewPublicKey(public)
		if err != nil {
			t.Fatal(err)
		}
		block, err := ssh.MarshalPrivateKey(private, "")
		if err != nil {
			t.Fatal(err)
		}
		s := sftpd.Start(t, sftpd.Options{Tree: files, Keys: []ssh.PublicKey{key}})
		return userRequest{url: scheme + "://u@" + s.Addr + "/pub/a.txt", config: ssHome(t, s, string(pem.EncodeToMemory(block)))}
	}},
	{"ssh_config", []string{"sftp", "scp"}, func(t *testing.T, scheme string) userRequest {
		s := sftpd.Start(t, sftpd.Options{Tree: files})
		_, port, _ := net.SplitHostPort(s.Addr)
		config := ssHome(t, s, "")
		config.SFTP.NoConfig, config.SFTP.Config = false, writeFile(t, "config", "Host 127.0.0.2\n\tHostName 127.0.0.1\n\tPort "+port+"\n")
		return userRequest{url: scheme + "://u@127.0.0.2/pub/a.txt", config: config}
	}},
	{"access key", []string{"s3"}, func(t *testing.T, scheme string) userRequest {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") == "" {
				http.Error(w, "<Error><Code>AccessDenied</Code></Error>", http.StatusForbidden)
			}
		}))
		t.Cleanup(srv.Close)
		keys := map[string]string{"AWS_SHARED_CREDENTIALS_FILE": writeFile(t, "credentials", "[default]\naws_access_key_id=a\naws_secret_access_key=b\n")}
		return userRequest{url: scheme + "://bucket/a.txt", config: protocols.Config{
			S3: &s3.Options{Endpoint: srv.URL, Getenv: func(name string) string { return keys[name] }}}}
	}},
	{"user", []string{"nfs"}, func(t *testing.T, scheme string) userRequest {
		s := nfsd.Start(t, nfsd.Options{Tree: files, Public: ".", Users: []uint32{1234}})
		return userRequest{url: scheme + "://" + s.Addr + "/pub/a.txt",
			config: protocols.Config{NFS: &nfs.Options{User: &nfs.User{UID: 1234, GID: 1234}, AnyPort: true}}}
	}},
	{"reserved port", []string{"nfs"}, func(t *testing.T, scheme string) userRequest {
		var reserved atomic.Bool
		addr := servers.Start(t, servers.Config{}, func(c *servers.Conn) { reserved.Store(c.NetConn().RemoteAddr().(*net.TCPAddr).Port < 1024) }).Addr
		l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1021})
		if err != nil {
			t.Skipf("no reserved ports here: %v", err)
		}
		l.Close()
		return userRequest{url: scheme + "://" + addr + "/pub/a.txt", used: func(string, error) bool { return reserved.Swap(false) }}
	}},
	{"mounted files", []string{"nfs"}, func(t *testing.T, scheme string) userRequest {
		addr := servers.Start(t, servers.Config{}, func(*servers.Conn) {}).Addr
		_, port, _ := net.SplitHostPort(addr)
		file := writeFile(t, "a.txt", "content")
		mounts := writeFile(t, "mounts", "127.0.0.1:/export "+filepath.Dir(file)+" nfs rw,port="+port+" 0 0\n")
		return userRequest{url: scheme + "://" + addr + "/export/a.txt",
			config: protocols.Config{Mounted: &mounted.Options{Mounts: mounts}, NFS: &nfs.Options{AnyPort: true}}}
	}},
	{"mailboxes", []string{"cid"}, func(t *testing.T, scheme string) userRequest {
		mbox := writeFile(t, "mbox", "From a@x Sat Jan  1 00:00:00 2000\nFrom: a@x\nMessage-ID: <m@x>\n"+
			"Content-Type: multipart/related; boundary=b\n\n--b\nContent-Type: image/png\nContent-ID: <pic@x>\n\ncontent\n--b--\n")
		return userRequest{url: "cid:pic@x", hostless: true, config: protocols.Config{Mid: &mid.Options{Mailboxes: []string{mbox}, CacheDir: t.TempDir()}}}
	}},
	{"client certificate", []string{"https", "davs", "webdavs", "wss", "ftps", "gophers", "gemini", "imaps", "pops", "pop3s", "snews", "nntps", "ldaps"}, func(t *testing.T, scheme string) userRequest {
		addr, client, presented := certificateServer(t)
		op, path := fetch.OpGet, "/"
		switch scheme {
		case "wss":
			op = fetch.OpDial
		case "imaps", "pops", "pop3s":
			op = fetch.OpList
		case "snews", "nntps":
			op, path = fetch.OpList, "/g"
		}
		return userRequest{url: scheme + "://" + addr + path, op: op, opts: fetch.Options{TLS: client},
			used: func(string, error) bool { return presented.Swap(false) }}
	}},
}

// certificateServer starts a server that asks for a client certificate, and sets presented if it
// gets one. Client has a certificate.
func certificateServer(t *testing.T) (addr string, client *tls.Config, presented *atomic.Bool) {
	server, client := servers.Certificate()
	server, client = server.Clone(), client.Clone()
	client.Certificates, server.ClientAuth = server.Certificates, tls.RequestClientCert
	presented = new(atomic.Bool)
	s := servers.Start(t, servers.Config{}, func(c *servers.Conn) {
		if c.StartTLS(server) == nil && len(c.ConnectionState().PeerCertificates) > 0 {
			presented.Store(true)
		}
	})
	return s.Addr, client, presented
}

// Anonymous requests, such as that for robots.txt, present the certificate only where they share
// the connections of the user's own requests.
func TestCertificatesOfAnonymousRequests(t *testing.T) {
	t.Parallel()
	for scheme, want := range map[string]bool{"https": true, "gophers": false, "gemini": false} {
		addr, client, presented := certificateServer(t)
		c := fetch.New(&fetch.Options{TLS: client, Proxy: func(uri.URI) (uri.URI, error) { return uri.URI{}, nil }}, protocols.All)
		for _, anonymous := range []bool{false, true} {
			contentOf(t, c, &fetch.Request{URL: uri.MustParse(scheme + "://" + addr + "/robots.txt"), Anonymous: anonymous})
			if got := presented.Swap(false); got != (want || !anonymous) {
				t.Errorf("%s, anonymous %v: presented %v", scheme, anonymous, got)
			}
		}
		c.Close()
	}
}

// ssHome returns the options of a user with a known_hosts entry and a key.
func ssHome(t *testing.T, s *sftpd.Server, key string) protocols.Config {
	o := &sftp.Options{KnownHosts: []string{writeFile(t, "known_hosts", s.KnownHosts())}, NoConfig: true, NoAgent: true, NoIdentities: true}
	if key != "" {
		o.Identities = []string{writeFile(t, "id", key)}
	}
	return protocols.Config{SFTP: o}
}
