//go:build integration && linux

package networks

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetchtest/servers/dictd"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
	"github.com/urlget/urlget/fetchtest/servers/gopherd"
	"github.com/urlget/urlget/fetchtest/servers/prosperod"
	"github.com/urlget/urlget/fetchtest/servers/queryd"
	"github.com/urlget/urlget/fetchtest/servers/tftpd"
	"github.com/urlget/urlget/fetchtest/servers/waisd"
	"github.com/urlget/urlget/protocols"
	"github.com/urlget/urlget/protocols/ftp"

	"golang.org/x/net/dns/dnsmessage"
)

const text = "what there is to say\n"

var tree = fstest.MapFS{"file": {Data: []byte(text)}, "dir/file": {Data: []byte(text)}}

// public is an address outside the private ranges. In the tests' network it leads to this machine.
const public = "9.9.9.9"

// newClient returns a client with short timeouts.
func newClient(t *testing.T) *fetch.Client {
	t.Helper()
	c := fetch.New(&fetch.Options{
		Timeouts: fetch.Timeouts{Connect: 4 * time.Second, Reply: 4 * time.Second, Idle: 4 * time.Second},
	}, protocols.All)
	t.Cleanup(func() { c.Close() })
	return c
}

// serveHTTP starts a server, which stops when the test ends, and returns its port.
func serveHTTP(t *testing.T, addr string, h http.HandlerFunc) string {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: h}
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

func says(words string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, words) }
}

// portOf returns the port of an address.
func portOf(addr string) string {
	_, port, _ := net.SplitHostPort(addr)
	return port
}

func TestEverySchemeWithoutIPv4(t *testing.T) {
	if !inNamespace(t, "ip addr del 127.0.0.1/8 dev lo") {
		return
	}
	serveNames(t, map[string]answer{
		"six.test":  {addrs: []string{"::1"}},
		"four.test": {addrs: []string{"192.0.2.1"}},
		"both.test": {addrs: []string{"192.0.2.1", "::1"}},
	})
	const listen = "[::1]:0"
	http := serveHTTP(t, listen, says(text))
	passive := ftpd.Start(t, ftpd.Options{Tree: tree, Listen: listen})
	gopher := gopherd.Start(t, gopherd.Options{Tree: tree, Listen: listen})
	wais := waisd.Start(t, waisd.Options{Tree: fstest.MapFS{"db/file": {Data: []byte(text)}}, Listen: listen})
	prospero := prosperod.Start(t, prosperod.Options{Tree: tree, Listen: listen})
	tftp := tftpd.Start(t, tftpd.Options{Tree: tree, Listen: listen})
	finger := queryd.Start(t, queryd.Options{Scheme: "finger", Replies: map[string]string{"me": text}, Listen: listen})
	whois := queryd.Start(t, queryd.Options{Scheme: "whois", Replies: map[string]string{"me": text}, Listen: listen})
	dict := dictd.Start(t, dictd.Options{Words: map[string]string{"word": text}, Listen: listen})

	c := newClient(t)
	active := fetch.New(nil, ftp.With(ftp.Options{Active: true}))
	defer active.Close()
	for _, tt := range []struct {
		client *fetch.Client
		url    string
	}{
		{c, "http://six.test:" + http + "/"},
		{c, "http://both.test:" + http + "/"},
		{c, "http://[::1]:" + http + "/"},
		{c, "ftp://six.test:" + portOf(passive.Addr) + "/file"},
		{active, "ftp://six.test:" + portOf(passive.Addr) + "/file"},
		{c, "gopher://six.test:" + portOf(gopher.Addr) + "/0/file"},
		{c, strings.Replace(waisd.DocumentURL(wais.Addr, "db", "file"), "[::1]", "six.test", 1)},
		{c, "prospero://six.test:" + portOf(prospero.Addr) + "//file"},
		{c, "tftp://six.test:" + portOf(tftp.Addr) + "/file"},
		{c, "finger://six.test:" + portOf(finger.Addr) + "/me"},
		{c, "whois://six.test:" + portOf(whois.Addr) + "/me"},
		{c, "dict://six.test:" + portOf(dict.Addr) + "/d:word"},
	} {
		got, err := tt.client.ReadAll(t.Context(), tt.url, 1<<20)
		if err != nil || !strings.Contains(strings.ReplaceAll(string(got), "\r", ""), text) {
			t.Errorf("%s: %q, %v", tt.url, got, err)
		}
	}
	for _, url := range []string{"http://four.test:" + http + "/", "http://192.0.2.1/", "ftp://127.0.0.1/file"} {
		start := time.Now()
		if _, err := c.ReadAll(t.Context(), url, 1<<20); !errors.Is(err, fetch.ErrNetwork) || time.Since(start) > 5*time.Second {
			t.Errorf("%s: %v, after %v", url, err, time.Since(start))
		}
	}
}

func TestUnresponsiveAddress(t *testing.T) {
	if !inNamespace(t,
		"ip addr add 2001:db8::2/128 dev lo nodad", "ip6tables -A INPUT -d 2001:db8::2 -j DROP",
		"ip addr add 192.0.2.2/32 dev lo", "iptables -A INPUT -d 192.0.2.2 -j DROP",
	) {
		return
	}
	serveNames(t, map[string]answer{
		"dark-six.test":  {addrs: []string{"2001:db8::2", "127.0.0.1"}},
		"dark-four.test": {addrs: []string{"192.0.2.2", "::1"}},
		"dark.test":      {addrs: []string{"192.0.2.2", "2001:db8::2"}},
	})
	port := serveHTTP(t, ":0", says(text))
	files := ftpd.Start(t, ftpd.Options{Tree: tree, Listen: "127.0.0.1:0"})
	c := newClient(t)
	for _, url := range []string{
		"http://dark-six.test:" + port + "/", "http://dark-four.test:" + port + "/",
		"ftp://dark-six.test:" + portOf(files.Addr) + "/file",
	} {
		start := time.Now()
		got, err := c.ReadAll(t.Context(), url, 1<<20)
		if elapsed := time.Since(start); err != nil || string(got) != text || elapsed > 3*time.Second {
			t.Errorf("%s: %q, %v, after %v", url, got, err, elapsed)
		}
	}
	if _, err := c.ReadAll(t.Context(), "http://dark.test:"+port+"/", 1<<20); !errors.Is(err, fetch.ErrNetwork) {
		t.Errorf("host without a responding address: %v", err)
	}
}

func TestForgedRecords(t *testing.T) {
	if !inNamespace(t, "ip addr add "+public+"/32 dev lo") {
		return
	}
	many := make([]string, 1000)
	for i := range many {
		many[i] = "127.0.0.1"
	}
	names := serveNames(t, map[string]answer{
		"silent.test": {silent: true},
		"forged.test": {forged: true, addrs: []string{"127.0.0.1"}},
		"failed.test": {code: dnsmessage.RCodeServerFailure},
		"loop.test":   {alias: "loop.test"},
		"empty.test":  {},
		"cut.test":    {cut: true, addrs: []string{"127.0.0.1"}},
		"many.test":   {cut: true, addrs: many},
		"public.test": {addrs: []string{public}},
		"inner.test":  {addrs: []string{"127.0.0.1"}},
		"rebind.test": {addrs: []string{public}, later: []string{"127.0.0.1"}},
		"mapped.test": {addrs: []string{"64:ff9b::7f00:1"}},
	})
	port := serveHTTP(t, ":0", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		if to := r.URL.Query().Get("to"); to != "" {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
			return
		}
		io.WriteString(w, text)
	})
	c := newClient(t)
	at := func(host string) string { return "http://" + host + ":" + port + "/" }
	for _, tt := range []struct {
		url  string
		want fetch.Code // "" means success
	}{
		{at("cut.test"), ""},
		{at("many.test"), ""},
		{at("inner.test"), ""}, // the user's own requests may connect to it
		{at("public.test"), ""},
		{at("unknown.test"), fetch.ErrNetwork},
		{at("empty.test"), fetch.ErrNetwork},
		{at("failed.test"), fetch.ErrNetwork},
		{at("loop.test"), fetch.ErrNetwork},
		{at("silent.test"), fetch.ErrNetwork},
		{at("forged.test"), fetch.ErrNetwork},
		{at("public.test") + "?to=" + at("inner.test"), fetch.ErrPolicy},
		{at("public.test") + "?to=" + at("mapped.test"), fetch.ErrPolicy},
		{at("public.test") + "?to=" + at("public.test"), ""},
		{at("rebind.test") + "?to=" + at("rebind.test") + "secret", fetch.ErrPolicy},
	} {
		start := time.Now()
		got, err := c.ReadAll(t.Context(), tt.url, 1<<20)
		if elapsed := time.Since(start); fetch.CodeOf(err) != tt.want || tt.want == "" && string(got) != text || elapsed > 6*time.Second {
			t.Errorf("%s: %q, %v (class %q), after %v", tt.url, got, err, fetch.CodeOf(err), elapsed)
		}
	}
	if names.queries["rebind.testTypeA"] < 2 {
		t.Error("the name that changes its address was looked up once only")
	}
}

// TestCaptivePortal retrieves while a portal responds instead of every server.
func TestCaptivePortal(t *testing.T) {
	if !inNamespace(t, "ip addr add "+public+"/32 dev lo") {
		return
	}
	serveNames(t, map[string]answer{"*": {addrs: []string{public}}})
	const page = "<html><title>Welcome to the hotel</title></html>"
	portal := func(w http.ResponseWriter, r *http.Request) {
		if r.Host != "portal.test" {
			http.Redirect(w, r, "http://portal.test/login", http.StatusFound)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, page)
	}
	serveHTTP(t, ":80", portal)
	serveHTTP(t, ":443", portal) // without TLS
	serveHTTP(t, ":21", portal)
	serveHTTP(t, ":70", portal)
	c := newClient(t)

	for url, want := range map[string]fetch.Code{
		"https://bank.test/":   fetch.ErrTLS,
		"ftp://ftp.test/file":  fetch.ErrNetwork, // an HTTP server waits for the client to send
		"ftps://ftp.test/file": fetch.ErrNetwork, // connection refused
	} {
		if got, err := c.ReadAll(t.Context(), url, 1<<20); fetch.CodeOf(err) != want {
			t.Errorf("%s: %q, %v (class %q)", url, got, err, fetch.CodeOf(err))
		}
	}
	var last error
	for _, err := range c.List(t.Context(), "gopher://gopher.test/1/menu") {
		last = err
	}
	if fetch.CodeOf(last) != fetch.ErrProtocol {
		t.Errorf("a page is taken for a menu: %v", last)
	}

	sum := sha256.Sum256([]byte(text))
	for name, tt := range map[string]struct {
		before map[string]string
		opts   download.Options
		want   fetch.Code
	}{
		"no file with a wrong checksum": {
			opts: download.Options{Checksum: "sha256:" + hex.EncodeToString(sum[:])}, want: fetch.ErrChecksum},
		"a complete file is not resumed with the portal's page": {
			before: map[string]string{"file": text}, opts: download.Options{Exists: download.Resume}, want: fetch.ErrChanged},
		"an existing file with a checksum is kept": {
			before: map[string]string{"file": "older"}, want: fetch.ErrChecksum,
			opts: download.Options{Exists: download.Overwrite, Checksum: "sha256:" + hex.EncodeToString(sum[:])}},
	} {
		dir, err := os.OpenRoot(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		for file, content := range tt.before {
			if err := dir.WriteFile(file, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		d := download.Downloader{Client: c, Root: dir}
		_, err = d.Get(t.Context(), "http://files.test/file", "file", &tt.opts)
		got, _ := dir.ReadFile("file")
		if fetch.CodeOf(err) != tt.want || string(got) != tt.before["file"] {
			t.Errorf("%s: %v (class %q), the file is %q", name, err, fetch.CodeOf(err), got)
		}
		d.Flush()
		dir.Close()
	}
}

// The networks of TestFTPThroughNAT: the client's and the server's, without routes to each other,
// and the router between them.
var natCommands = []string{
	"ip netns add router", "ip netns add server",
	"ip link add name client0 type veth peer name client1 netns router",
	"ip -n router link add name server1 type veth peer name server0 netns server",
	"ip -n router link set lo up", "ip -n server link set lo up",
	"ip addr add 10.1.0.2/24 dev client0", "ip link set client0 up",
	"ip -n router addr add 10.1.0.1/24 dev client1", "ip -n router link set client1 up",
	"ip -n router addr add 10.2.0.1/24 dev server1", "ip -n router link set server1 up",
	"ip -n server addr add 10.2.0.2/24 dev server0", "ip -n server link set server0 up",
	"ip netns exec router sh -c echo${IFS}1>/proc/sys/net/ipv4/ip_forward",
	"ip netns exec router iptables -t nat -A POSTROUTING -o server1 -j MASQUERADE",
	"ip netns exec router iptables -t nat -A PREROUTING -i client1 -p tcp -j DNAT --to-destination 10.2.0.2",
}

func TestFTPThroughNAT(t *testing.T) {
	if !inNamespace(t, natCommands...) {
		return
	}
	port := portOf(startInNamespace(t, "server", "TestFTPServer"))
	root := "ftp://10.1.0.1:" + port // the router's address for the client
	for _, tt := range []struct {
		name string
		opts ftp.Options
		want fetch.Code
	}{
		{name: "passive, with the server's private address in the reply"},
		// The server cannot connect to a client behind a router without FTP support.
		{name: "active", opts: ftp.Options{Active: true}, want: fetch.ErrNetwork},
	} {
		c := fetch.New(&fetch.Options{Timeouts: fetch.Timeouts{Connect: 4 * time.Second, Reply: 4 * time.Second, Idle: 4 * time.Second}},
			ftp.With(tt.opts))
		start := time.Now()
		got, err := c.ReadAll(t.Context(), root+"/file", 1<<20)
		if elapsed := time.Since(start); fetch.CodeOf(err) != tt.want || tt.want == "" && string(got) != text || elapsed > 10*time.Second {
			t.Errorf("%s: %q, %v (class %q), after %v", tt.name, got, err, fetch.CodeOf(err), elapsed)
		}
		c.Close()
	}
}

// TestFTPServer is the server of TestFTPThroughNAT in its namespace. It only supports PASV.
func TestFTPServer(t *testing.T) {
	if os.Getenv(variable) != t.Name() {
		t.Skip("server of another test")
	}
	s := ftpd.Start(t, ftpd.Options{Tree: tree, Listen: "10.2.0.2:0", Unknown: []string{"EPSV", "EPRT"}})
	serveUntilClosed(s.Addr)
}
