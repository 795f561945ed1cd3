package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/loopback"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/protocols"
	"github.com/urlget/urlget/protocols/mid"
	"github.com/urlget/urlget/protocols/nntp"
)

// tree holds the files of the servers.
var tree = loopback.Tree

// letter is a message with a picture.
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

// site holds the servers and the mailbox of the tour.
type site struct {
	*loopback.Servers
	mailbox string
}

// start starts a server for each protocol.
func (s *stage) start() *site {
	return &site{
		Servers: servers.Bind(s, loopback.New, loopback.Options{}),
		mailbox: s.folder("mailbox", postmark+loopback.Message+"\n"+postmark+letter+"\n"),
	}
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
func (v *site) client() *fetch.Client {
	return fetch.New(&fetch.Options{TLS: &tls.Config{RootCAs: v.Roots}}, v.drivers())
}

func (v *site) drivers() fetch.Loader {
	return protocols.With(protocols.Config{
		NNTP: &nntp.Options{Server: v.Addr("nntp")},
		Mid:  &mid.Options{Mailboxes: []string{v.mailbox}},
	})
}

// visitURLs returns the URLs to visit.
func (v *site) visitURLs() []uri.URI {
	at := func(scheme, rest string) string { return scheme + "://" + v.Addr(scheme) + rest }
	var urls []uri.URI
	for _, s := range []string{
		"data:,A%20pear%20is%20a%20fruit.",
		"file://" + filepath.ToSlash(v.mailbox),
		at("http", "/fruit/pear.txt"), at("https", "/large.bin"),
		at("ftp", "/fruit/"), at("ftp", "/fruit/pear.txt;type=i"), at("ftps", "/large.bin"),
		at("gopher", "/1/fruit"), at("gopher", "/0/fruit/pear.txt"), at("gophers", "/9/large.bin"),
		at("gemini", "/fruit/"), at("gemini", "/large.bin"), at("spartan", "/fruit/"), at("nex",
			"/fruit/"), at("tftp", "/large.bin"),
		at("nfs", "/fruit/"), at("nfs", "/large.bin"),
		at("rsync", "/"), at("rsync", "/files/fruit/"), at("rsync", "/files/large.bin"),
		at("cso", "/pear"), at("finger", "/alice"), at("whois", "/example.org"), at("dict",
			"/d:pear"), at("telnet", "/"),
		"news:*", "news:example.fruit", "news:pear@example.org", at("nntp", "/example.fruit/1"),
		at("wais", "/"), at("wais", "/fruit?pear"), v.WAIS.Document("fruit", "pear.txt"),
		at("prospero", "//fruit"), at("prospero", "//large.bin"),
		"imaps://alice:secret@" + v.Addr("imaps") + "/INBOX", "imaps://alice:secret@" + v.Addr("imaps") +
			"/INBOX/;UID=1",
		"pops://alice:secret@" + v.Addr("pops"), "pops://alice:secret@" + v.Addr("pops") + "/1",
		"mid:pear@example.org", "cid:picture@example.org",
	} {
		urls = append(urls, uri.MustParse(s))
	}
	return urls
}

// firstPort is the first port for -serve, unless -port sets another.
const firstPort = 18080

// ports returns the schemes that -serve serves, in the order of their ports.
func ports() []string { return loopback.Schemes()[:11] }

// serve runs servers on fixed ports, starting at port, until ctx ends.
func serve(ctx context.Context, out io.Writer, port int) error {
	next := port
	v, err := loopback.New(loopback.Options{Schemes: ports(), Listen: func(string) (string, string) {
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(next))
		next++
		return addr, ""
	}})
	if err != nil {
		return fmt.Errorf("%w; use -port to set another first port", err)
	}
	defer v.Close()
	var text strings.Builder
	for _, s := range v.All {
		fmt.Fprintf(&text, "%s://%s/\n", s.Scheme, s.Addr)
	}
	fmt.Fprintf(out, "%sserving; stop with kill %d\n", &text, os.Getpid())
	<-ctx.Done()
	return nil
}
