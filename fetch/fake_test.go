package fetch_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/servers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A fakeWeb is a driver that serves redirects and texts from a map. It records its requests.
type fakeWeb struct {
	mu       sync.Mutex
	requests []fetch.Request
	// pages maps URLs to a text, to "-> URL" for a redirect ("-> a | b" for a choice), or to "! URL"
	// for a URL that the driver opens with Env.Open.
	pages map[string]string
	env   fetch.Env
}

func (w *fakeWeb) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	w.mu.Lock()
	w.requests = append(w.requests, *req)
	w.mu.Unlock()
	page, ok := w.pages[req.URL.WithoutUserinfo().WithoutFragment().String()]
	if !ok {
		return nil, &fetch.Error{Code: fetch.ErrNotFound, Reply: fetch.Reply{Code: 404, Text: "gone"}}
	}
	if to, ok := strings.CutPrefix(page, "! "); ok {
		return w.env.Open(ctx, &fetch.Request{URL: uri.MustParse(to), Op: req.Op})
	}
	resp := &fetch.Response{Meta: fetch.Meta{Size: int64(len(page))}, Body: io.NopCloser(strings.NewReader(page))}
	if to, ok := strings.CutPrefix(page, "-> "); ok {
		resp.Reply = fetch.Reply{Code: 302, Text: "Found"}
		for place := range strings.SplitSeq(to, " | ") {
			resp.Location = append(resp.Location, uri.MustParse(place))
		}
	}
	return resp, nil
}

// urls returns the requested URLs.
func (w *fakeWeb) urls() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []string
	for _, r := range w.requests {
		list = append(list, r.URL.String())
	}
	return list
}

// load registers w for http, https and ftp, for the local scheme file, for the session scheme telnet
// and for mailto, a scheme without operations.
func (w *fakeWeb) load(env fetch.Env, reg *fetch.Registry) {
	w.env = env
	get := []fetch.Op{fetch.OpGet}
	target := fetch.Traits{RedirectTarget: true}
	reg.Register(fetch.Scheme{Name: "http", Port: 80, Ops: get, ForwardProxy: true, Traits: target, Driver: w})
	reg.Register(fetch.Scheme{Name: "https", Port: 443, Ops: get, Traits: target, Driver: w})
	reg.Register(fetch.Scheme{Name: "ftp", Port: 21, Ops: get, ForwardProxy: true, Traits: target, Driver: w})
	reg.Register(fetch.Scheme{Name: "file", Ops: get, Local: true, Driver: w})
	reg.Register(fetch.Scheme{Name: "telnet", Port: 23, Ops: []fetch.Op{fetch.OpDial}, Driver: w})
	reg.Register(fetch.Scheme{Name: "mailto", Driver: w})
}

// noProxy keeps the tests independent of proxy variables in the environment.
func noProxy(uri.URI) (uri.URI, error) { return uri.URI{}, nil }

// text returns the content of rawURL.
func text(t *testing.T, c *fetch.Client, rawURL string) (string, error) {
	t.Helper()
	resp, err := c.Get(t.Context(), rawURL)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

// listen calls serve for each connection to addr until the test ends.
func listen(t *testing.T, serve func(net.Conn)) (addr string) {
	t.Helper()
	return servers.Start(t, servers.Config{}, func(c *servers.Conn) { serve(c.NetConn()) }).Addr
}

// answerHello reads a line and sends "hello".
func answerHello(c net.Conn) {
	if _, err := bufio.NewReader(c).ReadString('\n'); err == nil {
		io.WriteString(c, "hello")
	}
}

// lineDriver connects to the host of the URL and sends the path as a line. The body is the reply.
func lineDriver(env fetch.Env) fetch.DriverFunc {
	return func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
		conn, err := env.Dial(ctx, "tcp", req.URL.HostPort(7))
		if err != nil {
			return nil, err
		}
		conn.Bind(ctx)
		if _, err := io.WriteString(conn, req.URL.Path()+"\n"); err != nil {
			conn.Close()
			return nil, err
		}
		return &fetch.Response{Meta: fetch.Meta{Size: -1, Framing: fetch.FramedByClose}, Body: conn}, nil
	}
}

// loadLine registers lineDriver for the scheme x-line, with port 7.
func loadLine(env fetch.Env, reg *fetch.Registry) {
	reg.Register(fetch.Scheme{Name: "x-line", Port: 7, Ops: []fetch.Op{fetch.OpGet}, Driver: lineDriver(env)})
}
