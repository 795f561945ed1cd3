package main

import (
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
	"strconv"
	"strings"
	"testing/fstest"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/servers/csod"
	"github.com/urlget/urlget/fetchtest/servers/dictd"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
	"github.com/urlget/urlget/fetchtest/servers/geminid"
	"github.com/urlget/urlget/fetchtest/servers/gopherd"
	"github.com/urlget/urlget/fetchtest/servers/imapd"
	"github.com/urlget/urlget/fetchtest/servers/nexd"
	"github.com/urlget/urlget/fetchtest/servers/nfsd"
	"github.com/urlget/urlget/fetchtest/servers/nntpd"
	"github.com/urlget/urlget/fetchtest/servers/popd"
	"github.com/urlget/urlget/fetchtest/servers/prosperod"
	"github.com/urlget/urlget/fetchtest/servers/queryd"
	"github.com/urlget/urlget/fetchtest/servers/spartand"
	"github.com/urlget/urlget/fetchtest/servers/telnetd"
	"github.com/urlget/urlget/fetchtest/servers/tftpd"
	"github.com/urlget/urlget/fetchtest/servers/waisd"
	"github.com/urlget/urlget/protocols"
	"github.com/urlget/urlget/protocols/mid"
	"github.com/urlget/urlget/protocols/nntp"
)

var day = time.Date(1994, time.December, 20, 12, 0, 0, 0, time.UTC)

// tree holds the files of the servers.
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

// postmark is the first line of a message in an mbox file.
const postmark = "From alice@example.org Tue Dec 20 12:00:00 1994\n"

// servers are the servers of the tour.
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
	v.addr["ftp"] = ftpd.Start(s, ftpd.Options{Tree: tree}).Addr
	v.addr["ftps"] = ftpd.Start(s, ftpd.Options{Tree: tree, TLS: certificate, Implicit: true}).Addr
	v.addr["imaps"] = imapd.Start(s, imapd.Options{TLS: certificate, Implicit: true, Mailboxes: map[string][]imapd.Message{"INBOX": {{Text: []byte(message)}}}}).Addr
	v.addr["pops"] = popd.Start(s, popd.Options{TLS: certificate, Implicit: true, Messages: []popd.Message{{UID: "1", Text: message}}}).Addr
	v.addr["gemini"] = geminid.Start(s, geminid.Options{Tree: tree, TLS: certificate}).Addr
	v.addr["spartan"] = spartand.Start(s, spartand.Options{Tree: tree}).Addr
	v.addr["nex"] = nexd.Start(s, nexd.Options{Tree: tree}).Addr
	v.addr["tftp"] = tftpd.Start(s, tftpd.Options{Tree: tree}).Addr
	v.addr["nfs"] = nfsd.Start(s, nfsd.Options{Tree: tree}).Addr
	v.addr["gopher"] = gopherd.Start(s, gopherd.Options{Tree: tree, Text: true, Plus: true}).Addr
	v.addr["gophers"] = gopherd.Start(s, gopherd.Options{Tree: tree, Text: true, TLS: certificate}).Addr
	v.addr["cso"] = csod.Start(s, csod.Options{Replies: map[string]string{
		"pear": "-200:1:    name: Alice Pear\r\n-200:1:   email: alice@example.org\r\n"}}).Addr
	v.addr["finger"] = queryd.Start(s, queryd.Options{Scheme: "finger", Replies: map[string]string{
		"alice": "Login: alice\r\nPlan:\r\nEat a pear.\r\n"}}).Addr
	v.addr["whois"] = queryd.Start(s, queryd.Options{Scheme: "whois", Reply: func(query string) string {
		return "domain: " + query + "\r\nholder: Alice\r\n"
	}}).Addr
	v.addr["dict"] = dictd.Start(s, dictd.Options{Words: map[string]string{
		"pear": "A sweet fruit, narrow at the stalk.\r\n"}}).Addr
	v.addr["telnet"] = telnetd.Start(s, telnetd.Options{}).Addr
	v.addr["nntp"] = nntpd.Start(s, nntpd.Options{Groups: []nntpd.Group{{Name: "example.fruit", Description: "All about fruit",
		Articles: []nntpd.Article{{ID: "<pear@example.org>", Text: message}}}}}).Addr
	v.wais = waisd.Start(s, waisd.Options{Tree: tree})
	v.addr["wais"] = v.wais.Addr
	v.addr["prospero"] = s.prospero("")

	v.mailbox = s.folder("mailbox", postmark+message+"\n"+postmark+letter+"\n")
	return v
}

func (s *stage) prospero(listen string) string {
	return prosperod.Start(s, prosperod.Options{Tree: tree, Listen: listen}).Addr
}

// folder creates a file in a new folder and returns its path.
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

// client returns a client with the news and mail servers configured.
func (v *servers) client() *fetch.Client {
	return fetch.New(&fetch.Options{TLS: &tls.Config{RootCAs: v.roots}}, v.drivers())
}

func (v *servers) drivers() fetch.Loader {
	return protocols.With(protocols.Config{
		NNTP: &nntp.Options{Server: v.addr["nntp"]},
		Mid:  &mid.Options{Mailboxes: []string{v.mailbox}},
	})
}

// visitURLs returns the URLs to visit.
func (v *servers) visitURLs() []uri.URI {
	at := func(scheme, rest string) string { return scheme + "://" + v.addr[scheme] + rest }
	var urls []uri.URI
	for _, s := range []string{
		"data:,A%20pear%20is%20a%20fruit.",
		"file://" + filepath.ToSlash(v.mailbox),
		at("http", "/fruit/pear.txt"), at("https", "/large.bin"),
		at("ftp", "/fruit/"), at("ftp", "/fruit/pear.txt;type=i"), at("ftps", "/large.bin"),
		at("gopher", "/1/fruit"), at("gopher", "/0/fruit/pear.txt"), at("gophers", "/9/large.bin"),
		at("gemini", "/fruit/"), at("gemini", "/large.bin"), at("spartan", "/fruit/"), at("nex", "/fruit/"), at("tftp", "/large.bin"),
		at("nfs", "/fruit/"), at("nfs", "/large.bin"),
		at("cso", "/pear"), at("finger", "/alice"), at("whois", "/example.org"), at("dict", "/d:pear"), at("telnet", "/"),
		"news:*", "news:example.fruit", "news:pear@example.org", at("nntp", "/example.fruit/1"),
		at("wais", "/"), at("wais", "/fruit?pear"), v.wais.Document("fruit", "pear.txt"),
		at("prospero", "//fruit"), at("prospero", "//large.bin"),
		"imaps://alice:secret@" + v.addr["imaps"] + "/INBOX", "imaps://alice:secret@" + v.addr["imaps"] + "/INBOX/;UID=1",
		"pops://alice:secret@" + v.addr["pops"], "pops://alice:secret@" + v.addr["pops"] + "/1",
		"mid:pear@example.org", "cid:picture@example.org",
	} {
		urls = append(urls, uri.MustParse(s))
	}
	return urls
}

// firstPort is the first port for -serve, unless -port sets another.
const firstPort = 18080

var ports = []string{"http", "ftp", "gopher", "finger", "whois", "dict", "telnet", "nntp", "wais", "cso"}

// forwardPorts forwards fixed ports, starting at port, to the servers until ctx ends.
func (v *servers) forwardPorts(ctx context.Context, out io.Writer, port int) error {
	s := &stage{}
	defer s.tearDown()
	var text strings.Builder
	for i, scheme := range ports {
		addr := "127.0.0.1:" + strconv.Itoa(port+i)
		if err := v.publish(s, scheme, addr); err != nil {
			return fmt.Errorf("%w; use -port to set another first port", err)
		}
		fmt.Fprintf(&text, "%s://%s/\n", scheme, addr)
	}
	fmt.Fprintf(&text, "prospero://%s/\n", s.prospero("127.0.0.1:"+strconv.Itoa(port+len(ports))))
	fmt.Fprintf(out, "%sserving; stop with kill %d\n", &text, os.Getpid())
	<-ctx.Done()
	return nil
}

// publish makes the server of a scheme available at addr.
func (v *servers) publish(s *stage, scheme, addr string) error {
	if scheme == "gopher" { // its menus contain the port
		g, err := gopherd.New(gopherd.Options{Tree: tree, Text: true, Plus: true, Listen: addr})
		if err == nil {
			s.Cleanup(func() { g.Close() })
		}
		return err
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	s.Cleanup(func() { l.Close() })
	go forward(l, v.addr[scheme])
	return nil
}

// forward relays each connection to l to addr.
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
