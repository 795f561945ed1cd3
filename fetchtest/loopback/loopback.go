// Package loopback starts the servers of fetchtest/servers together, with the same files, for
// programs that show or test clients.
package loopback

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing/fstest"
	"time"

	"github.com/urlget/urlget/fetchtest/servers"
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
	"github.com/urlget/urlget/fetchtest/servers/rsyncd"
	"github.com/urlget/urlget/fetchtest/servers/spartand"
	"github.com/urlget/urlget/fetchtest/servers/telnetd"
	"github.com/urlget/urlget/fetchtest/servers/tftpd"
	"github.com/urlget/urlget/fetchtest/servers/waisd"
)

var day = time.Date(1994, time.December, 20, 12, 0, 0, 0, time.UTC)

// Tree holds the files of the servers.
var Tree = fstest.MapFS{
	"fruit/pear.txt":  {Data: []byte("A pear is a fruit.\n"), ModTime: day},
	"fruit/apple.txt": {Data: []byte("An apple a day keeps the doctor away.\n"), ModTime: day},
	"large.bin":       {Data: make([]byte, 256<<10), ModTime: day},
}

// Message is the article of the newsgroup and the message of the mailboxes.
const Message = `From: Alice <alice@example.org>
To: bob@example.org
Newsgroups: example.fruit
Subject: Pears
Date: Tue, 20 Dec 1994 12:00:00 +0000
Message-ID: <pear@example.org>

A pear is a fruit.
`

// A Server is a running server.
type Server struct {
	Scheme string
	Addr   string
	// Path is the path of a document, with its slash.
	Path string
	// Datagrams reports that the server uses UDP.
	Datagrams bool
	// Arm makes replies fail. It is nil if the server cannot. It panics if the protocol does not
	// support the fault.
	Arm func(servers.Failure)
	// Can reports whether the protocol supports the fault. It is nil if Arm is.
	Can func(servers.Fault) bool

	close func()
}

// Options configure the servers. The zero value starts all on free ports.
type Options struct {
	// Schemes selects the servers. Nil means all.
	Schemes []string
	// Listen returns the address to listen on, and the one in URLs and menus. "" means a free port
	// on 127.0.0.1, and the address to listen on. Nil means "" for all.
	Listen func(scheme string) (listen, public string)
}

// Servers are running servers.
type Servers struct {
	All   []Server
	WAIS  *waisd.Server // nil if not selected
	Roots *x509.CertPool
	// PEM is the certificate of the servers with TLS.
	PEM []byte

	serverTLS *tls.Config
}

// Schemes returns the schemes of the servers, in order.
func Schemes() (names []string) {
	for _, s := range starters {
		names = append(names, s.scheme)
	}
	return names
}

// New starts the servers. The caller must call Close.
func New(opts Options) (*Servers, error) {
	serverTLS, clientTLS := servers.Certificate()
	v := &Servers{Roots: clientTLS.RootCAs, serverTLS: serverTLS,
		PEM: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE",
			Bytes: serverTLS.Certificates[0].Certificate[0]})}
	for _, name := range opts.Schemes {
		if !slices.Contains(Schemes(), name) {
			return nil, fmt.Errorf("no server for %q", name)
		}
	}
	for _, s := range starters {
		if opts.Schemes != nil && !slices.Contains(opts.Schemes, s.scheme) {
			continue
		}
		listen, public := "", ""
		if opts.Listen != nil {
			listen, public = opts.Listen(s.scheme)
		}
		running, err := s.start(v, listen, public)
		if err != nil {
			v.Close()
			return nil, err
		}
		running.Scheme, running.Path, running.Datagrams = s.scheme, s.path, s.datagrams
		v.All = append(v.All, running)
	}
	return v, nil
}

// Addr returns the address of the server for a scheme, or "".
func (v *Servers) Addr(scheme string) string {
	for _, s := range v.All {
		if s.Scheme == scheme {
			return s.Addr
		}
	}
	return ""
}

// Close stops the servers.
func (v *Servers) Close() {
	for _, s := range v.All {
		s.close()
	}
}

// A starter starts the server for a scheme.
type starter struct {
	scheme, path string
	datagrams    bool
	start        func(v *Servers, listen, public string) (Server, error)
}

// running returns a started server.
func running[S interface {
	Close()
	Arm(servers.Failure)
	Can(servers.Fault) bool
}](s S, addr func(S) string, err error) (Server, error) {
	if err != nil {
		return Server{}, err
	}
	return Server{Addr: addr(s), Arm: s.Arm, Can: s.Can, close: s.Close}, nil
}

// base is running for a server that is not a type of its own.
func base(s *servers.Server, err error) (Server, error) {
	return running(s, func(s *servers.Server) string { return s.Addr }, err)
}

// web starts an HTTP server.
func web(listen string, withTLS *tls.Config) (Server, error) {
	s := httptest.NewUnstartedServer(http.FileServerFS(Tree))
	if listen != "" {
		l, err := net.Listen("tcp", listen)
		if err != nil {
			return Server{}, errors.Join(err, s.Listener.Close())
		}
		s.Listener.Close()
		s.Listener = l
	}
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // failed handshakes are part of trying a client
	if withTLS != nil {
		s.TLS = withTLS.Clone()
		s.EnableHTTP2 = true
		s.StartTLS()
	} else {
		s.Start()
	}
	return Server{Addr: s.Listener.Addr().String(), close: s.Close}, nil
}

var starters = []starter{
	{scheme: "http", path: "/large.bin", start: func(_ *Servers, listen, _ string) (Server, error) {
		return web(listen, nil)
	}},
	{scheme: "ftp", path: "/large.bin", start: func(_ *Servers, listen, _ string) (Server, error) {
		s, err := ftpd.New(ftpd.Options{Tree: Tree, Listen: listen})
		return running(s, func(s *ftpd.Server) string { return s.Addr }, err)
	}},
	{scheme: "gopher", path: "/9/large.bin", start: func(_ *Servers, listen, public string) (Server, error) {
		s, err := gopherd.New(gopherd.Options{Tree: Tree, Text: true, Plus: true, Listen: listen,
			Public: public})
		return running(s, func(s *gopherd.Server) string { return s.Addr }, err)
	}},
	{scheme: "finger", path: "/alice", start: func(_ *Servers, listen, _ string) (Server, error) {
		return base(queryd.New(queryd.Options{Scheme: "finger", Listen: listen, Replies: map[string]string{
			"alice": "Login: alice\r\nPlan:\r\nEat a pear.\r\n"}}))
	}},
	{scheme: "whois", path: "/example.org", start: func(_ *Servers, listen, _ string) (Server, error) {
		return base(queryd.New(queryd.Options{Scheme: "whois", Listen: listen,
			Reply: func(query string) string {
				return "domain: " + query + "\r\nholder: Alice\r\n"
			}}))
	}},
	{scheme: "dict", path: "/d:pear", start: func(_ *Servers, listen, _ string) (Server, error) {
		return base(dictd.New(dictd.Options{Listen: listen, Words: map[string]string{
			"pear": "A sweet fruit, narrow at the stalk.\r\n"}}))
	}},
	{scheme: "telnet", path: "/", start: func(_ *Servers, listen, _ string) (Server, error) {
		return base(telnetd.New(telnetd.Options{Listen: listen}))
	}},
	{scheme: "nntp", path: "/example.fruit/1", start: func(_ *Servers, listen, _ string) (Server, error) {
		return base(nntpd.New(nntpd.Options{Listen: listen,
			Groups: []nntpd.Group{{Name: "example.fruit", Description: "All about fruit",
				Articles: []nntpd.Article{{ID: "<pear@example.org>", Text: Message}}}}}))
	}},
	{scheme: "wais", path: "/fruit?pear", start: func(v *Servers, listen, public string) (Server, error) {
		s, err := waisd.New(waisd.Options{Tree: Tree, Listen: listen, Public: public})
		v.WAIS = s
		return running(s, func(s *waisd.Server) string { return s.Addr }, err)
	}},
	{scheme: "cso", path: "/pear", start: func(_ *Servers, listen, _ string) (Server, error) {
		return base(csod.New(csod.Options{Listen: listen, Replies: map[string]string{
			"pear": "-200:1:    name: Alice Pear\r\n-200:1:   email: alice@example.org\r\n"}}))
	}},
	{scheme: "prospero", path: "//large.bin", datagrams: true,
		start: func(_ *Servers, listen, public string) (Server, error) {
			s, err := prosperod.New(prosperod.Options{Tree: Tree, Listen: listen, Public: public})
			return running(s, func(s *prosperod.Server) string { return s.Addr }, err)
		}},
	{scheme: "https", path: "/large.bin", start: func(v *Servers, listen, _ string) (Server, error) {
		return web(listen, v.serverTLS)
	}},
	{scheme: "ftps", path: "/large.bin", start: func(v *Servers, listen, _ string) (Server, error) {
		s, err := ftpd.New(ftpd.Options{Tree: Tree, TLS: v.serverTLS, Implicit: true, Listen: listen})
		return running(s, func(s *ftpd.Server) string { return s.Addr }, err)
	}},
	{scheme: "gophers", path: "/9/large.bin", start: func(v *Servers, listen, public string) (Server, error) {
		s, err := gopherd.New(gopherd.Options{Tree: Tree, Text: true, TLS: v.serverTLS, Listen: listen,
			Public: public})
		return running(s, func(s *gopherd.Server) string { return s.Addr }, err)
	}},
	{scheme: "gemini", path: "/large.bin", start: func(v *Servers, listen, _ string) (Server, error) {
		return base(geminid.New(geminid.Options{Tree: Tree, TLS: v.serverTLS, Listen: listen}))
	}},
	{scheme: "spartan", path: "/large.bin", start: func(_ *Servers, listen, _ string) (Server, error) {
		return base(spartand.New(spartand.Options{Tree: Tree, Listen: listen}))
	}},
	{scheme: "nex", path: "/large.bin", start: func(_ *Servers, listen, _ string) (Server, error) {
		return base(nexd.New(nexd.Options{Tree: Tree, Listen: listen}))
	}},
	{scheme: "tftp", path: "/large.bin", datagrams: true,
		start: func(_ *Servers, listen, _ string) (Server, error) {
			s, err := tftpd.New(tftpd.Options{Tree: Tree, Listen: listen})
			return running(s, func(s *tftpd.Server) string { return s.Addr }, err)
		}},
	{scheme: "nfs", path: "/large.bin", start: func(_ *Servers, listen, _ string) (Server, error) {
		s, err := nfsd.New(nfsd.Options{Tree: Tree, Listen: listen})
		return running(s, func(s *nfsd.Server) string { return s.Addr }, err)
	}},
	{scheme: "rsync", path: "/files/large.bin", start: func(_ *Servers, listen, _ string) (Server, error) {
		s, err := rsyncd.New(rsyncd.Options{Tree: Tree, Listen: listen})
		return running(s, func(s *rsyncd.Server) string { return s.Addr }, err)
	}},
	{scheme: "imaps", path: "/INBOX/;UID=1", start: func(v *Servers, listen, _ string) (Server, error) {
		s, err := imapd.New(imapd.Options{TLS: v.serverTLS, Implicit: true, Listen: listen,
			Mailboxes: map[string][]imapd.Message{"INBOX": {{Text: []byte(Message)}}}})
		return running(s, func(s *imapd.Server) string { return s.Addr }, err)
	}},
	{scheme: "pops", path: "/1", start: func(v *Servers, listen, _ string) (Server, error) {
		s, err := popd.New(popd.Options{TLS: v.serverTLS, Implicit: true, Listen: listen,
			Messages: []popd.Message{{UID: "1", Text: Message}}})
		return running(s, func(s *popd.Server) string { return s.Addr }, err)
	}},
}
