package imap

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetch/message"
	"github.com/urlget/urlget/protocols/internal/mailsession"
)

// Attributes requested before a retrieval and for a stat.
const (
	sizeItems = "(RFC822.SIZE INTERNALDATE)"
	statItems = "(RFC822.SIZE INTERNALDATE BODY.PEEK[HEADER])"
)

func (d *opener) openMessage(ctx context.Context, req *fetch.Request, t *target) (*fetch.Response, error) {
	resp := &fetch.Response{URL: t.url, Body: fetch.NoBody}
	b := &content{uid: t.uid, section: sectionName(t.section)}
	l, err := d.leaseSession(ctx, t, func(s *session) error {
		if err := s.examine(t, false); err != nil {
			return err
		}
		resp.Meta = fetch.Meta{ContentType: t.contentType(), Size: -1, Name: t.fileName()}
		resp.ETag = t.etag(s.validity)
		unchanged := req.IfChanged.ETag != "" && req.IfChanged.ETag == resp.ETag
		if unchanged && req.Range.IsZero() && req.Op == fetch.OpGet {
			return &fetch.Error{Code: fetch.ErrNotModified}
		}
		size, err := s.describe(t, req.Op == fetch.OpStat, &resp.Meta, &b.number)
		if err != nil || req.Op == fetch.OpStat {
			return err
		}
		b.empty = size == 0 && t.section == ""
		var rng fetch.Range
		if req.Range.Offset >= 0 && (unchanged || req.IfChanged.IsZero()) {
			rng = req.Range
		}
		if resp.Range, err = s.requestRange(t, rng, b); err != nil {
			return err
		}
		if resp.Size = b.remaining; !resp.Range.IsZero() && t.section == "" && t.partial.IsZero() {
			resp.Total = size
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if req.Op == fetch.OpStat {
		l.Put()
		return resp, nil
	}
	b.session = l.Conn
	resp.Body = mailsession.NewBody(l, nil, b)
	return resp, nil
}

// requestRange starts the retrieval of the range rng of the content that t names. It retrieves all
// content if rng is zero or the server does not support partial fetches. It returns the range that
// the server sends.
func (s *session) requestRange(t *target, rng fetch.Range, b *content) (fetch.Range, error) {
	part, err := subrange(t.partial, rng)
	if err != nil {
		return fetch.Range{}, err
	}
	if err := s.requestContent(t, part, b); err != nil {
		return fetch.Range{}, err
	}
	partial := !rng.IsZero()
	switch {
	case b.origin >= 0 && part.IsZero(): // it may be truncated (RFC 3501, section 7.4.2)
		return fetch.Range{}, s.Lines.Break(fmt.Errorf("%w: the server sent a part from byte %d, "+
			"all was requested", wire.ErrMalformed, b.origin))
	case b.origin >= 0:
	case part.Offset == 0 && b.remaining <= part.Length:
		b.origin = 0 // the complete content, or a prefix sent without an origin octet
	case partial && t.partial.IsZero():
		partial = false // the server ignored the partial fetch and sends everything
	}
	err = b.check(part, partial || !t.partial.IsZero())
	switch {
	case err != nil:
		return fetch.Range{}, s.Lines.Break(err)
	case !partial:
		return fetch.Range{}, nil
	case b.remaining == 0 && rng.Offset > 0:
		s.Lines.Break(io.ErrUnexpectedEOF) // skip the rest of the response
		return fetch.Range{}, &fetch.Error{Code: fetch.ErrRange}
	}
	return fetch.Range{Offset: rng.Offset, Length: b.remaining}, nil
}

// subrange translates rng, a range relative to outer, into a range of the whole section. A length of
// 0 extends to the end.
func subrange(outer, rng fetch.Range) (fetch.Range, error) {
	part := outer
	part.Offset += rng.Offset
	if outer.Length > 0 {
		if part.Length -= rng.Offset; part.Length <= 0 {
			return part, &fetch.Error{Code: fetch.ErrRange}
		}
	}
	if n := rng.Length; n > 0 && (part.Length == 0 || n < part.Length) {
		part.Length = n
	}
	return part, nil
}

// describe returns the size of the message in bytes, without retrieving its text. It sets number to the
// sequence number of the message.
func (s *session) describe(t *target, stat bool, meta *fetch.Meta, number *string) (size int64, err error) {
	items := sizeItems
	if stat {
		items = statItems
	}
	found := false
	desc, command := fmt.Sprintf("message %d", t.uid), fmt.Sprintf("UID FETCH %d %s", t.uid, items)
	err = s.cmd(desc, command, func(r response) error {
		got, ok, err := parseFetch(r.data)
		if err != nil || !ok || got["UID"].number() != int64(t.uid) {
			return err
		}
		if v, ok := got["RFC822.SIZE"]; ok {
			found, size, *number = true, v.number(), sequenceNumber(r.data)
		}
		if date, ok := parseDate(got["INTERNALDATE"].text); ok {
			meta.ModTime = date
		}
		switch v, ok := got["BODY"]; {
		case !ok || !stat:
		case sectionName(v.name) != "HEADER":
			return otherSection(v.name)
		case t.section == "":
			meta.Header = message.ParseHeader([]byte(v.text))
		}
		return nil
	})
	switch {
	case err != nil:
		return 0, err
	case !found:
		return 0, fetch.ErrNotFound.Errorf("the mailbox has no message %d", t.uid)
	}
	if stat && t.section == "" && t.partial.IsZero() {
		meta.Size = size
	}
	return size, nil
}

// requestContent requests content and reads the response up to the first byte of it.
func (s *session) requestContent(t *target, part fetch.Range, b *content) error {
	item := fmt.Sprintf("BODY.PEEK[%s]", t.section)
	if !part.IsZero() {
		if part.Length == 0 {
			part.Length = math.MaxInt32 // the size is unknown; lengths have 32 bits in RFC 3501
		}
		item += fmt.Sprintf("<%d.%d>", part.Offset, part.Length)
	}
	tag, err := s.send(fmt.Sprintf("UID FETCH %d (%s)", t.uid, item), "")
	if err != nil {
		return err
	}
	b.tag = tag
	defer s.ReplyTimeout()()
	for range maxResponses {
		r, err := s.next(true)
		if err != nil {
			return err
		}
		if r.literalSize >= 0 {
			b.head = bytes.TrimRight(r.data, "{}0123456789")
			if err := b.checkResponse(")", false); err != nil {
				return s.Lines.Break(err)
			}
			b.r, b.remaining = io.LimitReader(s.Lines.Reader(), r.literalSize), r.literalSize
			b.origin = parseOrigin(string(r.data))
			return nil
		}
		if done, err := s.status("", tag, r); done || err != nil {
			if err == nil {
				err = fetch.ErrNotFound.Errorf("message %d has no such part", t.uid)
			}
			return err
		}
		items, ok, err := parseFetch(r.data)
		if err != nil {
			return s.Lines.Break(err)
		}
		if v, found := items["BODY"]; ok && found {
			if v.null && !b.empty {
				continue // the part does not exist, but the status will be OK
			}
			if err := b.checkItems(sequenceNumber(r.data), items); err != nil {
				return s.Lines.Break(err)
			}
			text := v.text
			if v.null {
				text = ""
			}
			b.r, b.remaining = strings.NewReader(text), int64(len(text))
			b.origin, b.quoted = parseOrigin(v.name), true
			return nil
		}
	}
	return s.Lines.Break(errValue)
}

func (t *target) contentType() string {
	last := t.section[strings.LastIndexByte(t.section, '.')+1:]
	switch {
	case t.section == "":
		return "message/rfc822"
	case strings.Contains(t.section, "HEADER"), last == "MIME":
		return "text/rfc822-headers"
	case last == "TEXT":
		return "text/plain"
	}
	return "" // a MIME part, in its transfer encoding
}

func (t *target) fileName() string {
	name := fetch.SafeName(strings.ReplaceAll(fmt.Sprintf("%s-%d", t.mailbox, t.uid), "/", "_"))
	if t.section != "" {
		return fetch.SafeName(name + "-" + t.section)
	}
	return strings.TrimLeft(name, ".-") + ".eml"
}

// parseDate parses such as "17-Jul-1996 02:44:25 -0700". The day may be padded with a space.
func parseDate(text string) (time.Time, bool) {
	date, err := time.Parse("_2-Jan-2006 15:04:05 -0700", text)
	return date, err == nil
}

type content struct {
	session   *session
	tag       string // of the command
	r         io.Reader
	remaining int64 // unread bytes
	// origin is the offset of the content in the message or part; -1 if the server sent no origin
	// octet.
	origin int64
	empty  bool   // the message has no bytes, so NIL is its content
	quoted bool   // the content was a quoted string, and its line has been read
	head   []byte // the response before the content

	// The message and its part, as requested.
	uid     uint32
	number  string // the sequence number
	section string
}

// checkResponse returns an error if the response with the content, followed by tail, is not a
// well-formed FETCH response for the message. The size of the literal is not compared with
// RFC822.SIZE: RFC 9051, section 2.3.4, does not require it to match, and it is an estimate on
// Exchange.
func (b *content) checkResponse(tail string, complete bool) error {
	items, ok, err := parseFetch(append(append(slices.Clip(b.head), `""`...), tail...))
	if err != nil || !ok || !strings.HasPrefix(tail, " ") && !strings.HasPrefix(tail, ")") {
		return fmt.Errorf("%w: %.80q before and %.80q after the content of a message",
			wire.ErrMalformed, b.head, tail)
	}
	number := b.number
	if complete { // otherwise the UID may follow the content
		number = sequenceNumber(b.head)
	}
	return b.checkItems(number, items)
}

// checkItems returns an error if the items have another message or section than the requested one. The
// UID is required (RFC 3501, section 6.4.8), but some servers omit it.
func (b *content) checkItems(number string, items map[string]value) error {
	switch uid, ok := items["UID"]; {
	case ok && uid.number() != int64(b.uid):
		return fmt.Errorf("%w: the server sent message %.20s, %d was requested", wire.ErrMalformed,
			uid.text, b.uid)
	case !ok && number != b.number:
		return fmt.Errorf("%w: the server sent message number %.20s, %.20s was requested", wire.ErrMalformed,
			number, b.number)
	}
	if name := items["BODY"].name; sectionName(name) != b.section {
		return otherSection(name)
	}
	return nil
}

func otherSection(item string) error {
	return fmt.Errorf("%w: the server sent %.80q, another section was requested", wire.ErrMalformed, item)
}

// sequenceNumber returns the first word of a FETCH response.
func sequenceNumber(data []byte) string {
	number, _, _ := bytes.Cut(data, []byte(" "))
	return string(number)
}

// sectionName returns the section in the name of an item, such as "BODY[1.HEADER.FIELDS (DATE)]<0>", or in a
// URL. It is in upper case, without the names of fields, which servers may quote.
func sectionName(item string) string {
	if _, section, ok := strings.Cut(item, "["); ok {
		item, _, _ = strings.Cut(section, "]")
	}
	name, _, _ := strings.Cut(strings.TrimSpace(item), " ")
	return strings.ToUpper(name)
}

// The content must be the requested part, because the caller may append it to a partial file.
func (b *content) check(part fetch.Range, partial bool) error {
	switch {
	case !partial:
	case b.origin != part.Offset:
		return fmt.Errorf("%w: the server sent another range than the one from byte %d",
			wire.ErrMalformed, part.Offset)
	case part.Length > 0 && b.remaining > part.Length:
		return fmt.Errorf("%w: the server sent %d bytes, %d were requested", wire.ErrMalformed,
			b.remaining, part.Length)
	}
	return nil
}

// Read implements io.Reader. It returns io.EOF once the server has confirmed the end.
func (b *content) Read(p []byte) (int, error) {
	if b.remaining == 0 {
		return 0, b.end()
	}
	n, err := b.r.Read(p)
	b.remaining -= int64(n)
	if err == io.EOF {
		err = nil
		if b.remaining > 0 {
			err = io.ErrUnexpectedEOF
		}
	}
	return n, err
}

func (b *content) end() error {
	if !b.quoted {
		err := b.session.readTail(func(tail string) error { return b.checkResponse(tail, true) })
		if err != nil {
			return err
		}
	}
	if err := b.session.finish("", b.tag, nil); err != nil {
		return err
	}
	return io.EOF
}
