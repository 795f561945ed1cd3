package nntp

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strconv"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
)

const (
	// maxPipelined limits the pipelined ARTICLE commands (RFC 3977, section 3.5), and
	// maxPipelinedBytes their total size. A server does not read commands while it sends a reply, so
	// the commands must fit in the socket buffers.
	maxPipelined      = 64
	maxPipelinedBytes = 8 << 10
)

func (t *target) argument() string {
	if t.id == "" {
		return strconv.FormatUint(t.number, 10)
	}
	return "<" + t.id + ">"
}

func (t *target) description() string {
	if t.id == "" {
		return t.argument() + " of " + t.group
	}
	return t.argument()
}

func (t *target) sameArticle(other *target) bool {
	return t.id == other.id && t.number == other.number && (t.id != "" || t.group == other.group)
}

// requestArticle requests an article. If pipelined is not nil, the command was already sent on that
// lease. requestArticle then sends commands for the articles that the pipeline expects next.
func (d *opener) requestArticle(ctx context.Context, t *target, pipelined *lease) (*lease,
	wire.Reply, error) {
	l, reply, err := d.receivePipelined(ctx, t, pipelined)
	if l == nil && err == nil {
		l, reply, err = d.sendArticleCommand(ctx, t, "ARTICLE", replyArticle)
	}
	if pipeline := d.env.Pipeline(ctx); err == nil && pipeline != nil {
		l.pipeline, l.key, l.scope = pipeline, t.Key(), d.env.Scope(ctx)
		d.requestAhead(ctx, l)
	}
	return l, reply, err
}

// resumePipeline returns the lease on which the article was requested ahead, or nil. It discards a
// lease with other outstanding replies, so that its slot in the pool becomes free.
func (d *opener) resumePipeline(ctx context.Context, req *fetch.Request, t *target) *lease {
	pipeline := d.env.Pipeline(ctx)
	if pipeline == nil {
		return nil
	}
	l, _ := pipeline.Take().(*lease)
	if l == nil {
		return nil
	}
	if req.Op != fetch.OpGet || !req.IfChanged.IsZero() || l.key != t.Key() ||
		l.scope != d.env.Scope(ctx) ||
		!slices.ContainsFunc(l.pending, t.sameArticle) {
		l.Discard()
		return nil
	}
	return l
}

// receivePipelined reads the reply to a command that was pipelined on the lease l. If there
// is no such reply, it returns neither a lease nor an error, and the caller must request the article.
func (d *opener) receivePipelined(ctx context.Context, t *target, l *lease) (*lease, wire.Reply, error) {
	if l == nil {
		return nil, wire.Reply{}, nil
	}
	l.Bind(ctx)
	err := l.skipTo(t)
	var reply wire.Reply
	if err == nil {
		reply, err = l.reply()
	}
	switch {
	case err != nil:
	case reply.Code == replyArticle && t.matchesReply(reply):
		return l, reply, nil
	case reply.Code == replyNoNumber || reply.Code == replyNoArticle:
		l.Put()
		return nil, reply, failure("article "+t.description(), reply)
	}
	// The server may have closed the connection, be out of step or require a login. The caller
	// requests the article again on another connection.
	l.Discard()
	return nil, wire.Reply{}, nil
}

// maxSkipped limits the total size of the skipped articles that are read, in bytes.
const maxSkipped = 1 << 20

// skipTo discards the replies to commands that were sent before the command for t.
func (l *lease) skipTo(t *target) error {
	left := int64(maxSkipped)
	for {
		next := l.pending[0]
		l.pending = l.pending[1:]
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
		dot := l.Lines.Reader().Dot(wire.DotOptions{})
		n, err := io.CopyN(io.Discard, dot, left)
		if left -= n; err != io.EOF {
			return l.Lines.Break(cmp.Or(err, wire.ErrReplyTooLong))
		}
	}
}

// requestAhead requests the articles that the pipeline expects next, unless enough replies are already
// outstanding.
func (d *opener) requestAhead(ctx context.Context, l *lease) {
	if len(l.pending) > maxPipelined/2 {
		return
	}
	size := 0
	for i, req := range l.pipeline.Next(ctx) {
		t, err := d.target(req)
		if err != nil || !t.isArticle() || t.Key() != l.key ||
			t.id == "" && t.group != l.group || i >= maxPipelined {
			break
		}
		if i < len(l.pending) {
			if !l.pending[i].sameArticle(t) {
				return // the pipeline has changed
			}
			size += len(t.argument())
			continue
		}
		line := "ARTICLE " + t.argument()
		if size += len(line) + 2; size > maxPipelinedBytes || l.Lines.Queue(line) != nil {
			break
		}
		l.pending = append(l.pending, t)
	}
	l.Lines.Flush() // l.Lines keeps the error for later calls
}
