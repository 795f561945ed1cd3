// Package capture records what a client does in WARC files, whatever the protocol.
//
// HTTP is recorded as everybody does. For all other schemes docs/warc.md is the specification: the
// content is a resource record, and beside it are the conversation, what is known of the resource,
// the members of a listing, and why something failed. Package replay answers from such files.
package capture

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"iter"
	"mime"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/uri"
)

// Format is the specification that the records conform to, for warcinfo records.
const Format = "https://github.com/urlget/urlget/blob/main/docs/warc.md"

// A Capture writes records. Its Recorder may be used by several clients at once.
type Capture struct {
	w      *warc.Writer
	seen   *Seen
	failed func(error)
	once   sync.Once
	hosts  *hosts
}

// New returns a Capture that writes to w. Payloads that are in seen, which may be nil, are not
// written again. Failed, if not nil, is called once, when something could not be written: no record
// follows.
func New(w *warc.Writer, seen *Seen, failed func(error)) *Capture {
	return &Capture{w: w, seen: seen, failed: failed, hosts: newHosts()}
}

// Recorder is the fetch.Recorder. If a request has a login of its own, the Writer is restricted; whoever
// has logins for a client by other means calls [warc.Writer.Restrict].
func (c *Capture) Recorder(ctx context.Context, req *fetch.Request) *fetch.Recording {
	if c.w.Err() != nil {
		return nil
	}
	if needsLogin(ctx, req) {
		c.w.Restrict()
	}
	now := time.Now()
	r := &recording{Capture: c, begin: now, req: req, target: Target(req.URL), peers: make(map[int]peer)}
	x := &fetch.Recording{Lookup: r.looked, Peer: r.peer, End: r.end}
	if warc.HoldsHTTP(req.URL.Scheme()) {
		r.http = &messages{dir: c.w.Dir(), conns: make(map[int][]*message)}
		x.Sent, x.Received = r.sentHTTP, r.receivedHTTP
		return x
	}
	r.conversation = &conversation{begin: now}
	r.content = warc.NewSpool(c.w.Dir())
	x.Sent = func(conn int, p []byte) { r.say('>', conn, p) }
	x.Received = func(conn int, p []byte) { r.say('<', conn, p) }
	x.Line = r.line
	x.Response, x.Entry = r.response, r.entry
	x.Content = func(p []byte) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.content.Write(p)
	}
	return x
}

// needsLogin reports whether a request has a login, or may have one: answers to a form, or content.
func needsLogin(ctx context.Context, req *fetch.Request) bool {
	if _, password := req.URL.Password(); password || fetch.TraitsOf(ctx).Logins || req.Form != nil || req.Body != nil || req.GetBody != nil {
		return true
	}
	for name := range req.Header {
		if driver.IsSecretField(name) {
			return true
		}
	}
	return false
}

// Add records content that was retrieved by other means at some time, and what is known of it, as
// the answer to a request for u. It reports whether the content was known already, so that its record
// is a revisit, and why it could not be read or written.
func (c *Capture) Add(u uri.URI, at time.Time, m *fetch.Meta, content io.Reader) (revisit bool, err error) {
	r := &recording{Capture: c, begin: at, added: true, req: &fetch.Request{URL: u}, target: Target(u), peers: make(map[int]peer),
		conversation: &conversation{}, content: warc.NewSpool(c.w.Dir())}
	if _, err := io.Copy(r.content, content); err != nil {
		r.content.Close()
		return false, err
	}
	r.response(&driver.Response{Meta: *m})
	r.end(nil)
	return r.revisit, c.w.Err()
}

// A recording is an exchange on its way into the file.
type recording struct {
	*Capture
	begin  time.Time
	stamp  string // begin, as headers have it
	added  bool   // it was not recorded, so that nothing is known of its duration
	req    *fetch.Request
	target string

	mu           sync.Mutex
	peers        map[int]peer
	found        []netip.Addr // of the host of the URL, if it was looked up
	http         *messages    // nil for other schemes, which have the rest
	conversation *conversation
	resp         *driver.Response
	answer       *Answer
	parse        func(io.Reader) iter.Seq2[fetch.Entry, error]
	content      *warc.Spool
	entries      *warc.Spool // nil if there were none
	revisit      bool        // the content was known already
	claimed      []string    // digests of payloads that nobody else has, until all is written
}

// A peer is who is at the other end of a connection.
type peer struct {
	addr  net.Addr
	state *tls.ConnectionState
}

func (r *recording) peer(conn int, addr net.Addr, state *tls.ConnectionState) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.peers) < maxConns || r.peers[conn].addr != nil {
		r.peers[conn] = peer{addr, state}
	}
	if r.conversation != nil {
		text := addr.Network() + " " + addr.String()
		if state != nil {
			text += " " + tlsProtocol(state) + " " + tls.CipherSuiteName(state.CipherSuite)
		}
		r.conversation.note('=', conn, []byte(text))
	}
}

func (r *recording) say(mark byte, conn int, p []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conversation.note(mark, conn, p)
}

// line takes the words of protocols that have no bytes to show.
func (r *recording) line(sent bool, line string) {
	mark := byte('<')
	if sent {
		mark = '>'
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.conversation.spoken {
		r.conversation.note(mark, 0, []byte(line))
	}
}

func (r *recording) response(resp *driver.Response) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.resp, r.answer, r.parse = resp, newAnswer(resp), resp.Parse
	if u := Target(resp.URL); !resp.URL.IsZero() && u != r.target {
		r.answer.URL = u
	}
}

func (r *recording) entry(e fetch.Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writeEntry(e)
}

func (r *recording) writeEntry(e fetch.Entry) {
	if r.entries == nil {
		r.entries = warc.NewSpool(r.w.Dir())
	}
	line, err := json.Marshal(newEntry(e))
	if err == nil {
		r.entries.Write(append(line, '\n'))
	}
}

// end writes the records of the exchange.
func (r *recording) end(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var drafts []*warc.Draft
	defer func() {
		for _, d := range drafts {
			d.Block.Close()
		}
		r.content.Close()
		if r.http != nil {
			r.http.close()
		}
	}()
	if host := r.lookup(); host != nil {
		drafts = append(drafts, host)
	}
	if r.http != nil {
		pairs := r.webRecords(err)
		drafts = append(drafts, pairs...)
		if f := newFailure(err); f != nil && len(pairs) == 0 {
			drafts = append(drafts, r.exchange(&Exchange{Failure: f}))
		}
	} else {
		drafts = append(drafts, r.records(err)...)
	}
	werr := r.w.Write(drafts...)
	for _, digest := range r.claimed {
		r.seen.settle(digest, werr == nil)
	}
	if werr != nil && r.failed != nil {
		r.once.Do(func() { r.failed(werr) })
	}
}

// known returns the record that has the payload of a record of this exchange already.
func (r *recording) known(digest, id string) (earlier, bool) {
	e, known, claimed := r.seen.claim(digest, r.target, r.begin, id, r.claimed == nil)
	if claimed {
		r.claimed = append(r.claimed, digest)
	}
	return e, known
}

// date returns the date of all records of the exchange.
func (r *recording) date() string {
	if r.stamp == "" {
		r.stamp = warc.FormatDate(r.begin)
	}
	return r.stamp
}

// usualFields is how many fields most records have.
const usualFields = 12

// header begins the header of a record of this exchange.
func (r *recording) header(kind, contentType string) warc.Header {
	h := append(make(warc.Header, 0, usualFields), warc.Field{Name: "WARC-Type", Value: kind}, warc.Field{Name: "WARC-Record-ID", Value: "<" + warc.NewID() + ">"},
		warc.Field{Name: "WARC-Date", Value: r.date()}, warc.Field{Name: "WARC-Target-URI", Value: r.target})
	h.Add("Content-Type", contentType)
	return h
}

// addPeer says who the record is from.
func (r *recording) addPeer(h *warc.Header, conn int, protocol string) {
	p := r.peers[conn]
	if p.addr == nil {
		return
	}
	if ap, err := netip.ParseAddrPort(p.addr.String()); err == nil {
		h.Add("WARC-IP-Address", ap.Addr().Unmap().WithZone("").String())
	}
	h.Add("WARC-Protocol", protocol)
	if p.state != nil {
		h.Add("WARC-Protocol", tlsProtocol(p.state))
		h.Add("WARC-Cipher-Suite", tls.CipherSuiteName(p.state.CipherSuite))
	}
}

func tlsProtocol(s *tls.ConnectionState) string {
	switch s.Version {
	case tls.VersionTLS10:
		return "tls/1.0"
	case tls.VersionTLS11:
		return "tls/1.1"
	case tls.VersionTLS12:
		return "tls/1.2"
	}
	return "tls/1.3"
}

// records returns those of an exchange that is not of HTTP.
func (r *recording) records(err error) []*warc.Draft {
	var list []*warc.Draft
	x := &Exchange{Answer: r.answer, Failure: newFailure(err)}
	protocol := r.req.URL.Scheme()
	if r.answer != nil {
		r.answer.ByClose = r.resp.Framing == driver.FramedByClose // the client has looked at it meanwhile
	}
	if r.hasContent() {
		d := r.resource(err, protocol)
		list, x.Content = append(list, d), d.Header.ID()
		r.parseEntries(err)
	}
	var main string
	if len(list) > 0 {
		main = list[0].Header.Get("WARC-Record-ID")
	}
	if r.entries != nil {
		h := r.header(warc.Metadata, TypeEntries)
		h.Add("WARC-Concurrent-To", main)
		x.Entries = h.ID()
		list = append(list, &warc.Draft{Header: h, Block: r.entries, Index: &warc.IndexEntry{Mime: TypeEntries}})
	}
	meta := r.exchange(x)
	meta.Header.Add("WARC-Concurrent-To", main)
	r.addPeer(&meta.Header, 1, protocol)
	list = append(list, meta)
	if len(r.conversation.pieces) > 0 {
		h := r.header(warc.Metadata, "application/x-"+protocol+"; msgtype=conversation")
		h.Add("WARC-Concurrent-To", cmp.Or(main, meta.Header.Get("WARC-Record-ID")))
		r.addPeer(&h, 1, protocol)
		s := warc.NewSpool(r.w.Dir())
		if !r.conversation.write(s, r.content.Digest(), r.content.Len()) {
			h.Add("WARC-Truncated", "length")
		}
		list = append(list, &warc.Draft{Header: h, Block: s})
	}
	return list
}

// hasContent reports whether there is something to keep as content.
func (r *recording) hasContent() bool {
	a := r.answer
	return a != nil && a.Location == nil && r.req.Op != fetch.OpStat && a.Kind != fetch.KindNone.String()
}

// resource returns the record of the content, or of that it is known already.
func (r *recording) resource(err error, protocol string) *warc.Draft {
	digest := r.content.Digest()
	kind := cmp.Or(mediaType(r.answer.ContentType), "application/octet-stream")
	h := r.header(warc.Resource, cmp.Or(r.answer.ContentType, "application/octet-stream"))
	r.addPeer(&h, 1, protocol)
	h.Add("WARC-Payload-Digest", digest)
	truncated := reason(err)
	h.Add("WARC-Truncated", truncated)
	d := &warc.Draft{Header: h, Block: r.content, Index: &warc.IndexEntry{Mime: kind, Digest: digest}}
	if truncated == "" && r.content.Len() > 0 && r.content.Err() == nil {
		if known, ok := r.known(digest, h.ID()); ok {
			known.refer(&d.Header)
			r.revisit = true
			d.Block, d.Index.Mime = warc.NewSpool(r.w.Dir()), "warc/revisit"
		}
	}
	return d
}

// parseEntries makes the members of a listing whose caller did not ask for them.
func (r *recording) parseEntries(err error) {
	if r.entries != nil || r.parse == nil || err != nil {
		return
	}
	for e, err := range r.parse(r.content.Reader(0)) {
		if err != nil {
			return
		}
		if !driver.PlausibleTime(e.ModTime) {
			e.ModTime = time.Time{}
		}
		r.writeEntry(e)
	}
	if r.entries == nil {
		r.entries = warc.NewSpool(r.w.Dir())
	}
}

// exchange returns the record that says what came of it.
func (r *recording) exchange(x *Exchange) *warc.Draft {
	x.URL, x.Op, x.Time = r.target, r.req.Op, r.begin.UTC()
	if !r.added {
		x.Seconds = time.Since(r.begin).Seconds()
	}
	x.Range, x.View, x.Form, x.Conditional = r.req.Range, r.req.View, FormDigest(r.req.Form), !r.req.IfChanged.IsZero()
	s := warc.NewSpool(r.w.Dir())
	text, err := json.Marshal(x)
	if err != nil || len(text) > MaxExchange {
		x.Answer, x.Failure = nil, &Failure{Class: fetch.ErrProtocol, Message: "what the server told cannot be recorded"}
		text, _ = json.Marshal(x)
	}
	s.Write(text)
	return &warc.Draft{Header: r.header(warc.Metadata, TypeExchange), Block: s, Index: &warc.IndexEntry{Mime: TypeExchange}}
}

func mediaType(contentType string) string {
	t, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		t, _, _ = strings.Cut(contentType, ";")
	}
	return strings.TrimSpace(t)
}
