package ldap

import (
	"bufio"
	"errors"
	"fmt"
	"strings"
	"testing"

	ber "github.com/go-asn1-ber/asn1-ber"
	"github.com/go-ldap/ldap/v3"

	"github.com/urlget/urlget/fetchtest/servers"
)

// A search holds the fields of a SearchRequest that the test server uses.
type search struct {
	dn         string
	scope      int64
	attributes []string
	paged      bool
	size       int64 // of a page
	cookie     string
	// next is sent as the cookie of a page, if the finder sets it.
	next *string
}

// A finder sends the responses to a search. Sending nil closes the connection.
type finder func(q search, send func(op *ber.Packet))

var serverTLS, clientTLS = servers.Certificate()

// start starts a server that supports StartTLS or, if secure is set, implicit TLS. The password of
// every user is "secret".
func start(t testing.TB, secure bool, find finder) *servers.Server {
	t.Helper()
	cfg := servers.Config{Scheme: "ldap"}
	if secure {
		cfg.Scheme, cfg.TLS = "ldaps", serverTLS
	}
	return servers.Start(t, cfg, func(c *servers.Conn) {
		for handle(c, find) == nil {
		}
	})
}

// Tags of requests (RFC 4511, section 4).
const (
	tagBindRequest     = 0x60
	tagSearchRequest   = 0x63
	tagExtendedRequest = 0x77
)

var errClosed = errors.New("connection closed")

// handle handles one request.
func handle(c *servers.Conn, find finder) error {
	content, err := readMessage(bufio.NewReaderSize(c, 16), nil) // the client does not pipeline requests
	if err != nil {
		return err
	}
	id, op, controls, err := parseMessage(content)
	if err != nil {
		return err
	}
	d := &decoder{rest: op.content}
	switch op.tag {
	case tagBindRequest:
		d.integer(tagInteger)
		line := fmt.Sprintf("bind %s %s", d.expect(tagBytes), d.next().content)
		c.Note(line)
		code := int64(ldap.LDAPResultInvalidCredentials)
		if strings.HasSuffix(line, " secret") {
			code = 0
		}
		_, err = c.Write(envelope(id, ldapResult(ldap.ApplicationBindResponse, code, "", "")))
	case tagSearchRequest:
		q := search{dn: string(d.expect(tagBytes)), scope: d.integer(tagEnumerated)}
		for range 5 { // derefAliases, sizeLimit, timeLimit, typesOnly, filter
			d.next()
		}
		list := &decoder{rest: d.expect(tagSequence)}
		for list.more() {
			q.attributes = append(q.attributes, string(list.expect(tagBytes)))
		}
		q.paged, q.next = controls.tag == tagControls, new(string)
		if q.size, q.cookie, err = parsePaging(controls); err != nil {
			return err
		}
		c.Note(strings.TrimSuffix(fmt.Sprintf("search %s %d %v page %s", q.dn, q.scope, q.attributes, q.cookie), " page "))
		err = sendResults(c, id, q, find)
	case tagExtendedRequest:
		c.Note("extended " + string(d.next().content))
		c.Write(envelope(id, ldapResult(ldap.ApplicationExtendedResponse, 0, "", "")))
		err = c.StartTLS(serverTLS)
	}
	return err
}

// sendResults responds to a search. Faults apply to all operations except the last one.
func sendResults(c *servers.Conn, id int64, q search, find finder) error {
	var content, last []byte
	closed := false
	var done *ber.Packet
	find(q, func(op *ber.Packet) {
		if op == nil {
			closed = true
		}
		if !closed {
			content, last, done = append(content, last...), envelope(id, op), op
		}
	})
	if *q.next != "" {
		last = envelope(id, done, pageControl(*q.next))
	}
	if closed {
		c.Write(append(content, last...))
		return errClosed
	}
	if fault, err := c.Send(content); err != nil || fault == servers.Noise {
		return err
	}
	_, err := c.Write(last)
	return err
}

// pageControl returns the controls of a response with the cookie of the next page (RFC 2696).
func pageControl(cookie string) *ber.Packet {
	value := ber.Encode(ber.ClassUniversal, ber.TypeConstructed, ber.TagSequence, nil, "")
	value.AppendChild(ber.NewInteger(ber.ClassUniversal, ber.TypePrimitive, ber.TagInteger, int64(0), ""))
	value.AppendChild(octets(cookie))
	control := ber.Encode(ber.ClassUniversal, ber.TypeConstructed, ber.TagSequence, nil, "")
	control.AppendChild(octets(ldap.ControlTypePaging))
	control.AppendChild(octets(string(value.Bytes())))
	controls := ber.Encode(ber.ClassContext, ber.TypeConstructed, 0, nil, "")
	controls.AppendChild(control)
	return controls
}

func envelope(id int64, ops ...*ber.Packet) []byte {
	p := ber.Encode(ber.ClassUniversal, ber.TypeConstructed, ber.TagSequence, nil, "")
	p.AppendChild(ber.NewInteger(ber.ClassUniversal, ber.TypePrimitive, ber.TagInteger, id, ""))
	for _, op := range ops {
		p.AppendChild(op)
	}
	return p.Bytes()
}

// ldapResult returns an LDAPResult with the given tag.
func ldapResult(tag ber.Tag, code int64, matchedDN, text string, referrals ...string) *ber.Packet {
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

func searchDone(code int64) *ber.Packet {
	return ldapResult(ldap.ApplicationSearchResultDone, code, "", "")
}

// searchEntry returns a SearchResultEntry with the given pairs of attributes and values.
func searchEntry(dn string, pairs ...string) *ber.Packet {
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

func searchReference(u string) *ber.Packet {
	p := ber.Encode(ber.ClassApplication, ber.TypeConstructed, ldap.ApplicationSearchResultReference, nil, "")
	p.AppendChild(octets(u))
	return p
}

func octets(s string) *ber.Packet {
	return ber.NewString(ber.ClassUniversal, ber.TypePrimitive, ber.TagOctetString, s, "")
}
