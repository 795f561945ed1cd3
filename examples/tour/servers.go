package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing/fstest"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/testserver/csod"
	"github.com/urlget/urlget/internal/testserver/dictd"
	"github.com/urlget/urlget/internal/testserver/fingerd"
	"github.com/urlget/urlget/internal/testserver/ftpd"
	"github.com/urlget/urlget/internal/testserver/gopherd"
	"github.com/urlget/urlget/internal/testserver/lineserver"
	"github.com/urlget/urlget/internal/testserver/nntpd"
	"github.com/urlget/urlget/internal/testserver/prosperod"
	"github.com/urlget/urlget/internal/testserver/telnetd"
	"github.com/urlget/urlget/internal/testserver/waisd"
	"github.com/urlget/urlget/protocols"
	"github.com/urlget/urlget/protocols/mid"
	"github.com/urlget/urlget/protocols/nntp"
)

var day = time.Date(1994, time.December, 20, 12, 0, 0, 0, time.UTC)

// tree is what the servers hold.
var tree = fstest.MapFS{
	"fruit/pear.txt":  {Data: []byte("A pear is a fruit.\n"), ModTime: day},
	"fruit/apple.txt": {Data: []byte("An apple a day keeps the doctor away.\n"), ModTime: day},
	"large.bin":       {Data: make([]byte, 256<<10), ModTime: day},
}

const message = `From: Alice <alice@example.org>
To: bob@example.org
Newsgroups: example.fruit
Subject: Pears
Date: Tue, 20 Dec 1994 12:00:00 +0000
Message-ID: <pear@example.org>

A pear is a fruit.
`

const letter = `From: Alice <alice@example.org>
To: bob@example.org
Subject: A picture
Date: Tue, 20 Dec 1994 13:00:00 +0000
Message-ID: <letter@example.org>
MIME-Version: 1.0
Content-Type: multipart/related; boundary=part

--part
Content-Type: text/html

<img src="cid:picture@example.org">
--part
Content-Type: image/gif
Content-ID: <picture@example.org>
Content-Transfer-Encoding: base64

R0lGODlhAQABAAAAADs=
--part--
`

// postmark begins a message in an mbox file.
const postmark = "From alice@example.org Tue Dec 20 12:00:00 1994\n"

// servers are where the stops of the tour are.
type servers struct {
	addr    map[string]string // by scheme
	wais    *waisd.Server
	roots   *x509.CertPool
	mailbox string
}

// start starts a server for each protocol.
func (s *stage) start() *servers {
	web := httptest.NewServer(http.FileServerFS(tree))
	s.Cleanup(web.Close)
	secure := httptest.NewTLSServer(http.FileServerFS(tree))
	s.Cleanup(secure.Close)
	certificate := &tls.Config{Certificates: secure.TLS.Certificates}

	v := &servers{addr: make(map[string]string), roots: x509.NewCertPool()}
	v.roots.AddCert(secure.Certificate())
	v.addr["http"] = web.Listener.Addr().String()
	v.addr["https"] = secure.Listener.Addr().String()
	v.addr["ftp"] = ftpd.Start(s, tree, ftpd.Options{}).Addr
	v.addr["ftps"] = ftpd.Start(s, tree, ftpd.Options{TLS: certificate, Implicit: true}).Addr
	v.addr["gopher"] = gopherd.Start(s, gopherd.Config{Tree: tree, Text: true, Plus: true}).Addr
	v.addr["gophers"] = gopherd.Start(s, gopherd.Config{Tree: tree, Text: true, TLS: certificate}).Addr
	v.addr["cso"] = csod.Start(s, map[string]string{"pear": "-200:1:    name: Alice Pear\r\n-200:1:   email: alice@example.org\r\n"}).Addr
	v.addr["finger"] = fingerd.Start(s, map[string]string{"alice": "Login: alice\r\nPlan:\r\nEat a pear.\r\n"}).Addr
	v.addr["whois"] = lineserver.Start(s, nil, func(q string, _ *bufio.Reader) ([]byte, bool) {
		return []byte("domain: " + q + "\r\nholder: Alice\r\n"), false
	}).Addr
	v.addr["dict"] = dictd.Start(s, func(word string) (string, bool) {
		return "A sweet fruit, narrow at the stalk.\r\n", word == "pear"
	}).Addr
	v.addr["telnet"] = telnetd.Start(s, func(c *telnetd.Conn) {
		c.Send("Welcome.\r\nlogin: ")
		c.Wait()
	}).Addr
	v.addr["nntp"] = nntpd.Start(s, nntpd.Config{Groups: []nntpd.Group{{Name: "example.fruit", Description: "All about fruit",
		Articles: []nntpd.Article{{ID: "<pear@example.org>", Text: message}}}}}).Addr

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.Fatal(err)
	}
	v.wais = waisd.Start(listener, tree)
	s.Cleanup(func() { v.wais.Close() })
	v.addr["wais"] = v.wais.Addr()
	v.addr["prospero"] = s.prospero("127.0.0.1:0")

	v.mailbox = s.folder("mailbox", postmark+message+"\n"+postmark+letter+"\n")
	return v
}

func (s *stage) prospero(addr string) string {
	conn, err := net.ListenPacket("udp", addr)
	if err != nil {
		s.Fatal(err)
	}
	d := prosperod.New(tree)
	d.Serve(conn)
	s.Cleanup(func() { d.Close() })
	return d.Addr()
}

// folder makes a file in a folder of its own and returns its path.
func (s *stage) folder(name, content string) string {
	dir, err := os.MkdirTemp("", "urlget-tour-")
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { os.RemoveAll(dir) })
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte(content), fs.FileMode(0o600)); err != nil {
		s.Fatal(err)
	}
	return file
}

// client returns a client that knows where news and mail are.
func (v *servers) client() *fetch.Client {
	return fetch.New(&fetch.Options{TLS: &tls.Config{RootCAs: v.roots}}, protocols.With(protocols.Config{
		NNTP: &nntp.Options{Server: v.addr["nntp"]},
		Mid:  &mid.Options{Mailboxes: []string{v.mailbox}},
	}))
}

// stops are the URLs to visit.
func (v *servers) stops() []uri.URI {
	at := func(scheme, rest string) string { return scheme + "://" + v.addr[scheme] + rest }
	var stops []uri.URI
	for _, s := range []string{
		"data:,A%20pear%20is%20a%20fruit.",
		"file://" + filepath.ToSlash(v.mailbox),
		at("http", "/fruit/pear.txt"), at("https", "/large.bin"),
		at("ftp", "/fruit/"), at("ftp", "/fruit/pear.txt;type=i"), at("ftps", "/large.bin"),
		at("gopher", "/1/fruit"), at("gopher", "/0/fruit/pear.txt"), at("gophers", "/9/large.bin"),
		at("cso", "/pear"), at("finger", "/alice"), at("whois", "/example.org"), at("dict", "/d:pear"), at("telnet", "/"),
		"news:*", "news:example.fruit", "news:pear@example.org", at("nntp", "/example.fruit/1"),
		at("wais", "/"), at("wais", "/fruit?pear"), v.wais.Document("fruit", "pear.txt"),
		at("prospero", "//fruit"), at("prospero", "//large.bin"),
		"mid:pear@example.org", "cid:picture@example.org",
	} {
		stops = append(stops, uri.MustParse(s))
	}
	return stops
}

// ports are where -serve puts the servers.
var ports = []struct{ scheme, port string }{
	{"http", "8080"}, {"ftp", "2121"}, {"gopher", "7070"}, {"finger", "7979"}, {"whois", "4343"}, {"dict", "2628"}, {"telnet", "2323"},
	{"nntp", "1119"}, {"wais", "2210"}, {"cso", "1105"},
}

const prosperoPort = "1525"

// keep passes connections from fixed ports on to the servers until ctx ends.
func (v *servers) keep(ctx context.Context, out io.Writer) error {
	s := &stage{}
	defer s.tearDown()
	for _, p := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:"+p.port)
		if err != nil {
			return err
		}
		s.Cleanup(func() { l.Close() })
		go forward(l, v.addr[p.scheme])
		fmt.Fprintf(out, "%s://127.0.0.1:%s/\n", p.scheme, p.port)
	}
	fmt.Fprintf(out, "prospero://%s/\n", s.prospero("127.0.0.1:"+prosperoPort))
	fmt.Fprintln(out, strings.Repeat("-", 10)+" interrupt to stop")
	<-ctx.Done()
	return nil
}

// forward joins each connection to l with one to addr.
func forward(l net.Listener, addr string) {
	for {
		from, err := l.Accept()
		if err != nil {
			return
		}
		to, err := net.Dial("tcp", addr)
		if err != nil {
			from.Close()
			continue
		}
		pass := func(dst, src net.Conn) {
			io.Copy(dst, src)
			dst.Close()
			src.Close()
		}
		go pass(to, from)
		go pass(from, to)
	}
}
