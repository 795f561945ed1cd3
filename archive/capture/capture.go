// Package capture records the exchanges of a client in WARC files, over any protocol.
//
// HTTP is recorded as in other WARC files. For all other schemes docs/warc.md is the specification:
// the content is a resource record, and further records have the conversation, the metadata of the
// response, the members of a listing, and the failure. Package replay reads such files.
package capture

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"iter"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/urlget/urlget/archive/internal/httprecord"
	"github.com/urlget/urlget/archive/internal/record"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/bounded"
)

// Format is the URL of the specification for these records, for the conformsTo field of warcinfo
// records.
const Format = "https://github.com/urlget/urlget/blob/main/docs/warc.md"

// Outcome returns the operation of an exchange over any protocol and, if it failed, the code of the error.
// ok is false if the record is not a valid one of the type that docs/warc.md defines for it.
func Outcome(rec *warc.Record) (op fetch.Op, failure fetch.Code, ok bool) {
	if rec.Type() != warc.Metadata || rec.ContentType() != record.TypeExchange {
		return 0, "", false
	}
	x, err := record.ReadExchange(rec.Block)
	if err != nil {
		return 0, "", false
	}
	if x.Failure != nil {
		failure = x.Failure.Class
	}
	return x.Op, failure, true
}

// A Capture is a fetch.Recorder that writes WARC records. It may be used by several clients at
// once.
type Capture struct {
	w      *warc.Writer
	seen   *Seen
	failed func(error)
	cache  bool // see ForCache
	secret []byte
	once   sync.Once
	hosts  *bounded.Set[string] // the addresses of hosts that are recorded
}

// New returns a Capture that writes to w. For payloads in seen, which may be nil, it writes revisit
// records. If failed is not nil, it is called once, for the first write error. No records are
// written after that.
func New(w *warc.Writer, seen *Seen, failed func(error)) *Capture {
	return &Capture{w: w, seen: seen, failed: failed, hosts: bounded.NewSet[string](maxSeen)}
}

// ForCache omits what a cache does not store: responses of HTTP with the directive no-store (RFC 9111,
// section 5.2.2.5), failures that are not those of a server, and what comes from an archive, which
// would seem to be received again. It adds the fields that package cache needs to use a response only
// for the requests that it answers. Secrets in them are digests with the key secret, which is that of
// the cache. ForCache must be called before the first exchange.
func (c *Capture) ForCache(secret []byte) { c.cache, c.secret = true, secret }

// Record implements fetch.Recorder. If a request carries its own credentials, the Writer is
// restricted. A program that gives credentials to the client in another way must call
// [warc.Writer.Restrict] itself.
func (c *Capture) Record(ctx context.Context, req *fetch.Request) *fetch.Recording {
	if c.w.Err() != nil {
		return nil
	}
	if needsLogin(ctx, req) {
		c.w.Restrict()
	}
	now := time.Now()
	_, password := req.URL.Password()
	foreign := fetch.Foreign(ctx)
	r := &recording{
		Capture: c, begin: now, req: req, target: record.Target(req.URL),
		login: password || needsLogin(ctx, req) && !foreign, foreign: foreign, proxied: fetch.Proxied(ctx),
	}
	r.peers, r.http, r.claimed = r.usual.peers[:0], r.usual.http[:0], r.usual.claimed[:0]
	x := &r.functions
	x.Lookup, x.Peer, x.End = r.addLookup, r.peer, r.end
	if httprecord.InScheme(req.URL.Scheme()) {
		x.Sent, x.Received = r.sentHTTP, r.receivedHTTP
		x.Response = func(resp *fetch.Response) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.from = resp.Capture
		}
		if c.cache {
			x.Request = func(v *fetch.Variant) {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.variant = v
			}
		}
		return x
	}
	r.conversation = &conversation{begin: now}
	r.content = c.w.NewSpool()
	x.Sent = func(conn int, p []byte) { r.addBytes('>', conn, p) }
	x.Received = func(conn int, p []byte) { r.addBytes('<', conn, p) }
	x.Line = r.addLine
	x.Response, x.Entry = r.response, r.entry
	x.Content = func(p []byte) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.content.Write(p)
	}
	return x
}

func needsLogin(ctx context.Context, req *fetch.Request) bool {
	if _, password := req.URL.Password(); password || fetch.TraitsOf(ctx).Logins {
		return true
	}
	if req.Form != nil || req.Body != nil || req.GetBody != nil {
		return true
	}
	for name := range req.Header {
		if fetch.IsSecretField(name) {
			return true
		}
	}
	return false
}

// Add records content that was retrieved by other means at the given time, with its metadata m, as
// the response to a get of u. It reports whether the content was already known, so that its record
// is a revisit. Errors come from content or from the Writer.
func (c *Capture) Add(u uri.URI, at time.Time, m *fetch.Meta, content io.Reader) (revisit bool, err error) {
	r := &recording{
		Capture: c, begin: at, added: true, req: &fetch.Request{URL: u}, target: record.Target(u),
		transfer: transfer{conversation: &conversation{}, content: c.w.NewSpool()},
	}
	if _, err := io.Copy(r.content, content); err != nil {
		r.content.Close()
		return false, err
	}
	r.response(&fetch.Response{Meta: *m})
	r.end(nil)
	return r.revisit, c.w.Err()
}

type recording struct {
	*Capture
	begin  time.Time
	added  bool // passed to Add; the duration is unknown
	req    *fetch.Request
	target string
	// login is set if the request has or may have a login of the user or of its URL. For foreign and
	// proxied, see package fetch.
	login, foreign, proxied bool
	functions               fetch.Recording

	mu      sync.Mutex // protects the fields below
	peers   []peer
	addrs   []netip.Addr   // addresses of the URL's host, if it was looked up
	http    messages       // other schemes use transfer
	from    *fetch.Capture // of the archive that the response comes from; nil if it comes from a server
	revisit bool           // the content was already known
	variant *fetch.Variant // of the next request of HTTP
	claimed []string       // digests of payloads claimed for this exchange until its records are written
	transfer
	usual struct { // what most exchanges need, in the same allocation
		peers   [1]peer
		http    [1]*message
		claimed [1]string
	}
}

// A transfer holds the data of an exchange over other protocols than HTTP.
type transfer struct {
	conversation *conversation // nil for HTTP
	resp         *fetch.Response
	stored       *record.Response
	parse        func(io.Reader) iter.Seq2[fetch.Entry, error]
	content      *warc.Spool
	entries      *warc.Spool // nil if there were none
}

// A peer is the remote end of a connection.
type peer struct {
	conn  int
	addr  net.Addr
	ip    string // "" if unknown
	state *tls.ConnectionState
}

// peerOf returns the peer of a connection, or the zero value if it is unknown.
func (r *recording) peerOf(conn int) peer {
	for _, p := range r.peers {
		if p.conn == conn {
			return p
		}
	}
	return peer{}
}

func (r *recording) peer(conn int, addr net.Addr, state *tls.ConnectionState) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := peer{conn, addr, ipOf(addr), state}
	if i := slices.IndexFunc(r.peers, func(p peer) bool { return p.conn == conn }); i >= 0 {
		r.peers[i] = p
	} else if len(r.peers) < maxConns {
		r.peers = append(r.peers, p)
	}
	if r.conversation != nil {
		text := addr.Network() + " " + addr.String()
		if state != nil {
			text += " " + tlsProtocol(state) + " " + tls.CipherSuiteName(state.CipherSuite)
		}
		r.conversation.add('=', conn, []byte(text))
	}
}

func (r *recording) addBytes(mark byte, conn int, p []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conversation.add(mark, conn, p)
}

// addLine records a line of a protocol that does not report bytes.
func (r *recording) addLine(sent bool, line string) {
	mark := byte('<')
	if sent {
		mark = '>'
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.conversation.hasBytes {
		r.conversation.add(mark, 0, []byte(line))
	}
}

func (r *recording) response(resp *fetch.Response) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.resp, r.stored, r.parse, r.from = resp, record.NewResponse(resp), resp.Parse, resp.Capture
	if r.from != nil && !r.added {
		r.begin = r.from.Time
	}
	if u := record.Target(resp.URL); !resp.URL.IsZero() && u != r.target {
		r.stored.URL = u
	}
}

func (r *recording) entry(e fetch.Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writeEntry(e)
}

func (r *recording) writeEntry(e fetch.Entry) {
	if r.entries == nil {
		r.entries = r.w.NewSpool()
	}
	line, err := json.Marshal(record.NewEntry(e))
	if err == nil {
		r.entries.Write(append(line, '\n'))
	}
}

func (r *recording) end(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	drafts := make([]*warc.Draft, 0, 2) // of most exchanges
	defer func() {
		for _, d := range drafts {
			d.Block.Close()
		}
		r.content.Close()
		r.http.close()
	}()
	if host := r.dnsRecord(); host != nil {
		drafts = append(drafts, host)
	}
	if r.conversation == nil {
		before := len(drafts)
		drafts = r.httpRecords(drafts, err)
		if f := record.NewFailure(err); f != nil && len(drafts) == before && r.from == nil && !r.cache {
			drafts = append(drafts, r.exchange(&record.Exchange{Failure: f}))
		}
	} else if !r.cache || r.from == nil && !isLocal(err) {
		drafts = append(drafts, r.records(err)...)
	}
	werr := r.w.Write(drafts...)
	for _, digest := range r.claimed {
		r.seen.resolve(digest, werr == nil)
	}
	if werr != nil && r.failed != nil {
		r.once.Do(func() { r.failed(werr) })
	}
}

// isLocal reports whether err is not that of a server.
func isLocal(err error) bool {
	code := fetch.CodeOf(err)
	return code == fetch.ErrPolicy || code == fetch.ErrNetwork
}

func (r *recording) archived(digest, id string) (archivedRecord, bool) {
	e, known, claimed := r.seen.claim(digest, r.target, r.begin, id, len(r.claimed) == 0)
	if claimed {
		r.claimed = append(r.claimed, digest)
	}
	return e, known
}

func (r *recording) header(kind, contentType string) warc.Header {
	return warc.NewHeader(kind, contentType, r.target, r.begin)
}

func (r *recording) addPeer(h *warc.Header, conn int, protocol string) {
	p := r.peerOf(conn)
	if p.addr == nil {
		return
	}
	h.Add("WARC-IP-Address", p.ip)
	h.Add("WARC-Protocol", protocol)
	if p.state != nil {
		h.Add("WARC-Protocol", tlsProtocol(p.state))
		h.Add("WARC-Cipher-Suite", tls.CipherSuiteName(p.state.CipherSuite))
	}
}

// ipOf returns the IP address in the address of a peer, or "" if there is none.
func ipOf(addr net.Addr) string {
	var ip netip.AddrPort
	if tcp, ok := addr.(*net.TCPAddr); ok {
		ip = tcp.AddrPort()
	} else {
		ip, _ = netip.ParseAddrPort(addr.String())
	}
	if !ip.IsValid() {
		return ""
	}
	return ip.Addr().Unmap().WithZone("").String()
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

func (r *recording) records(err error) []*warc.Draft {
	var list []*warc.Draft
	x := &record.Exchange{Response: r.stored, Failure: record.NewFailure(err)}
	protocol := r.req.URL.Scheme()
	if r.stored != nil {
		r.stored.ByClose = r.resp.Framing == fetch.FramedByClose // known only after the body was read
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
		h := r.header(warc.Metadata, record.TypeEntries)
		h.Add("WARC-Concurrent-To", main)
		x.Entries = h.ID()
		index := &warc.IndexEntry{Mime: record.TypeEntries}
		list = append(list, &warc.Draft{Header: h, Block: r.entries, Index: index})
	}
	meta := r.exchange(x)
	meta.Header.Add("WARC-Concurrent-To", main)
	r.addPeer(&meta.Header, 1, protocol)
	list = append(list, meta)
	if len(r.conversation.pieces) > 0 {
		h := r.header(warc.Metadata, "application/x-"+protocol+"; msgtype=conversation")
		h.Add("WARC-Concurrent-To", cmp.Or(main, meta.Header.Get("WARC-Record-ID")))
		r.addPeer(&h, 1, protocol)
		s := r.w.NewSpool()
		if !r.conversation.write(s, r.content.Digest(), r.content.Len()) {
			h.Add("WARC-Truncated", "length")
		}
		list = append(list, &warc.Draft{Header: h, Block: s})
	}
	return list
}

func (r *recording) hasContent() bool {
	a := r.stored
	return a != nil && a.Location == nil && r.req.Op != fetch.OpStat && a.Kind != fetch.KindNone.String()
}

// resource returns a resource record with the content, or a revisit record if the content is known.
func (r *recording) resource(err error, protocol string) *warc.Draft {
	digest := r.content.Digest()
	kind := cmp.Or(r.stored.ContentType, "application/octet-stream")
	h := r.header(warc.Resource, kind)
	r.addPeer(&h, 1, protocol)
	h.Add("WARC-Payload-Digest", digest)
	truncated := truncationReason(err)
	h.Add("WARC-Truncated", truncated)
	d := &warc.Draft{Header: h, Block: r.content, Index: &warc.IndexEntry{Mime: kind, Digest: digest}}
	if truncated == "" && r.content.Len() > 0 && r.content.Err() == nil {
		if known, ok := r.archived(digest, h.ID()); ok {
			known.makeRevisit(&d.Header)
			r.revisit = true
			d.Block, d.Index.Mime = r.w.NewSpool(), "warc/revisit"
		}
	}
	return d
}

// parseEntries parses the members of a listing if the caller has not read them.
func (r *recording) parseEntries(err error) {
	if r.entries != nil || r.parse == nil || err != nil {
		return
	}
	for e, err := range r.parse(r.content.Reader(0)) {
		if err != nil {
			return
		}
		if !fetch.PlausibleTime(e.ModTime) {
			e.ModTime = time.Time{}
		}
		r.writeEntry(e)
	}
	if r.entries == nil {
		r.entries = r.w.NewSpool()
	}
}

func (r *recording) exchange(x *record.Exchange) *warc.Draft {
	x.URL, x.Op, x.Time = r.target, r.req.Op, r.begin.UTC()
	if !r.added {
		x.Seconds = time.Since(r.begin).Seconds()
	}
	x.Range, x.View, x.Form = r.req.Range, r.req.View, record.FormDigest(r.req.Form)
	x.Conditional = !r.req.IfChanged.IsZero()
	s := r.w.NewSpool()
	text, err := json.Marshal(x)
	if err != nil || len(text) > record.MaxExchange {
		x.Response = nil
		x.Failure = &record.Failure{Class: fetch.ErrProtocol, Message: "response cannot be recorded"}
		text, _ = json.Marshal(x)
	}
	s.Write(text)
	h := r.header(warc.Metadata, record.TypeExchange)
	r.addCacheKey(&h, nil, r.login, "")
	return &warc.Draft{Header: h, Block: s, Index: &warc.IndexEntry{Mime: record.TypeExchange}}
}

func (r *recording) addCacheKey(h *warc.Header, v *fetch.Variant, login bool, vary string) {
	if !r.cache {
		return
	}
	value := v.Key(r.secret, vary)
	if login {
		value += " " + record.CacheLogin
	}
	if r.proxied {
		value += " " + record.CacheProxied
	}
	h.Add(record.CacheKey, value)
}
