package pop

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/mail"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetch/message"
	"github.com/urlget/urlget/protocols/internal/mailsession"
)

func (d *opener) openMessage(ctx context.Context, req *fetch.Request, t *target) (*fetch.Response, error) {
	var meta fetch.Meta
	var head []byte
	var text io.Reader // after the head
	l, err := d.pool.Lease(ctx, &t.Server, nil, func(l lease) error {
		s := l.Conn
		number, uid, err := s.locate(t, l.Reused)
		if err != nil {
			return err
		}
		meta = fetch.Meta{ContentType: "message/rfc822", Size: -1, Text: true,
			Name: messageName(number, uid)}
		meta.ETag = uid
		switch {
		case uid != "" && req.IfChanged.ETag == uid && req.Op == fetch.OpGet && req.Range.IsZero():
			// The message of a unique-id never changes (RFC 1939, section 7).
			return &fetch.Error{Code: fetch.ErrNotModified}
		case req.Op == fetch.OpStat:
			if t.uid != "" {
				if err := s.confirm(number, uid, fmt.Sprintf("UIDL %d", number)); err != nil {
					return err
				}
			}
			return s.describe(number, &meta)
		}
		status, err := s.retrieve(number, uid, t.uid == "")
		if isPlainRefusal(err) {
			err = asNotFound(err)
		}
		if err != nil {
			return err
		}
		meta.Reply.Text = strings.TrimSpace("+OK " + status)
		dot := s.Lines.Reader().Dot(wire.DotOptions{})
		done := s.ReplyTimeout()
		defer done()
		if head, err = message.ReadHead(dot, 0); err != nil {
			return s.Lines.Break(err)
		}
		text = dot
		describe(&meta, head)
		return nil
	})
	if err != nil {
		return nil, err
	}
	resp := &fetch.Response{Meta: meta, URL: t.url, Body: fetch.NoBody}
	if req.Op == fetch.OpStat {
		l.Put()
		return resp, nil
	}
	resp.Body = mailsession.NewBody(l, head, text)
	return resp, nil
}

func (s *session) locate(t *target, reused bool) (number int, uid string, err error) {
	if t.uid == "" {
		uid, err = s.uid(t.number, fmt.Sprintf("UIDL %d", t.number))
		return t.number, uid, err
	}
	number, err = s.numberOf(t.uid)
	switch {
	case isPlainRefusal(err):
		return 0, "", &fetch.Error{Code: fetch.ErrNotFound,
			Err:  fmt.Errorf("the server does not support unique-ids"),
			Hint: "use the message number, as in pop://HOST/1", Reply: fetch.Reply{Text: "-ERR"}}
	case err != nil:
		return 0, "", err
	case number == 0 && reused:
		return 0, "", mailsession.ErrStale
	case number == 0:
		return 0, "", fetch.ErrNotFound.Errorf("no message has the unique-id %q", t.uid)
	}
	return number, t.uid, nil
}

// describe sets the size of a message in meta. It also sets the header if the server supports TOP.
func (s *session) describe(number int, meta *fetch.Meta) error {
	var err error
	if meta.Size, err = s.size(number); err != nil {
		return asNotFound(err)
	}
	if _, err := s.expect("", fmt.Sprintf("TOP %d 0", number)); err != nil {
		if isRefusal(err) {
			return nil
		}
		return err
	}
	head, err := s.Head("message")
	if err == nil {
		describe(meta, head)
	}
	return err
}

func describe(meta *fetch.Meta, head []byte) {
	meta.Header = message.ParseHeader(head)
	meta.ModTime, _ = mail.ParseDate(meta.Header.Get("Date"))
}

func asNotFound(err error) error {
	if e, ok := err.(*fetch.Error); ok && isPlainRefusal(err) {
		e.Code = fetch.ErrNotFound
	}
	return err
}

func messageName(number int, uid string) string {
	name := cmp.Or(fetch.SafeName(strings.ReplaceAll(uid, "/", "_")), fmt.Sprint(number))
	return strings.TrimLeft(name, ".-") + ".eml"
}
