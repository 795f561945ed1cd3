package ldap

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	ber "github.com/go-asn1-ber/asn1-ber"
	"github.com/go-ldap/ldap/v3"
)

// A search is what a server is asked.
type search struct {
	dn         string
	scope      int64
	attributes []string
}

// A server answers searches by a function, over TLS from the start or on
// request. The password of everybody is "secret".
type server struct {
	addr  string
	find  func(q search, send func(op *ber.Packet))
	certs *tls.Config // of the server
	roots *x509.CertPool
	quit  chan struct{}

	mu  sync.Mutex
	log []string
}

func start(t testing.TB, secure bool, find func(q search, send func(op *ber.Packet))) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	site := httptest.NewTLSServer(nil)
	s := &server{addr: l.Addr().String(), find: find, roots: x509.NewCertPool(), quit: make(chan struct{}),
		certs: &tls.Config{Certificates: site.TLS.Certificates}}
	s.roots.AddCert(site.Certificate())
	site.Close()
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				if secure {
					s.serve(tls.Server(c, s.certs))
				} else {
					s.serve(c)
				}
			})
		}
	})
	t.Cleanup(func() { l.Close(); close(s.quit); wg.Wait() })
	return s
}

func (s *server) Log() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.log...)
}

func (s *server) serve(c net.Conn) {
	r := bufio.NewReader(c)
	for {
		content, err := readMessage(r)
		if err != nil {
			return
		}
		id, op, err := parseMessage(content)
		if err != nil {
			return
		}
		d := &decoder{rest: op.content}
		line, broken := "", false
		send := func(op *ber.Packet) {
			if op == nil {
				broken = true
			}
			if !broken {
				c.Write(envelope(id, op))
			}
		}
		var q search
		switch op.tag {
		case 0x60:
			d.integer(tagInteger)
			line = fmt.Sprintf("bind %s %s", d.want(tagOctets), d.next().content)
		case 0x63:
			q = search{dn: string(d.want(tagOctets)), scope: d.integer(tagEnumerated)}
			for range 5 { // dereferencing, limits, types only, the filter
				d.next()
			}
			list := &decoder{rest: d.want(tagSequence)}
			for list.more() {
				q.attributes = append(q.attributes, string(list.want(tagOctets)))
			}
			line = fmt.Sprintf("search %s %d %v", q.dn, q.scope, q.attributes)
		case 0x77:
			line = "extended " + string(d.next().content)
		}
		s.mu.Lock()
		s.log = append(s.log, line)
		s.mu.Unlock()
		switch op.tag {
		case 0x60:
			code := int64(ldap.LDAPResultInvalidCredentials)
			if strings.HasSuffix(line, " secret") {
				code = 0
			}
			send(ending(ldap.ApplicationBindResponse, code, "", ""))
		case 0x63:
			s.find(q, send)
		case 0x77:
			send(ending(ldap.ApplicationExtendedResponse, 0, "", ""))
			c = tls.Server(c, s.certs)
			r = bufio.NewReader(c)
		}
		if broken {
			return
		}
	}
}

func envelope(id int64, op *ber.Packet) []byte {
	p := ber.Encode(ber.ClassUniversal, ber.TypeConstructed, ber.TagSequence, nil, "")
	p.AppendChild(ber.NewInteger(ber.ClassUniversal, ber.TypePrimitive, ber.TagInteger, id, ""))
	p.AppendChild(op)
	return p.Bytes()
}

// ending makes a result.
func ending(tag ber.Tag, code int64, matchedDN, text string, referrals ...string) *ber.Packet {
	p := ber.Encode(ber.ClassApplication, ber.TypeConstructed, tag, nil, "")
	p.AppendChild(ber.NewInteger(ber.ClassUniversal, ber.TypePrimitive, ber.TagEnumerated, code, ""))
	p.AppendChild(octets(matchedDN))
	p.AppendChild(octets(text))
	if referrals != nil {
		list := ber.Encode(ber.ClassContext, ber.TypeConstructed, 3, nil, "")
		for _, u := range referrals {
			list.AppendChild(octets(u))
		}
		p.AppendChild(list)
	}
	return p
}

func done(code int64) *ber.Packet { return ending(ldap.ApplicationSearchResultDone, code, "", "") }

// found makes an entry of its name and pairs of attributes and values.
func found(dn string, pairs ...string) *ber.Packet {
	p := ber.Encode(ber.ClassApplication, ber.TypeConstructed, ldap.ApplicationSearchResultEntry, nil, "")
	p.AppendChild(octets(dn))
	list := ber.Encode(ber.ClassUniversal, ber.TypeConstructed, ber.TagSequence, nil, "")
	for i := 0; i < len(pairs); i += 2 {
		item := ber.Encode(ber.ClassUniversal, ber.TypeConstructed, ber.TagSequence, nil, "")
		item.AppendChild(octets(pairs[i]))
		set := ber.Encode(ber.ClassUniversal, ber.TypeConstructed, ber.TagSet, nil, "")
		set.AppendChild(octets(pairs[i+1]))
		item.AppendChild(set)
		list.AppendChild(item)
	}
	p.AppendChild(list)
	return p
}

func reference(u string) *ber.Packet {
	p := ber.Encode(ber.ClassApplication, ber.TypeConstructed, ldap.ApplicationSearchResultReference, nil, "")
	p.AppendChild(octets(u))
	return p
}
