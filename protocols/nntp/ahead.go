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
	// maxAhead limits the pipelined ARTICLE commands (RFC 3977, section 3.5), and maxAheadBytes their
	// total size. A server does not read commands while it sends a reply, so the commands must fit
	// in the socket buffers.
	maxAhead      = 64
	maxAheadBytes = 8 << 10
)

// argument returns the argument of ARTICLE and HEAD.
func (t *target) argument() string {
	if t.id == "" {
		return strconv.FormatUint(t.number, 10)
	}
	return "<" + t.id + ">"
}

// described returns the name of t for errors.
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

// article requests an article, unless the command was already pipelined on kept. Then it pipelines
// commands for the articles that the pipeline expects next.
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

// takeKept returns the lease on which the article was requested ahead, or nil. It discards a lease
// with other outstanding replies, so that its slot in the pool becomes free.
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
	// The server may have closed the connection, be out of step or require a login. The caller
	// requests the article again on another connection.
	kept.Discard()
	return nil, wire.Reply{}, nil
}

// maxSkipped limits the total size of the skipped articles that are read, in bytes.
const maxSkipped = 1 << 20

// skipTo discards the replies to commands that were sent before the command for t.
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

// askAhead requests the articles that the pipeline expects next, unless enough replies are already
// outstanding.
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
				return // the pipeline has changed
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
	l.Lines.Flush() // l.Lines keeps the error for later calls
}
