package nntp

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strconv"

	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/driver/wire"
)

const (
	// maxAhead is how many articles are asked for before the first of them has come (RFC 3977,
	// section 3.5), and maxAheadBytes how long these commands are together. A server that answers
	// one of them does not read the next, so all must find room in its and our buffers.
	maxAhead      = 64
	maxAheadBytes = 8 << 10
)

// argument names t in ARTICLE and in HEAD.
func (t *target) argument() string {
	if t.id == "" {
		return strconv.FormatUint(t.number, 10)
	}
	return "<" + t.id + ">"
}

// described names t in errors.
func (t *target) described() string {
	if t.id == "" {
		return t.argument() + " of " + t.group
	}
	return t.argument()
}

// sameArticle reports whether both targets are the same article.
func (t *target) sameArticle(other *target) bool {
	return t.id == other.id && t.number == other.number && (t.id != "" || t.group == other.group)
}

// article asks for an article, unless that was done ahead. Behind it, it asks for those that are
// expected to be wanted next.
func (d *opener) article(ctx context.Context, t *target, kept *lease) (*lease, wire.Reply, error) {
	l, reply, err := d.receiveAhead(ctx, t, kept)
	if l == nil && err == nil {
		l, reply, err = d.command(ctx, t, "ARTICLE", replyArticle)
	}
	if line := d.env.Pipeline(ctx); err == nil && line != nil {
		l.line, l.key, l.scope = line, t.server().Key(), d.env.Scope(ctx)
		d.askAhead(ctx, l)
	}
	return l, reply, err
}

// takeKept returns the connection on which the response to the request is to come, as it was sent
// ahead, or nil. A connection with other responses is closed, so that nobody waits for its place.
func (d *opener) takeKept(ctx context.Context, req *driver.Request, t *target) *lease {
	line := d.env.Pipeline(ctx)
	if line == nil {
		return nil
	}
	kept, _ := line.Take().(*lease)
	if kept == nil {
		return nil
	}
	if req.Op != driver.OpGet || !req.IfChanged.IsZero() || kept.key != t.server().Key() || kept.scope != d.env.Scope(ctx) ||
		!slices.ContainsFunc(kept.ahead, t.sameArticle) {
		kept.Discard()
		return nil
	}
	return kept
}

// receiveAhead reads the reply to a command that was sent ahead on the connection of kept. If there
// is no such reply, it returns neither a lease nor an error, and the caller must request the article.
func (d *opener) receiveAhead(ctx context.Context, t *target, kept *lease) (*lease, wire.Reply, error) {
	if kept == nil {
		return nil, wire.Reply{}, nil
	}
	kept.Bind(ctx)
	err := kept.skipTo(t)
	var reply wire.Reply
	if err == nil {
		reply, err = kept.reply()
	}
	switch {
	case err != nil:
	case reply.Code == replyArticle && t.isNamedIn(reply):
		return kept, reply, nil
	case reply.Code == replyNoNumber || reply.Code == replyNoArticle:
		kept.Put()
		return nil, reply, failure("article "+t.described(), reply)
	}
	// Whether the server has hung up, is out of step or wants a login: on a connection of its own the
	// article has a response of its own.
	kept.Discard()
	return nil, wire.Reply{}, nil
}

// maxSkipped bounds what is read of articles that were asked for and are not wanted any more, in
// bytes together.
const maxSkipped = 1 << 20

// skipTo reads the answers to commands that were sent before that for t, whose answer is next then.
func (l *lease) skipTo(t *target) error {
	room := int64(maxSkipped)
	for {
		next := l.ahead[0]
		l.ahead = l.ahead[1:]
		if next.sameArticle(t) {
			return nil
		}
		reply, err := l.reply()
		if err != nil {
			return err
		}
		if reply.Code != replyArticle {
			continue
		}
		dot := l.Lines.Reader().Dot(blocks)
		n, err := io.CopyN(io.Discard, dot, room)
		if room -= n; err != io.EOF {
			return l.Lines.Break(cmp.Or(err, wire.ErrReplyTooLong))
		}
	}
}

// askAhead asks for the articles that are expected to be wanted next, if few are on their way.
func (d *opener) askAhead(ctx context.Context, l *lease) {
	if len(l.ahead) > maxAhead/2 {
		return
	}
	size := 0
	for i, req := range l.line.Next(ctx) {
		t, err := d.target(req)
		if err != nil || !t.isArticle() || t.server().Key() != l.key || t.id == "" && t.group != l.group || i >= maxAhead {
			break
		}
		if i < len(l.ahead) {
			if !l.ahead[i].sameArticle(t) {
				return // something else is wanted now than was before
			}
			size += len(t.argument())
			continue
		}
		line := "ARTICLE " + t.argument()
		if size += len(line) + 2; size > maxAheadBytes || l.Lines.Queue(line) != nil {
			break
		}
		l.ahead = append(l.ahead, t)
	}
	l.Lines.Flush() // an error is that of the conversation, and kept there
}
