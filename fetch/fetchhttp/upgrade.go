package fetchhttp

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/textproto"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/drain"
)

const (
	// upgradeTime limits the time until a server has answered a request for another protocol, and
	// maxUpgradeHead its answer, in bytes.
	upgradeTime    = 30 * time.Second
	maxUpgradeHead = 256 << 10
)

// wantsUpgrade reports whether a request asks for another protocol (RFC 9110, section 7.8).
func wantsUpgrade(r *http.Request) bool {
	return r.ProtoAtLeast(1, 1) && r.ContentLength == 0 && r.Header.Get("Upgrade") != "" &&
		httpguts.HeaderValuesContainsToken(r.Header["Connection"], "upgrade")
}

// upgrade passes on a request for another protocol, such as a WebSocket. If the server agrees, it passes
// on all that follows, without recording it. It reports whether it has used the connection of the client
// for that; otherwise it has answered the request.
func (p *Proxy) upgrade(w http.ResponseWriter, r *http.Request, root uri.URI) bool {
	if status, text := p.refusedRequest(r, root); status != 0 {
		http.Error(w, text, status)
		return false
	}
	ctx, cancel := drain.Until(r.Context())
	defer cancel()
	far, err := p.dial(ctx, tlsTunnelScheme, root.HostPort(443))
	if err != nil {
		http.Error(w, fetch.Printable(err.Error()), Status(err))
		return false
	}
	defer far.Close()
	defer context.AfterFunc(ctx, func() { far.Close() })()
	late := time.AfterFunc(upgradeTime, func() { far.Close() })
	defer late.Stop()
	limit := &io.LimitedReader{R: far, N: maxUpgradeHead}
	in := bufio.NewReader(limit)
	resp, err := p.askUpgrade(far, in, r, root)
	if err != nil {
		http.Error(w, fetch.Printable(err.Error()), http.StatusBadGateway)
		return false
	}
	defer resp.Body.Close()
	late.Stop()
	limit.N = math.MaxInt64
	if resp.StatusCode != http.StatusSwitchingProtocols {
		w.Header().Set("Connection", "close")
		answer(w, r, &fetch.Response{Body: resp.Body, Version: "1.1",
			Meta: fetch.Meta{Header: textproto.MIMEHeader(resp.Header), Size: resp.ContentLength,
				Reply: fetch.Reply{Code: resp.StatusCode}}}, false)
		return false
	}
	h := endToEnd(resp.Header)
	h.Add("Via", "1.1 "+product)
	near, err := hijack(w)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return false
	}
	h.Set("Connection", "Upgrade")
	h["Upgrade"] = resp.Header["Upgrade"]
	if err := writeHead(near, "HTTP/1.1 101 Switching Protocols", h); err != nil {
		near.Close()
		return true
	}
	join(ctx, near, upgraded{in, far})
	return true
}

// askUpgrade sends the request, and returns the final response to it.
func (p *Proxy) askUpgrade(
	far io.Writer, in *bufio.Reader, r *http.Request, root uri.URI,
) (*http.Response, error) {
	h := endToEnd(r.Header)
	h.Set("Host", strings.TrimPrefix(strings.TrimSuffix(root.String(), "/"), "https://"))
	h.Set("Connection", "Upgrade")
	h["Upgrade"] = r.Header["Upgrade"]
	h.Del("Expect")
	h.Del("Proxy-Authorization")
	h.Add("Via", "1.1 "+p.pseudonym())
	if err := writeHead(far, r.Method+" "+r.RequestURI+" HTTP/1.1", h); err != nil {
		return nil, err
	}
	for {
		resp, err := http.ReadResponse(in, r)
		switch {
		case err != nil:
			return nil, err
		case resp.StatusCode >= 200 || resp.StatusCode == http.StatusSwitchingProtocols:
			return resp, nil
		case resp.StatusCode < 100:
			return nil, fmt.Errorf("the server sent status %03d", resp.StatusCode)
		}
	}
}

func writeHead(w io.Writer, line string, h http.Header) error {
	var b strings.Builder
	b.WriteString(line + "\r\n")
	h.Write(&b)
	_, err := io.WriteString(w, b.String()+"\r\n")
	return err
}

// An upgraded is a connection to a server, some of whose bytes have been buffered.
type upgraded struct {
	in *bufio.Reader
	io.WriteCloser
}

func (u upgraded) Read(p []byte) (int, error) { return u.in.Read(p) }

func (u upgraded) CloseWrite() error { return closeWrite(u.WriteCloser) }
