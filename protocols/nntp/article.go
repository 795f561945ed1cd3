package nntp

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetch/message"
	"github.com/urlget/urlget/protocols/internal/mailsession"
)

func (d *opener) openArticle(ctx context.Context, req *fetch.Request, t *target) (*fetch.Response, error) {
	pipelined := d.resumePipeline(ctx, req, t)
	if etag := req.IfChanged.ETag; etag != "" && req.Range.IsZero() && req.Op == fetch.OpGet {
		// An article never changes (RFC 3977, section 3.6), so comparing the message-id in the header
		// is sufficient.
		stat, err := d.requestHeader(ctx, t)
		if err != nil {
			return nil, err
		}
		if stat.ETag == etag {
			return nil, &fetch.Error{Code: fetch.ErrNotModified}
		}
	}
	if req.Op == fetch.OpStat {
		return d.requestHeader(ctx, t)
	}
	l, reply, err := d.requestArticle(ctx, t, pipelined)
	if err != nil {
		return nil, err
	}
	dot := l.Lines.Reader().Dot(wire.DotOptions{})
	done := l.ReplyTimeout()
	head, err := message.ReadHead(dot, 0)
	if done(); err != nil {
		l.Lines.Break(err)
		l.Discard()
		return nil, err
	}
	resp := articleResponse(t, reply, head)
	resp.Body = mailsession.NewBody(l, head, dot)
	return resp, nil
}

func (d *opener) sendArticleCommand(ctx context.Context, t *target, verb string, code int) (*lease,
	wire.Reply, error) {
	var reply wire.Reply
	l, err := d.leaseSession(ctx, t, func(l *lease) (err error) {
		if t.id == "" && l.group != t.group {
			if _, err := l.selectGroup(t.group); err != nil {
				return err
			}
		}
		if reply, err = l.expect(code, "article "+t.description(),
			verb+" "+t.argument()); err == nil && !t.matchesReply(reply) {
			err = l.Lines.Break(&fetch.Error{Code: fetch.ErrProtocol,
				Reply: fetch.Reply{Code: reply.Code, Text: reply.Text()},
				Err:   fmt.Errorf("the server sent a different article than %s", t.argument())})
		}
		return err
	})
	return l, reply, err
}

// matchesReply reports whether the reply "220 number <message-id>" may be for t (RFC 3977, section
// 6.2.1.1). The number may be 0, and servers of RFC 977 may omit the rest.
func (t *target) matchesReply(r wire.Reply) bool {
	number, rest, _ := strings.Cut(strings.TrimSpace(r.Lines[0]), " ")
	if t.id == "" {
		n, err := strconv.ParseUint(number, 10, 64)
		return err != nil || n == 0 || n == t.number
	}
	id, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	return !strings.HasPrefix(id, "<") || id == "<"+t.id+">"
}

func (d *opener) requestHeader(ctx context.Context, t *target) (*fetch.Response, error) {
	l, reply, err := d.sendArticleCommand(ctx, t, "HEAD", replyHead)
	if err != nil {
		return nil, err
	}
	head, err := l.Head("article")
	if err != nil {
		l.Discard()
		return nil, err
	}
	l.Put()
	resp := articleResponse(t, reply, head)
	resp.Body = fetch.NoBody
	return resp, nil
}

func articleResponse(t *target, reply wire.Reply, head []byte) *fetch.Response {
	h := message.ParseHeader(head)
	meta := fetch.Meta{
		ContentType: "message/rfc822",
		Size:        -1,
		Reply:       fetch.Reply{Code: reply.Code, Text: reply.Text()},
		Header:      h,
		Name:        articleName(t),
		Text:        true,
	}
	meta.ETag = h.Get("Message-Id")
	meta.ModTime, _ = parseDate(h.Get("Date"))
	return &fetch.Response{Meta: meta, URL: t.url}
}

func articleName(t *target) string {
	name := t.id
	if name == "" {
		name = t.group + "-" + strconv.FormatUint(t.number, 10)
	}
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9',
			strings.ContainsRune("@.-_+=$", r):
			return r
		}
		return '_'
	}, name)
	return strings.TrimLeft(name, ".-") + ".eml"
}
