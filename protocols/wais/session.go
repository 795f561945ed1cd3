package wais

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols/wais/apdu"
)

// maxRecord is the record size proposed at the start: what freeWAIS allows at
// most.
const maxRecord = 100_000

// A session is a connection to a server.
type session struct {
	conn    net.Conn
	release func() bool
	times   fetch.Timeouts
	size    int64 // largest record that both sides can do
	trace   func(sent bool, line string)
	base    uri.URI // of the URLs of hits: scheme, host and port
}

// dial connects and agrees on the size of records.
func (d *driver) dial(ctx context.Context, w uri.WAIS) (*session, error) {
	host := uri.WAIS{Host: w.Host, Port: w.Port, Database: w.Database}
	conn, err := d.env.Dial(ctx, "tcp", host.URI().HostPort(port))
	if err != nil {
		return nil, err
	}
	s := &session{conn: conn, times: d.env.Timeouts(), trace: d.env.Trace(), base: host.URI(), size: maxRecord}
	s.wait(s.times.Reply)
	s.release = fetch.Bind(ctx, conn)
	if err := s.init(d.env.Identity().UserAgent); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// wait sets how long the server may be silent.
func (s *session) wait(d time.Duration) {
	if c, ok := s.conn.(interface{ SetIdle(time.Duration) }); ok {
		c.SetIdle(d)
	}
}

// init begins the session. Servers serve without it too, but it tells the
// size of records.
func (s *session) init(id string) error {
	s.say(true, "INIT")
	answer, err := s.exchange(apdu.Init{Size: maxRecord, ID: id}.Encode())
	if err != nil {
		return err
	}
	m, err := apdu.DecodeInitResponse(answer)
	if err != nil {
		return violation(err)
	}
	s.say(false, fmt.Sprintf("INIT accepted=%t size=%d %s", m.Accepted, m.Size, m.ID))
	if !m.Accepted {
		return &fetch.Error{Code: fetch.ErrRefused, Err: errors.New("the server rejected the session")}
	}
	if m.Size > 0 {
		s.size = int64(m.Size)
	}
	return nil
}

// search sends a search of either kind.
func (s *session) search(m apdu.Search) (apdu.Response, error) {
	s.say(true, describeSearch(m))
	answer, err := s.exchange(m.Encode())
	if err != nil {
		return apdu.Response{}, err
	}
	found, err := apdu.DecodeResponse(answer)
	if err != nil {
		return found, violation(err)
	}
	s.say(false, fmt.Sprintf("%d hits, %d octets, diagnostics %v", len(found.Hits), len(found.Text), found.Diagnostics))
	return found, nil
}

func (s *session) exchange(packet []byte) ([]byte, error) {
	if err := apdu.WritePacket(s.conn, packet); err != nil {
		return nil, err
	}
	answer, err := apdu.ReadPacket(s.conn)
	if errors.Is(err, apdu.ErrMalformed) {
		return nil, violation(err)
	}
	return answer, err
}

func (s *session) say(sent bool, line string) {
	if s.trace != nil {
		s.trace(sent, line)
	}
}

// Close closes the connection.
func (s *session) Close() error {
	s.release()
	return s.conn.Close()
}

func violation(err error) error { return &fetch.Error{Code: fetch.ErrProtocol, Err: err} }

// refusal makes an error of the diagnostics in a response that has nothing
// else. It returns nil if there are none.
func refusal(found apdu.Response) error {
	if len(found.Diagnostics) == 0 {
		return nil
	}
	first := found.Diagnostics[0]
	e := &fetch.Error{Code: fetch.ErrServer, Reply: fetch.Reply{Text: first.String()}}
	switch text := strings.ToLower(first.Text); {
	case strings.Contains(text, "not available"), strings.Contains(text, "missing docid"),
		strings.Contains(text, "not found"):
		e.Code = fetch.ErrNotFound
	case first.Code == apdu.OutOfRange:
		e.Code = fetch.ErrRange
	case first.Code == "T2", strings.Contains(text, "syntax"):
		e.Code = fetch.ErrRefused
	}
	return e
}

// notFound is refusal, with a text of our own if the server said nothing.
func notFound(found apdu.Response, text string) error {
	if err := refusal(found); err != nil {
		return err
	}
	return &fetch.Error{Code: fetch.ErrNotFound, Err: errors.New(text)}
}
