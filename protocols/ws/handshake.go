package ws

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/cookies"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols/internal/httphead"
)

const (
	protocolField = "Sec-Websocket-Protocol"
	// maxHead limits the head of the response, and maxBody the body of a refusal, in bytes.
	maxHead, maxBody = 256 << 10, 64 << 10
	// maxBodyTime limits the wait for that body.
	maxBodyTime = 500 * time.Millisecond
	// maxLogins limits the credentials tried.
	maxLogins = 3
)

// reservedFields belong to the handshake, so callers cannot set them.
var reservedFields = []string{"Sec-Websocket-Key", "Sec-Websocket-Version", "Sec-Websocket-Accept",
	"Sec-Websocket-Extensions"}

// RFC 6455, section 4.1.
type handshake struct {
	req       *fetch.Request
	url       *url.URL // with scheme http or https
	host      string   // for the Host field
	header    http.Header
	protocols []string
	logins    int
}

func (d *opener) newHandshake(req *fetch.Request) (*handshake, error) {
	if req.Op != fetch.OpDial {
		return nil, fetch.ErrInteractive.Errorf("%s is a session: %w", req.URL.Scheme(),
			errors.ErrUnsupported)
	}
	if _, ok := req.URL.Fragment(); ok { // RFC 6455, section 3
		return nil, fetch.ErrURL.Errorf("a WebSocket URL cannot have a fragment")
	}
	u, err := uri.Parse("http" + req.URL.WithoutUserinfo().String()[len("ws"):])
	if err != nil {
		return nil, &fetch.Error{Code: fetch.ErrURL, Err: err}
	}
	h := &handshake{req: req, header: http.Header{"User-Agent": {d.env.Identity().UserAgent}}}
	if h.url, err = u.NetURL(); err != nil {
		return nil, &fetch.Error{Code: fetch.ErrURL, Err: err}
	}
	h.host = h.url.Host
	if err := h.fields(req.Header); err != nil {
		return nil, &fetch.Error{Code: fetch.ErrRequest, Err: err}
	}
	return h, nil
}

func (h *handshake) fields(header textproto.MIMEHeader) error {
	for name, values := range header {
		name = textproto.CanonicalMIMEHeaderKey(name)
		if err := httphead.CheckField(name, values, reservedFields); err != nil {
			return err
		}
		switch name {
		case "Host":
			h.host = values[0]
		case protocolField:
			for p := range strings.SplitSeq(strings.Join(values, ","), ",") {
				h.protocols = append(h.protocols, strings.TrimSpace(p))
			}
			fallthrough
		default:
			h.header[name] = values
		}
	}
	return nil
}

// try connects and performs the handshake once. It returns neither a response nor an error if
// another login should be tried.
func (d *opener) try(ctx context.Context, h *handshake) (*fetch.Response, error) {
	u := h.req.URL
	conn, err := d.env.Dial(ctx, "tcp", u.HostPort(defaultPort(u)))
	if err != nil {
		return nil, err
	}
	if u.Scheme() == "wss" {
		cfg := d.env.TLSConfig(ctx, u.Host())
		cfg.NextProtos = []string{"http/1.1"}
		if err := conn.Handshake(ctx, cfg); err != nil {
			return nil, err
		}
	}
	conn.Bind(ctx)
	header := h.header.Clone()
	if d.opts.Jar != nil && !h.req.NoCookies && !d.env.Foreign(ctx) {
		cookies.Add(header, d.opts.Jar.Cookies(h.url))
	}
	up := &upgrade{conn: conn, stream: &stream{conn: conn}, frames: frames{limit: d.opts.MaxMessage}}
	done := conn.ReplyTimeout(d.env.Timeouts().Reply)
	c, resp, err := websocket.Dial(context.WithoutCancel(ctx), h.url.String(), &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: up},
		HTTPHeader: header, Host: h.host, Subprotocols: h.protocols})
	done()
	if up.refusal != nil {
		resp = up.refusal
	}
	if resp != nil && d.opts.Jar != nil && !h.req.NoCookies {
		d.opts.Jar.SetCookies(h.url, cookies.Parse(resp.Header))
	}
	if err == nil {
		up.opened = true
		s := newSession(c, up.stream, d)
		return &fetch.Response{URL: u, Body: s, Meta: fetch.Meta{Kind: fetch.KindSession, Size: -1,
			Reply: httphead.Reply(resp), Header: textproto.MIMEHeader(resp.Header)}}, nil
	}
	defer conn.Close()
	if up.refusal == nil {
		return nil, up.stream.explain(err)
	}
	return nil, d.refused(ctx, h, resp, up.body)
}

func defaultPort(u uri.URI) uint16 {
	if u.Scheme() == "wss" {
		return 443
	}
	return 80
}

// An upgrade is an http.RoundTripper for one request on an open connection.
type upgrade struct {
	conn   *fetch.Conn
	stream *stream
	rest   *bufio.Reader
	// refusal is the response if it opens no WebSocket, and body its body.
	refusal *http.Response
	body    []byte
	// opened is set after the handshake. Before that, reads after the head fail.
	opened bool
	frames frames
	failed error // for the next read
}

var errRefused = errors.New("the server rejected the WebSocket handshake")

// Read reads the data after the head.
func (u *upgrade) Read(p []byte) (int, error) {
	if !u.opened {
		return 0, errRefused
	}
	if u.failed != nil {
		return 0, u.stream.failed(u.failed)
	}
	n, err := u.rest.Read(p)
	if valid, violation := u.frames.count(p[:n]); violation != nil {
		u.failed = violation
		if n, err = valid, nil; n == 0 {
			err = u.stream.failed(u.failed)
		}
	}
	return n, err
}

func (u *upgrade) RoundTrip(r *http.Request) (*http.Response, error) {
	var head, shown bytes.Buffer
	if err := r.Write(&head); err != nil {
		return nil, err
	}
	masked := r.Clone(r.Context())
	for name := range masked.Header {
		if fetch.IsSecretField(name) {
			masked.Header.Set(name, "xxxxx")
		}
	}
	if err := masked.Write(&shown); err != nil {
		return nil, err
	}
	if _, err := u.conn.WriteMasked(head.Bytes(), shown.Bytes()); err != nil {
		return nil, u.stream.failed(err)
	}
	bounded := &io.LimitedReader{R: u.stream, N: maxHead}
	br := bufio.NewReader(bounded)
	resp, err := httphead.ReadResponse(br, r)
	if err != nil {
		if u.stream.err() == nil && bounded.N == 0 {
			err = errors.New("the head of the response is too long")
		}
		return nil, err
	}
	bounded.N = math.MaxInt64
	if resp.StatusCode == http.StatusSwitchingProtocols {
		u.rest = br
		resp.Body = struct {
			io.Reader
			io.WriteCloser
		}{u, u.stream}
		return resp, nil
	}
	// The body explains the refusal. It may be incomplete or missing.
	u.conn.ReplyTimeout(maxBodyTime)
	u.body, _ = io.ReadAll(io.LimitReader(resp.Body, maxBody))
	u.refusal = resp
	return nil, errRefused
}
