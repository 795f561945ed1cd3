package fetchhttp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// forwardWeb forwards a request for http or https, and the response. It changes neither, except for what
// belongs to a connection (RFC 9110, section 7.6).
func (p *Proxy) forwardWeb(w http.ResponseWriter, r *http.Request, u uri.URI) {
	if status, text := p.refusedRequest(r, u); status != 0 {
		reject(w, status, text)
		return
	}
	if n, ok := maxForwards(r); ok {
		if n == 0 {
			answerLast(w, r)
			return
		}
		r.Header.Set("Max-Forwards", strconv.FormatUint(n-1, 10))
	}
	plain := p.Downgrade && u.Scheme() == "http"
	exchange := p.exchange
	if plain {
		r.Header.Set("Accept-Encoding", "identity") // links are replaced
		exchange = p.exchangeWhole
	}
	in := &interim{w: w, r: r}
	defer in.end()
	resp, err := exchange(httptrace.WithClientTrace(r.Context(),
		&httptrace.ClientTrace{Got1xxResponse: in.forward}), r, u)
	in.end()
	if err != nil {
		p.reportFailure(w, r, err)
		return
	}
	defer resp.Body.Close()
	answer(w, r, resp, plain)
}

// answer forwards a response. If plain is set, the client has no TLS.
func answer(w http.ResponseWriter, r *http.Request, resp *fetch.Response, plain bool) {
	h, code := w.Header(), resp.Reply.Code
	if resp.Version != "" {
		maps.Copy(h, endToEnd(resp.Header))
		setLength(h, r, resp)
	} else { // from an archive on the network, without a relay
		maps.Copy(h, allFields(resp))
		code = status(resp)
	}
	if h["Content-Type"] == nil {
		h["Content-Type"] = nil // net/http shall not guess
	}
	h.Add("Via", cmp.Or(resp.Version, "1.1")+" "+product)
	stateCapture(h, resp)
	if plain {
		downgrade(h, resp)
	}
	for name := range trailerOf(resp) {
		h.Add("Trailer", name)
	}
	w.WriteHeader(code)
	if r.Method == http.MethodHead {
		return
	}
	sendSoon(w, r, resp)
	for name, values := range trailerOf(resp) {
		h[http.TrailerPrefix+name] = values
	}
}

// stateCapture says when a response was captured (RFC 7089, section 2.1.1).
func stateCapture(h http.Header, resp *fetch.Response) {
	if c := resp.Capture; c != nil {
		h.Set("Memento-Datetime", c.Time.Format(http.TimeFormat))
	}
}

func trailerOf(resp *fetch.Response) http.Header {
	if resp.Trailer == nil {
		return nil
	}
	return trailerFields(resp.Trailer())
}

// reportFailure answers a request that had no response, or the refusal of an archive on the network.
func (p *Proxy) reportFailure(w http.ResponseWriter, r *http.Request, err error) {
	var e *fetch.Error
	if errors.As(err, &e) && httpStatus(e) != 0 && e.Reply.Code != http.StatusProxyAuthRequired {
		p.refuse(w, r, err)
		return
	}
	reject(w, failureStatus(err), err.Error())
}

// reject answers a request that the proxy does not forward, or that had no response. If the request is at
// fault, it ends the connection, because it may be unclear where the request ends.
func reject(w http.ResponseWriter, status int, text string) {
	if status != http.StatusBadGateway && status != http.StatusForbidden && status != http.StatusNotFound {
		w.Header().Set("Connection", "close")
	}
	http.Error(w, fetch.Printable(text), status)
}

// refusedRequest returns the status and the reason if a request is not forwarded.
func (p *Proxy) refusedRequest(r *http.Request, u uri.URI) (status int, text string) {
	_, login := u.User()
	_, fragment := u.Fragment()
	switch {
	case login, fragment: // RFC 9110, sections 4.2.4 and 7.1
		return http.StatusBadRequest, "a URL of http must have neither a login nor a fragment"
	case p.isLoop(r.Header):
		return http.StatusLoopDetected, "the proxy has forwarded this request before"
	case (r.Method == http.MethodHead || r.Method == http.MethodTrace) && r.ContentLength != 0:
		return http.StatusBadRequest, r.Method + " must not have content"
	case !r.ProtoAtLeast(1, 1) && r.Header["Content-Length"] == nil && // net/http ignores chunks
		(r.Method == http.MethodPost || r.Method == http.MethodPut || r.Method == http.MethodPatch):
		return http.StatusLengthRequired, r.Method + " must have a length in this version of HTTP"
	}
	return 0, ""
}

// exchange sends the request of a client to the server at u.
func (p *Proxy) exchange(ctx context.Context, r *http.Request, u uri.URI) (*fetch.Response, error) {
	req := &fetch.Request{URL: u, From: unknownOrigin(), NoCookies: true, Relay: true,
		Header: textproto.MIMEHeader(endToEnd(r.Header))}
	req.Header.Del("Host")
	req.Header.Del("Proxy-Authorization")
	req.Header.Add("Via", strings.TrimPrefix(r.Proto, "HTTP/")+" "+p.pseudonym())
	var body *requestBody
	if r.ContentLength != 0 {
		body = &requestBody{ReadCloser: r.Body, r: r}
		req.Body, req.ContentLength = body, r.ContentLength
		body.trailer = trailerFields(r.Trailer)
		if len(body.trailer) > 0 {
			req.Trailer = textproto.MIMEHeader(body.trailer)
		}
	} else {
		req.Header.Del("Expect")
	}
	if r.Method == http.MethodHead {
		req.Op = fetch.OpStat
	} else {
		req.Method = r.Method
	}
	resp, err := p.Client.Do(ctx, req)
	if err != nil && body != nil {
		if broken := body.failed.Load(); broken != nil {
			return nil, &fetch.Error{Op: "read", URL: u.Redacted(), Code: fetch.ErrRequest,
				Err: fmt.Errorf("the content of the request is broken: %w", *broken)}
		}
	}
	return resp, err
}

// A requestBody is the content that a client sends. It distinguishes its errors from those of the server.
type requestBody struct {
	io.ReadCloser
	r       *http.Request
	trailer http.Header // gets the values of the fields that the client has announced
	failed  atomic.Pointer[error]
}

func (b *requestBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch {
	case err == io.EOF:
		for name := range b.trailer {
			b.trailer[name] = b.r.Trailer[name]
		}
	case err != nil && !errors.Is(err, http.ErrBodyReadAfterClose):
		b.failed.Store(&err)
	}
	return n, err
}

// failureStatus returns the status for a request that had no response.
func failureStatus(err error) int {
	switch fetch.CodeOf(err) {
	case fetch.ErrPolicy:
		return http.StatusForbidden
	case fetch.ErrURL, fetch.ErrRequest:
		return http.StatusBadRequest
	case fetch.ErrNotFound: // in the archives of a proxy that sends nothing
		return http.StatusNotFound
	}
	return http.StatusBadGateway
}

// setLength sets the size of the content. The response to HEAD has that of GET.
func setLength(h http.Header, r *http.Request, resp *fetch.Response) {
	switch {
	case resp.Reply.Code == http.StatusNoContent, resp.Reply.Code == http.StatusNotModified:
	case r.Method == http.MethodHead:
		set(h, "Content-Length", resp.Header.Get("Content-Length"))
	case resp.Size >= 0:
		h.Set("Content-Length", strconv.FormatInt(resp.Size, 10))
	}
}

// interim forwards informational responses (RFC 9110, section 15.2), until the final one has arrived.
type interim struct {
	w     http.ResponseWriter
	r     *http.Request
	mu    sync.Mutex
	count int
	ended bool
}

// maxInterim limits the informational responses to a request, which net/http does not if they are read.
const maxInterim = 100

func (in *interim) forward(code int, fields textproto.MIMEHeader) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.count++; in.count > maxInterim {
		return &fetch.Error{Code: fetch.ErrProtocol,
			Err: fmt.Errorf("more than %d informational responses", maxInterim)}
	}
	if in.ended || !in.r.ProtoAtLeast(1, 1) {
		return nil
	}
	h := in.w.Header()
	kept := maps.Clone(h)
	clear(h)
	maps.Copy(h, endToEnd(fields))
	in.w.WriteHeader(code)
	clear(h)
	maps.Copy(h, kept)
	return nil
}

func (in *interim) end() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.ended = true
}

// maxForwards returns how often a request may still be forwarded (RFC 9110, section 7.6.2).
func maxForwards(r *http.Request) (n uint64, ok bool) {
	if r.Method != http.MethodTrace && r.Method != http.MethodOptions {
		return 0, false
	}
	n, err := strconv.ParseUint(r.Header.Get("Max-Forwards"), 10, 32)
	return n, err == nil
}

// answerLast answers a request that may not be forwarded. The answer to TRACE has no secrets (RFC 9110,
// section 9.3.8).
func answerLast(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodOptions {
		w.Header().Set("Allow", "CONNECT, DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT, TRACE")
		return
	}
	w.Header().Set("Content-Type", "message/http")
	fmt.Fprintf(w, "%s %s %s\r\nHost: %s\r\n", r.Method, r.RequestURI, r.Proto, r.Host)
	h := r.Header.Clone()
	maps.DeleteFunc(h, func(name string, _ []string) bool { return fetch.IsSecretField(name) })
	h.Write(w)
	io.WriteString(w, "\r\n")
}
