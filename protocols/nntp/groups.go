package nntp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetch/message"
	"github.com/urlget/urlget/fetch/uri"
)

// A Group describes a newsgroup. It is the Sys of the entries of "news:*" and of patterns.
type Group struct {
	Name  string `fact:"name"`
	Low   uint64 `fact:"low"`   // lowest article number
	High  uint64 `fact:"high"`  // highest article number; below Low for an empty group
	Count uint64 `fact:"count"` // estimated number of articles
	// Status is "y" if posting is allowed, "n" if not, and "m" for a moderated group (RFC 3977, section
	// 7.6.3).
	Status      string `fact:"status"`
	Description string `fact:"description,optional"`
}

// EntryFacts implements [fetch.EntryRecord].
func (g Group) EntryFacts() fetch.Facts { return driver.FactsOf("nntp", "group", g) }

// maxDescriptions limits the memory for descriptions, in bytes. If it or the reply timeout is
// exceeded, the groups are listed without descriptions.
const maxDescriptions = 16 << 20

func (d *opener) openGroups(ctx context.Context, req *fetch.Request, t *target) (*fetch.Response, error) {
	var (
		reply        wire.Reply
		descriptions map[string]string
		counts       bool
	)
	describe := req.Op != fetch.OpStat
	open := func() (*lease, error) {
		return d.leaseSession(ctx, t, func(l *lease) (err error) {
			if describe {
				if descriptions, err = l.descriptions(t.group); err != nil {
					return err
				}
			}
			reply, counts, err = l.list(t.group)
			return err
		})
	}
	l, err := open()
	if describe && ctx.Err() == nil &&
		(errors.Is(err, wire.ErrReplyTooLong) || errors.Is(err, os.ErrDeadlineExceeded)) {
		d.env.Logger().Warn("the descriptions of the newsgroups are omitted", "server", t.Host, "reason", err)
		describe, descriptions = false, nil
		l, err = open()
	}
	if err != nil {
		return nil, err
	}
	resp := &fetch.Response{URL: t.url, Meta: fetch.Meta{
		Kind: fetch.KindListing, ContentType: "text/plain", Size: -1,
		Reply: fetch.Reply{Code: reply.Code, Text: reply.Text()},
	}}
	if req.Op == fetch.OpStat {
		l.Discard()
		resp.Body = fetch.NoBody
		return resp, nil
	}
	l.SetParts(resp, l.parts(l.groupLines(t.group)))
	resp.Parse = func(r io.Reader) iter.Seq2[fetch.Entry, error] {
		return entries(r, func(line []byte) (fetch.Entry, bool) {
			g, ok := parseGroup(line, counts)
			g.Description = descriptions[g.Name]
			return t.groupEntry(g), ok
		})
	}
	return resp, nil
}

func (t *target) groupEntry(g Group) fetch.Entry {
	e := fetch.Entry{Name: g.Name, Kind: fetch.EntryListing, Rel: "item", Size: -1, Sys: g}
	err := checkName("", g.Name, maxGroup)
	if err == nil && !strings.ContainsAny(g.Name, "*?") {
		e.URL, err = t.newsURL(uri.News{Group: g.Name})
	}
	if err != nil || e.URL.IsZero() {
		e.Kind = fetch.EntryText // the name does not fit in a URL
	}
	return e
}

// list sends the first of LIST COUNTS (RFC 6048), LIST ACTIVE and LIST (RFC 977) that the server
// supports. It reports whether the lines contain counts.
func (l *lease) list(pattern string) (r wire.Reply, counts bool, err error) {
	commands := []string{"LIST ACTIVE " + pattern, "LIST"}
	if pattern == "*" {
		commands[0] = "LIST ACTIVE"
	}
	if l.hasCapability("LIST", "COUNTS") {
		commands = append([]string{"LIST COUNTS " + pattern}, commands...)
	}
	for i, command := range commands {
		r, err = l.cmd(command)
		if err != nil {
			return r, false, err
		}
		if r.Code == replyList {
			return r, strings.HasPrefix(command, "LIST COUNTS"), nil
		}
		if !unsupported(r.Code) || i == len(commands)-1 {
			break
		}
	}
	return r, false, l.unexpectedReply("list of newsgroups", r)
}

func (l *lease) descriptions(pattern string) (map[string]string, error) {
	line := "LIST NEWSGROUPS"
	if pattern != "*" {
		line += " " + pattern
	}
	r, err := l.cmd(line)
	switch {
	case err != nil:
		return nil, err
	case r.Code == replyLoginRequired || r.Code == replyTLSRequired:
		return nil, failure("descriptions of newsgroups", r)
	case r.Code < 400 && r.Code != replyList:
		return nil, l.unexpectedReply("descriptions of newsgroups", r)
	case r.Code != replyList:
		return nil, nil
	}
	defer l.ReplyTimeout()()
	texts, size := make(map[string]string), 0
	for line, err := range l.Lines.Reader().DotLines(wire.DotOptions{}, 0) {
		if err != nil {
			return nil, l.Lines.Break(err)
		}
		if size += len(line) + 32; size > maxDescriptions {
			return nil, l.Lines.Break(fmt.Errorf("%w: more than %d bytes of descriptions",
				wire.ErrReplyTooLong, maxDescriptions))
		}
		i := bytes.IndexAny(line, "\t ")
		if i < 0 {
			continue
		}
		texts[string(line[:i])] = message.Decode(strings.TrimSpace(string(line[i:])))
	}
	return texts, nil
}

// groupLines applies the pattern, because servers of RFC 977 ignore it.
func (l *lease) groupLines(pattern string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for line, err := range l.Lines.Reader().DotLines(wire.DotOptions{}, 0) {
			if err != nil {
				yield(nil, l.Lines.Break(err))
				return
			}
			name, _, _ := bytes.Cut(line, []byte(" "))
			if matchWildmat(pattern, string(name)) && !yield(line, nil) {
				return
			}
		}
	}
}

// parseGroup parses "group high low status" (RFC 3977, section 7.6.3) or, with counts, "group high
// low count status" (RFC 6048, section 2.2).
func parseGroup(line []byte, counts bool) (Group, bool) {
	f := strings.Fields(string(line))
	columns := 4
	if counts {
		columns = 5
	}
	if len(f) < columns {
		return Group{}, false
	}
	high, err1 := strconv.ParseUint(f[1], 10, 64)
	low, err2 := strconv.ParseUint(f[2], 10, 64)
	if err1 != nil || err2 != nil {
		return Group{}, false
	}
	g := Group{Name: f[0], Low: low, High: high, Status: f[columns-1]}
	if high >= low && high > 0 {
		g.Count = high - max(low, 1) + 1
	}
	if counts {
		if n, err := strconv.ParseUint(f[3], 10, 64); err == nil {
			g.Count = n
		}
	}
	return g, true
}
