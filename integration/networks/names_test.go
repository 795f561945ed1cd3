//go:build integration && linux

package networks

import (
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// nameServer is the address of the tests' name server.
const nameServer = "fd97:53::53"

// names is a name server. Unknown names do not exist.
type names struct {
	mu      sync.Mutex
	answers map[string]answer
	queries map[string]int
}

// An answer holds the DNS records of a name.
type answer struct {
	addrs []string
	later []string // addresses from the second query for the same type on; nil means the same
	alias string
	code  dnsmessage.RCode
	// silent sends no reply. forged sends a reply with a wrong ID.
	silent, forged bool
	// cut truncates replies over UDP, so that the client must use TCP.
	cut bool
}

// serveNames starts the server, which stops when the test ends.
func serveNames(t *testing.T, answers map[string]answer) *names {
	t.Helper()
	run(t, "ip addr add "+nameServer+"/128 dev lo nodad")
	s := &names{answers: answers, queries: make(map[string]int)}
	packets, err := net.ListenPacket("udp", net.JoinHostPort(nameServer, "53"))
	if err != nil {
		t.Fatal(err)
	}
	streams, err := net.Listen("tcp", net.JoinHostPort(nameServer, "53"))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		buf := make([]byte, 4096)
		for {
			n, from, err := packets.ReadFrom(buf)
			if err != nil {
				return
			}
			if reply := s.reply(buf[:n], false); reply != nil {
				packets.WriteTo(reply, from)
			}
		}
	})
	wg.Go(func() {
		for {
			c, err := streams.Accept()
			if err != nil {
				return
			}
			size := make([]byte, 2)
			if _, err := io.ReadFull(c, size); err == nil {
				query := make([]byte, binary.BigEndian.Uint16(size))
				if _, err := io.ReadFull(c, query); err == nil {
					if reply := s.reply(query, true); reply != nil {
						c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...))
					}
				}
			}
			c.Close()
		}
	})
	t.Cleanup(func() {
		packets.Close()
		streams.Close()
		wg.Wait()
	})
	return s
}

// reply returns the reply to a query, or nil for none.
func (s *names) reply(query []byte, whole bool) []byte {
	var p dnsmessage.Parser
	head, err := p.Start(query)
	if err != nil {
		return nil
	}
	q, err := p.Question()
	if err != nil {
		return nil
	}
	name := strings.ToLower(strings.TrimSuffix(q.Name.String(), "."))
	s.mu.Lock()
	a, known := s.answers[name]
	if !known {
		a, known = s.answers["*"]
	}
	s.queries[name+q.Type.String()]++
	again := s.queries[name+q.Type.String()] > 1
	s.mu.Unlock()
	if a.silent {
		return nil
	}
	reply := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: head.ID, Response: true, Authoritative: true, RecursionAvailable: true, RCode: a.code},
		Questions: []dnsmessage.Question{q},
	}
	if !known {
		reply.RCode = dnsmessage.RCodeNameError
	}
	if a.forged {
		reply.ID++
	}
	if a.alias != "" {
		reply.Answers = append(reply.Answers, dnsmessage.Resource{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 1},
			Body:   &dnsmessage.CNAMEResource{CNAME: dnsmessage.MustNewName(a.alias + ".")},
		})
	}
	addrs := a.addrs
	if again && a.later != nil {
		addrs = a.later
	}
	for _, text := range addrs {
		addr := netip.MustParseAddr(text)
		var body dnsmessage.ResourceBody
		switch {
		case addr.Is4() && q.Type == dnsmessage.TypeA:
			body = &dnsmessage.AResource{A: addr.As4()}
		case addr.Is6() && q.Type == dnsmessage.TypeAAAA:
			body = &dnsmessage.AAAAResource{AAAA: addr.As16()}
		default:
			continue
		}
		reply.Answers = append(reply.Answers, dnsmessage.Resource{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 1}, Body: body,
		})
	}
	if a.cut && !whole {
		reply.Answers, reply.Truncated = nil, true
	}
	b, err := reply.Pack()
	if err != nil {
		return nil
	}
	return b
}
