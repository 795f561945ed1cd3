package wais

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/codec/apdu"
)

// maxRecord is the proposed record size, the maximum of freeWAIS, in bytes.
const maxRecord = 100_000

type session struct {
	conn  *fetch.Conn
	times fetch.Timeouts
	size  int64   // the negotiated record size, in bytes
	base  uri.URI // has the host and port of the URLs of hits
	log   *slog.Logger
}

func (d *opener) dial(ctx context.Context, w uri.WAIS) (*session, error) {
	base, err := uri.WAIS{Host: w.Host, Port: w.Port, Database: w.Database}.URI()
	if err != nil {
		return nil, err
	}
	conn, err := d.env.Dial(ctx, "tcp", base.HostPort(port))
	if err != nil {
		return nil, err
	}
	s := &session{conn: conn, times: d.env.Timeouts(), base: base, size: maxRecord, log: d.env.Logger()}
	conn.SetIdle(s.times.Reply)
	conn.Bind(ctx)
	if err := s.init(d.env.Identity().UserAgent); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// init negotiates the record size. Servers do not require it.
func (s *session) init(id string) error {
	defer s.conn.ReplyTimeout(s.times.Reply)()
	s.trace(true, "INIT search, record size %d bytes", maxRecord)
	reply, err := s.exchange(apdu.Init{Size: maxRecord, ID: id}.Encode())
	if err != nil {
		return err
	}
	m, err := apdu.DecodeInitResponse(reply)
	if err != nil {
		return violation(err)
	}
	s.trace(false, "INIT accepted=%t, record size %d bytes, %s", m.Accepted, m.Size, m.ID)
	if !m.Accepted {
		return fetch.ErrRefused.Errorf("the server rejected the session")
	}
	if m.Size > 0 {
		s.size = int64(m.Size)
	}
	return nil
}

// search sends a search and reads the response, which is a single packet and may be large.
func (s *session) search(m apdu.Search) (apdu.Response, error) {
	defer s.conn.Piece()()
	s.trace(true, "%s", describeSearch(m))
	reply, err := s.exchange(m.Encode())
	if err != nil {
		return apdu.Response{}, err
	}
	found, err := apdu.DecodeResponse(reply)
	if err != nil {
		return found, violation(err)
	}
	s.trace(false, "%s", describeResponse(found))
	return found, nil
}

func (s *session) exchange(packet []byte) ([]byte, error) {
	if err := apdu.WritePacket(s.conn, packet); err != nil {
		return nil, err
	}
	wire.QuickAck(s.conn)
	reply, err := apdu.ReadPacket(s.conn)
	if errors.Is(err, apdu.ErrEmpty) {
		s.trace(false, "empty packet")
	}
	if errors.Is(err, apdu.ErrMalformed) || errors.Is(err, apdu.ErrEmpty) {
		return nil, violation(err)
	}
	return reply, err
}

func (s *session) trace(sent bool, format string, args ...any) {
	if trace := s.conn.Line(); trace != nil {
		trace(sent, fetch.Printable(wire.Text(fmt.Sprintf(format, args...))))
	}
}

func (s *session) Close() error { return s.conn.Close() }

func violation(err error) error { return &fetch.Error{Code: fetch.ErrProtocol, Err: err} }

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

// notFound is like refusal, but returns ErrNotFound with the given text if there is no diagnostic.
func notFound(found apdu.Response, text string) error {
	if err := refusal(found); err != nil {
		return err
	}
	return &fetch.Error{Code: fetch.ErrNotFound, Err: errors.New(text)}
}
