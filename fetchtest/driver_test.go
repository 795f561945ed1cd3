package fetchtest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net"
	"net/textproto"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetch/uri"
)

// A treeDriver is a driver for x-tree with one bug.
type treeDriver struct {
	env  fetch.Env
	bug  string
	over <-chan struct{} // closed when the test ends
	meet chan struct{}
	kept chan *fetch.Conn // idle connections, for the bug that reuses them
}

func treeSite(t testing.TB, tree fs.FS, bug string) Site {
	s := startTreeServer(t, tree)
	return Site{
		Load: func(env fetch.Env, reg *fetch.Registry) {
			reg.Register(fetch.Scheme{Name: "x-tree", Port: 7777, Ranges: bug != "has no ranges",
				Ops: []fetch.Op{fetch.OpGet, fetch.OpStat, fetch.OpList}, Driver: &treeDriver{env: env, bug: bug, over: t.Context().Done(), meet: make(chan struct{}), kept: make(chan *fetch.Conn, 1)}})
		},
		URL: func(name string) string {
			if (name == bigFile || name == largeFile) && bug != "" {
				return "" // saves time
			}
			var segments []string
			for s := range strings.SplitSeq(name, "/") {
				segments = append(segments, uri.Escape(s))
			}
			return s.URL + "/" + strings.Join(segments, "/")
		},
		Log:   s.Log,
		Fault: s.Fail,
		Can:   s.Can,
	}
}

func (d *treeDriver) has(bug string) bool { return d.bug == bug }

func (d *treeDriver) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	name, err := uri.Unescape(req.URL.URLPath())
	switch {
	case d.has("sends CR LF"):
		name, err = uri.UnescapeRaw(req.URL.URLPath()), nil
	case d.has("decodes twice"):
		name = uri.UnescapeRaw(name)
	case d.has("splits the query"):
		name, err = uri.Unescape(strings.TrimPrefix(req.URL.Path(), "/"))
	}
	if err != nil {
		return nil, err
	}
	if d.has("changes the request") {
		req.Header = textproto.MIMEHeader{}
	}
	var line string
	switch req.Op {
	case fetch.OpGet:
		line = fmt.Sprintf("GET\t%s\t%d\t%d", name, req.Range.Offset, req.Range.Length)
		if d.has("has no ranges") {
			line = fmt.Sprintf("GET\t%s\t0\t0", name)
		}
	case fetch.OpStat:
		line = "STAT\t" + name
	case fetch.OpList:
		line = "LIST\t" + name
	}
	conn, err := d.dial(ctx, req.URL)
	if err != nil {
		return nil, err
	}
	resp, err := d.exchange(ctx, conn, line, req)
	if err != nil {
		conn.Close()
		return nil, err
	}
	return resp, nil
}

func (d *treeDriver) dial(ctx context.Context, u uri.URI) (*fetch.Conn, error) {
	if d.has("ignores the context") {
		ctx = context.WithoutCancel(ctx)
	}
	if d.has("dials by itself") {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", u.HostPort(7777))
		if err != nil {
			return nil, err
		}
		return fetch.NewConn(ctx, conn, fetch.Timeouts{}), nil
	}
	if d.has("forgets the scope") {
		select {
		case conn := <-d.kept:
			return conn, nil
		default:
		}
	}
	return d.env.Dial(ctx, "tcp", u.HostPort(7777))
}

// CloseIdleConnections implements fetch.IdleCloser.
func (d *treeDriver) CloseIdleConnections() {
	select {
	case conn := <-d.kept:
		conn.Close()
	default:
	}
}

func (d *treeDriver) exchange(ctx context.Context, conn *fetch.Conn, line string, req *fetch.Request) (*fetch.Response, error) {
	release := func() bool { return true }
	if !d.has("ignores the context") {
		release = conn.Bind(ctx)
	}
	lines := wire.NewLines(conn, 0)
	r := lines.Reader()
	if d.has("reads past the record") && strings.HasSuffix(line, smallFile+"\t0\t0") {
		r = wire.NewReader(conn.NetConn(), 0)
	}
	var err error
	if d.has("sends CR LF") {
		_, err = io.WriteString(conn, line+"\r\n")
	} else {
		err = lines.Send(line)
	}
	if err != nil {
		return nil, err
	}
	reply, err := r.Line()
	if err != nil {
		return nil, err
	}
	status, text, _ := strings.Cut(string(reply), " ")
	n, _ := strconv.ParseInt(text, 10, 64)
	resp := &fetch.Response{Meta: fetch.Meta{ContentType: "text/plain", Size: n, Name: req.URL.LastSegment()}}
	switch {
	case status == "404":
		if d.has("calls everything a server failure") {
			return nil, &fetch.Error{Code: fetch.ErrServer}
		}
		e := &fetch.Error{Code: fetch.ErrNotFound, Reply: fetch.Reply{Code: 404, Text: text}}
		if d.has("tells secrets") {
			d.env.Logger().Info("not found", "url", req.URL.String()) // the client masks errors
		}
		return nil, e
	case status != "200" && d.has("takes noise for content"):
		resp.Size = -1
	case status != "200":
		return nil, &fetch.Error{Code: fetch.ErrProtocol, Err: fmt.Errorf("the server said %q", reply)}
	}
	b := &treeBody{d: d, r: r, conn: conn, release: release}
	b.left.Store(resp.Size)
	resp.Body = b
	switch req.Op {
	case fetch.OpGet:
		return d.object(resp, b, req)
	case fetch.OpStat:
		b.left.Store(0)
		if d.has("guesses sizes") {
			resp.Size++
		}
	case fetch.OpList:
		resp.Kind, resp.Size = fetch.KindListing, -1
		driver.SetParts(resp, d.members(r, req.URL), b.Close)
		if d.has("reads listings past the client") {
			resp.Parse = func(io.Reader) iter.Seq2[fetch.Entry, error] { return entriesOf(d.members(r, req.URL)) }
		}
	}
	return resp, nil
}

func (d *treeDriver) object(resp *fetch.Response, b *treeBody, req *fetch.Request) (*fetch.Response, error) {
	b.object = true
	// It waits for a second request for one of the files that the case retrieves in parallel.
	if d.has("does one thing at a time") && resp.Name == "one.txt" {
		select {
		case d.meet <- struct{}{}:
			return nil, &fetch.Error{Code: fetch.ErrBusy}
		case <-d.meet:
		case <-time.After(200 * time.Millisecond):
		}
	}
	if !req.Range.IsZero() && !d.has("has no ranges") {
		resp.Range = req.Range
		if d.has("counts ranges from 1") && req.Range.Offset > 0 {
			io.CopyN(io.Discard, b.r, 1)
			b.left.Add(-1)
			resp.Size--
		}
	}
	if d.has("hides ranges") {
		resp.Range = fetch.Range{}
	}
	if d.has("takes the close for the end") {
		resp.Size = -1
	}
	if d.has("pumps") {
		feed := make(chan byte)
		go func() {
			defer close(feed)
			for in := bufio.NewReader(b); ; {
				c, err := in.ReadByte()
				if err != nil {
					return
				}
				select {
				case feed <- c:
				case <-d.over: // the test has ended; nothing else ends this wait
					return
				}
			}
		}()
		resp.Body = pumped{feed: feed, Closer: b}
	}
	return resp, nil
}

type pumped struct {
	feed chan byte
	io.Closer
}

func (p pumped) Read(b []byte) (int, error) {
	c, ok := <-p.feed
	if !ok {
		return 0, io.EOF
	}
	b[0] = c
	return 1, nil
}

func entriesOf(parts iter.Seq2[driver.Part, error]) iter.Seq2[fetch.Entry, error] {
	return func(yield func(fetch.Entry, error) bool) {
		for part, err := range parts {
			if err != nil {
				yield(fetch.Entry{}, err)
				return
			}
			for _, e := range part.Entries {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}

func (d *treeDriver) members(r *wire.Reader, dir uri.URI) iter.Seq2[driver.Part, error] {
	return func(yield func(driver.Part, error) bool) {
		base := strings.TrimSuffix(dir.String(), "/") + "/"
		for {
			line, err := r.Line()
			if string(line) == "." {
				return
			}
			words := strings.SplitN(string(line), "\t", 3)
			if err == nil && len(words) < 3 {
				err = &fetch.Error{Code: fetch.ErrProtocol, Err: fmt.Errorf("the server lists %q", line)}
			}
			if err != nil {
				yield(driver.Part{}, err)
				return
			}
			size, _ := strconv.ParseInt(words[1], 10, 64)
			escaped := uri.Escape(words[2])
			if d.has("does not escape entries") {
				escaped = strings.ReplaceAll(strings.ReplaceAll(words[2], "%", "%25"), " ", "%20")
			}
			u, err := uri.ParseLoose(base + escaped)
			if err != nil {
				yield(driver.Part{}, err)
				return
			}
			e := fetch.Entry{URL: u, Name: words[2], Size: size, Rel: "item"}
			if words[0] == "d" {
				e.Kind, e.Size = fetch.EntryListing, -1
			}
			if d.has("loses the first entry") && e.Name == "motd" {
				continue
			}
			text := append(line, '\n')
			if d.has("lists its URL") {
				text = fmt.Appendln(nil, dir)
			}
			if !yield(driver.Part{Text: text, Entries: []fetch.Entry{e}}, nil) {
				return
			}
		}
	}
}

// Explain implements fetch.Explainer.
func (d *treeDriver) Explain(req *fetch.Request) ([]string, error) {
	if d.has("connects to explain") {
		if c, err := d.dial(context.Background(), req.URL); err == nil {
			c.Close()
		}
	}
	return []string{"connect to " + req.URL.HostPort(7777), "GET " + fetch.Printable(req.URL.URLPath())}, nil
}

// A treeBody is the content after a reply line.
type treeBody struct {
	d       *treeDriver
	r       *wire.Reader
	conn    *fetch.Conn
	release func() bool
	left    atomic.Int64 // -1 up to the end of the connection
	object  bool
	closed  atomic.Bool
}

func (b *treeBody) Read(p []byte) (int, error) {
	left := b.left.Load()
	if left == 0 {
		return 0, io.EOF
	}
	if left > 0 {
		p = p[:min(int64(len(p)), left)]
	}
	n, err := b.r.Read(p)
	if b.d.has("reads text") {
		for i, c := range p[:n] {
			if c == '\r' {
				p[i] = '\n'
			}
		}
	}
	if left > 0 {
		left = b.left.Add(-int64(n))
	}
	if err == io.EOF && left > 0 && !b.d.has("takes the close for the end") {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func (b *treeBody) Close() error {
	if b.closed.Swap(true) {
		if b.d.has("hangs in the second Close") {
			<-b.d.over
		}
		return nil
	}
	if b.object && b.d.has("drains in Close") {
		io.Copy(io.Discard, io.LimitReader(b.conn, b.left.Load()))
	}
	if b.release() && b.d.has("forgets the scope") && b.object && b.left.Load() == 0 {
		select {
		case b.d.kept <- b.conn:
			return nil
		default:
		}
	}
	return b.conn.Close()
}
