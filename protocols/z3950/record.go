package z3950

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/internal/codec/marc"
	codec "github.com/urlget/urlget/internal/codec/z3950"
)

const (
	// maxStructured limits records that are ASN.1 values, in bytes.
	maxStructured = 1 << 20
	// maxDrained is the size of the largest record that is read and dropped to keep the session, in bytes.
	maxDrained = 64 << 10
)

func (d *opener) openRecord(ctx context.Context, req *fetch.Request, t *target) (*fetch.Response, error) {
	c, err := t.choose(req, "F", "")
	if err != nil {
		return nil, err
	}
	var p *codec.PresentResponse
	l, err := d.with(ctx, t, func(l *lease) error {
		if err := l.find(t); err != nil {
			return err
		}
		position, err := t.position(l.count)
		if err != nil {
			return err
		}
		p, _, err = l.presentAny(position, 1, c)
		return err
	})
	if err != nil {
		return nil, explainSyntax(err, req)
	}
	rec := p.Record
	media, suffix := mediaType(rec.Syntax)
	text := c.marcAsText && media == "application/marc"
	if text {
		media, suffix = "text/plain", ".txt"
	}
	if c.required && !text && !matchesSyntax(rec.Syntax, req.View) {
		l.Discard()
		return nil, &fetch.Error{Code: fetch.ErrNotFound,
			Err:  fmt.Errorf("the record has no view %q", req.View),
			Hint: "the server has the view " + syntaxName(rec.Syntax) + " (" + media + ")"}
	}
	resp := &fetch.Response{URL: t.url, Body: fetch.NoBody,
		Meta: fetch.Meta{ContentType: media, Size: rec.Size(), Name: t.fileName(suffix),
			Header: textproto.MIMEHeader{"Record-Syntax": {fetch.Printable(syntaxName(rec.Syntax))}}}}
	if rec.Database != "" {
		resp.Header.Set("Database", fetch.Printable(wire.Text(rec.Database)))
	}
	b := &body{l: l, p: p, r: rec.Content(maxStructured)}
	if text {
		resp.Size = -1
		fields, err := b.asText()
		if err != nil {
			l.Discard()
			return nil, err
		}
		b.r, b.buffered = fields, true
	}
	if req.Op == fetch.OpStat {
		if err := b.drain(rec.Size()); err != nil {
			return nil, err
		}
		return resp, nil
	}
	resp.Body = b
	return resp, nil
}

func (t *target) position(count int64) (int64, error) {
	switch {
	case count == 0:
		return 0, fetch.ErrNotFound.Errorf("no matching record")
	case t.retrieval && count > 1: // RFC 2056, section 4
		return 0, &fetch.Error{Code: fetch.ErrNotFound, Err: fmt.Errorf("%d records match, not one", count),
			Hint: "use z39.50s to list the matching records"}
	case t.retrieval:
		return 1, nil
	case t.item > count:
		return 0, fetch.ErrNotFound.Errorf("no record %d: %d records match", t.item, count)
	}
	return t.item, nil
}

func explainSyntax(err error, req *fetch.Request) error {
	if e := withExplanation(err, "the record has no view %q", req.View); e != nil &&
		req.View != "" && isSyntaxError(err) {
		return e
	}
	return err
}

func (t *target) fileName(suffix string) string {
	name := t.query
	if !t.retrieval {
		name = fmt.Sprintf("%s-%d", t.databases[0], t.item)
	}
	if name = fetch.SafeName(name); name == "" || strings.HasSuffix(name, suffix) {
		return name
	}
	return fetch.SafeName(name + suffix)
}

type body struct {
	l        *lease
	p        *codec.PresentResponse
	r        io.Reader
	buffered bool // r is text made from a record that has been read completely
	err      error
	closed   atomic.Bool // Close has been called, possibly during a Read
	once     sync.Once
}

// Read implements io.Reader. It returns io.EOF after the message that contains the record.
func (b *body) Read(p []byte) (int, error) {
	switch {
	case b.err != nil:
		return 0, b.err
	case b.closed.Load():
		return 0, net.ErrClosed
	}
	n, err := b.r.Read(p)
	if err != nil {
		if err == io.EOF && !b.buffered {
			err = b.finish()
		}
		b.err = err
		if err != io.EOF {
			b.err = b.l.markBroken(contentError(err))
		}
		b.once.Do(b.l.Put)
	}
	return n, b.err
}

// drain reads a record of the given size, if it is small, so that the session can be used again.
func (b *body) drain(size int64) error {
	if size < 0 || size > maxDrained {
		return b.Close()
	}
	_, err := io.Copy(io.Discard, b)
	return err
}

func (b *body) finish() error {
	defer b.l.conn.Piece()()
	if b.p.Next() {
		return fetch.ErrProtocol.Errorf("received more records than requested")
	}
	if err := b.l.r.Err(); err != nil {
		return wire.Unexpected(err)
	}
	return io.EOF
}

func (b *body) asText() (io.Reader, error) {
	defer b.l.conn.Piece()()
	raw, err := io.ReadAll(io.LimitReader(b.r, marc.MaxRecord+1))
	if err == nil && len(raw) > marc.MaxRecord {
		return nil, fetch.ErrProtocol.Errorf("MARC record exceeds %d bytes", marc.MaxRecord)
	}
	if err == nil {
		err = b.finish()
	}
	if err != io.EOF {
		return nil, contentError(err)
	}
	rec, err := marc.Parse(raw)
	if err != nil {
		return nil, fetch.ErrProtocol.Errorf("%w", err)
	}
	return bytes.NewReader([]byte(rec.Text(readable))), nil
}

func readable(s string) string { return fetch.Printable(wire.Text(s)) }

func (b *body) Close() error {
	b.closed.Store(true)
	b.once.Do(func() {
		if b.buffered {
			b.l.Put()
		} else {
			b.l.Discard()
		}
	})
	return nil
}
