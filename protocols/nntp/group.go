package nntp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetch/message"
	"github.com/urlget/urlget/fetch/uri"
)

// The lines of a group listing are those of OVER, with tab-separated fields.
const overviewType = "text/tab-separated-values"

func (d *opener) openGroup(ctx context.Context, req *fetch.Request, t *target) (*fetch.Response, error) {
	var reply wire.Reply
	l, err := d.leaseSession(ctx, t, func(l *lease) (err error) {
		reply, err = l.selectGroup(t.group)
		return err
	})
	if err != nil {
		return nil, err
	}
	rng, err := parseGroupReply(reply)
	if err != nil {
		l.Lines.Break(err)
		l.Discard()
		return nil, err
	}
	resp := &fetch.Response{URL: t.url, Meta: fetch.Meta{
		Kind: fetch.KindListing, ContentType: overviewType, Size: -1,
		Reply: fetch.Reply{Code: reply.Code, Text: reply.Text()},
	}}
	if req.Op == fetch.OpStat {
		l.Put()
		resp.Body = fetch.NoBody
		return resp, nil
	}
	if d.opts.Newest > 0 && rng.count > 0 {
		if err := l.newest(t.group, &rng, d.opts.Newest); err != nil {
			l.Lines.Break(err)
			l.Discard()
			return nil, err
		}
	}
	lines := l.overviews(rng)
	if !d.opts.Since.IsZero() {
		lines = since(lines, d.opts.Since)
	}
	l.SetParts(resp, l.parts(lines))
	resp.Parse = func(r io.Reader) iter.Seq2[fetch.Entry, error] {
		return entries(r, func(line []byte) (fetch.Entry, bool) {
			o, ok := ParseOverview(line)
			return t.articleEntry(o), ok
		})
	}
	return resp, nil
}

// A numberRange is the reply to GROUP: the lowest and highest article number, and an estimate of the
// number of articles.
type numberRange struct{ count, low, high uint64 }

// parseGroupReply parses "211 count low high group" (RFC 3977, section 6.1.1).
func parseGroupReply(r wire.Reply) (numberRange, error) {
	var g numberRange
	if n, _ := fmt.Sscanf(r.Lines[0], "%d %d %d", &g.count, &g.low, &g.high); n < 3 {
		return g, &fetch.Error{Code: fetch.ErrProtocol, Reply: fetch.Reply{Code: r.Code, Text: r.Text()},
			Err: fmt.Errorf("the reply to GROUP has no article numbers")}
	}
	if g.high > math.MaxInt64 {
		return g, fetch.ErrProtocol.Errorf("article number %d is too large", g.high)
	}
	if g.high < g.low || g.high == 0 {
		g.count = 0
	}
	g.low = max(g.low, 1)
	return g, nil
}

// maxNewest limits the memory for article numbers. For larger limits, all numbers are assumed to
// exist.
const maxNewest = 1 << 20

// newest narrows a range to the last articles. If article numbers are missing, it requests the
// existing ones with LISTGROUP (RFC 3977, section 6.1.2).
func (l *lease) newest(group string, g *numberRange, newest int) error {
	n := uint64(newest)
	if g.high-g.low < n {
		return nil
	}
	if g.count < g.high-g.low+1 && n <= maxNewest {
		r, err := l.cmd("LISTGROUP " + group)
		if err != nil {
			return err
		}
		if r.Code == replyGroup {
			if err := l.checkGroup(r); err != nil {
				return err
			}
			// last is a ring buffer of n numbers.
			defer l.ReplyTimeout()()
			ring := make([]uint64, 0, min(n, 1<<16))
			oldest := 0
			for line, err := range l.Lines.Reader().DotLines(wire.DotOptions{}, 0) {
				if err != nil {
					return err
				}
				number, err := strconv.ParseUint(string(line), 10, 64)
				if err != nil {
					continue
				}
				if uint64(len(ring)) < n {
					ring = append(ring, number)
				} else {
					ring[oldest] = number
					oldest = (oldest + 1) % len(ring)
				}
			}
			if len(ring) > 0 {
				g.low = max(g.low, ring[oldest%len(ring)])
			}
			return nil
		}
	}
	g.low = g.high - n + 1
	return nil
}

func since(lines iter.Seq2[[]byte, error], t time.Time) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for line, err := range lines {
			if err == nil {
				if date, ok := dateOf(line); ok && date.Before(t) {
					continue
				}
			}
			if !yield(line, err) {
				return
			}
		}
	}
}

const (
	rangeSize   = 2000 // articleURLs per command
	rangeWindow = 3    // pipelined OVER commands
	headWindow  = 32   // pipelined HEAD commands
)

// overviews yields the overview lines of a range. It uses the first of OVER, XOVER and HEAD that the
// server supports. A line is valid until the next iteration.
func (l *lease) overviews(g numberRange) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		if g.count == 0 {
			return
		}
		verbs := []string{"OVER", "XOVER", "HEAD"}
		if l.caps != nil && !l.hasCapability("OVER", "") {
			verbs = verbs[1:]
		}
		for _, verb := range verbs {
			if l.rangeOverviews(verb, g, yield) {
				return
			}
		}
		yield(nil, fetch.ErrServer.Errorf("the server supports none of OVER, XOVER and HEAD"))
	}
}

// A rangeSender sends the commands for a range of article numbers, step numbers per command.
type rangeSender struct {
	lines      *wire.Lines
	verb       string
	next, high uint64 // the numbers not requested yet
	step       uint64
}

func (s *rangeSender) send(limit int) (sent int, err error) {
	for ; sent < limit && s.next <= s.high; sent++ {
		last := s.high
		if s.high-s.next >= s.step {
			last = s.next + s.step - 1
		}
		line := s.verb + " " + strconv.FormatUint(s.next, 10)
		if s.step > 1 {
			line += "-" + strconv.FormatUint(last, 10)
		}
		if err := s.lines.Queue(line); err != nil {
			return sent, err
		}
		s.next = last + 1
	}
	return sent, s.lines.Flush()
}

// rangeOverviews yields the overview lines of a range with one kind of command. It returns false,
// without yielding anything, if the server does not support the command.
func (l *lease) rangeOverviews(verb string, g numberRange, yield func([]byte, error) bool) (supported bool) {
	commands, window := rangeSender{l.Lines, verb, g.low, g.high, rangeSize}, rangeWindow
	if span := g.high - g.low + 1; span > g.count {
		commands.step *= span / g.count // sparse numbers
	}
	if verb == "HEAD" {
		commands.step, window = 1, headWindow
	}
	// The first command is not pipelined, because the server may not support it.
	pending, err := commands.send(1)
	// A server that ignores ranges sends everything at once.
	rows := overviewRows{last: g.high}
	for first := g.low; err == nil && pending > 0; first = min(first+commands.step, g.high+1) {
		var r wire.Reply
		if r, err = l.reply(); err != nil {
			break
		}
		pending--
		switch {
		case unsupported(r.Code) && first == g.low:
			return false
		case r.Code == replyOverview || r.Code == replyHead:
			if rows.first = first; verb == "HEAD" || first > g.low {
				rows.last = min(first+commands.step-1, g.high)
			}
			if !l.block(verb, &rows, yield) {
				return true
			}
			if rows.received > 0 && rows.accepted == 0 {
				commands.next = g.high + 1 // the server ignores ranges: there is nothing new
			}
		case r.Code == replyNoNumber || r.Code == replyNoArticles:
		default:
			err = failure("overview", r)
		}
		if err == nil && pending <= window/2 {
			var sent int
			sent, err = commands.send(window - pending)
			pending += sent
		}
	}
	if err != nil {
		yield(nil, err)
	}
	return true
}

// overviewRows selects the lines of a reply: those with numbers between first and last that are
// greater than the highest before.
type overviewRows struct {
	first, last, highest uint64
	received, accepted   int // lines of the last reply
}

func (o *overviewRows) accept(line []byte, highest uint64) bool {
	o.received++
	number, _, _ := bytes.Cut(line, []byte("\t"))
	n, err := strconv.ParseUint(string(number), 10, 64)
	if err == nil && (n < o.first || n > o.last || n <= highest) {
		return false
	}
	o.accepted++
	o.highest = max(o.highest, n)
	return true
}

// block yields the lines of one reply and reports whether to continue.
func (l *lease) block(verb string, rows *overviewRows, yield func([]byte, error) bool) bool {
	rows.received, rows.accepted = 0, 0
	if verb == "HEAD" {
		head, err := l.Head("article")
		if err != nil {
			yield(nil, err)
			return false
		}
		return yield(overviewLine(rows.first, message.ParseHeader(head)), nil)
	}
	highest := rows.highest // before this reply, whose lines may be in any order
	for line, err := range l.Lines.Reader().DotLines(wire.DotOptions{}, 0) {
		if err != nil && !wire.IsLineCut(err) {
			yield(nil, l.Lines.Break(err))
			return false
		}
		if rows.accept(line, highest) && !yield(bytes.TrimRight(line, "\r"), nil) {
			return false
		}
	}
	return true
}

func (t *target) articleEntry(o Overview) fetch.Entry {
	e := fetch.Entry{
		Name: message.Decode(o.Subject), Kind: fetch.EntryObject, Rel: "article",
		ContentType: "message/rfc822", Size: -1, Sys: o,
	}
	e.ModTime, _ = parseDate(o.Date)
	id := strings.TrimSuffix(strings.TrimPrefix(o.MessageID, "<"), ">")
	if t.usesMessageIDs() && checkName("", id, maxMessageID-2) == nil && strings.Contains(id, "@") {
		if u, err := t.newsURL(uri.News{MessageID: id}); err == nil {
			e.URL = u
			return e
		}
	}
	n := uri.NNTP{Scheme: "nntp", Group: t.group, Number: o.Number}
	if t.TLS {
		n.Scheme = "nntps"
	}
	if t.hasHost {
		n.Host, n.Port, n.Login = t.Host, t.Port, t.url.Userinfo()
	}
	u, err := n.URI()
	if err != nil {
		e.Kind = fetch.EntryText
	}
	e.URL = u
	return e
}
