package http

import (
	"mime"
	"net/http"
	"net/textproto"
	"path"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols/internal/httphead"
)

// response returns the driver's response: a body, a redirect, or an error. Unless it is a body, the
// caller must discard the HTTP body.
func (ex *exchange) response() (*fetch.Response, error) {
	switch code := ex.resp.StatusCode; {
	case code == http.StatusPartialContent:
		return ex.partial()
	case code/100 == 2 && ex.target.ranged &&
		code != http.StatusOK && code != http.StatusNonAuthoritativeInfo:
		// It is neither the range nor the resource, and must not replace bytes of an earlier response.
		return nil, ex.fail(fetch.ErrChanged, "the server sent neither the range nor the whole resource")
	case code/100 == 2:
		return ex.content(fetch.Range{}, 0)
	case code == http.StatusNotModified:
		if !ex.target.conditional {
			return nil, ex.fail(fetch.ErrProtocol, "status 304 for an unconditional request")
		}
		return nil, ex.fail(fetch.ErrNotModified, "")
	case code == http.StatusMultipleChoices && ex.resp.Header.Get("Location") == "" && !ex.target.ranged:
		return ex.content(fetch.Range{}, 0) // the list of choices (RFC 9110, section 15.4.1)
	case code/100 == 3:
		return ex.redirect()
	}
	return nil, ex.refusal()
}

// refusal classifies an error status (RFC 9110, sections 15.5 and 15.6).
func (ex *exchange) refusal() error {
	code := ex.resp.StatusCode
	switch code {
	case http.StatusUnauthorized, http.StatusProxyAuthRequired:
		return ex.fail(fetch.ErrAuth, "")
	case http.StatusNotFound, http.StatusGone:
		return ex.fail(fetch.ErrNotFound, "")
	case http.StatusRequestedRangeNotSatisfiable:
		total, ok := strings.CutPrefix(ex.resp.Header.Get("Content-Range"), "bytes */")
		if size, err := strconv.ParseInt(total, 10, 64); ok && err == nil && size >= 0 {
			return ex.fail(fetch.ErrRange, "the content has %d bytes", size)
		}
		return ex.fail(fetch.ErrRange, "")
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusRequestTimeout:
		e := ex.fail(fetch.ErrBusy, "")
		e.Retry, e.RetryAfter = true, httphead.RetryAfter(ex.resp.Header)
		return e
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		e := ex.fail(fetch.ErrServer, "")
		e.Retry = true
		return e
	}
	switch code / 100 {
	case 4:
		return ex.fail(fetch.ErrRefused, "")
	case 5:
		return ex.fail(fetch.ErrServer, "")
	}
	return ex.fail(fetch.ErrProtocol, "unknown status")
}

func (ex *exchange) redirect() (*fetch.Response, error) {
	switch ex.resp.StatusCode {
	case http.StatusMultipleChoices, http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default: // 305 would choose a proxy for us
		return nil, ex.fail(fetch.ErrRefused, "redirects with this status are not followed")
	}
	text := ex.resp.Header.Get("Location")
	if text == "" {
		return nil, ex.fail(fetch.ErrRedirect, "redirect without Location")
	}
	loc, err := uri.ParseRef(text)
	if err != nil {
		return nil, ex.fail(fetch.ErrRedirect, "%w", err)
	}
	m := ex.meta()
	m.Digests = ex.linkedDigests()
	return &fetch.Response{Meta: m, Location: []uri.URI{loc}, Body: fetch.NoBody, Resend: ex.resend()}, nil
}

// resend reports whether the redirected request keeps its method and body. Only POST becomes GET by
// 301 or 302; a PUT that did would be lost (RFC 9110, sections 15.4.2 and 15.4.3).
func (ex *exchange) resend() bool {
	switch ex.resp.StatusCode {
	case http.StatusSeeOther:
		return false
	case http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return ex.sent.Method != http.MethodPost
}

func (ex *exchange) meta() fetch.Meta {
	h := ex.resp.Header
	m := fetch.Meta{
		ContentType: contentType(h),
		Size:        ex.resp.ContentLength,
		Name:        suggestedName(h.Get("Content-Disposition")),
		Reply:       httphead.Reply(ex.resp),
		Header:      textproto.MIMEHeader(h),
	}
	if ex.resp.StatusCode == http.StatusNoContent || ex.resp.StatusCode == http.StatusResetContent {
		m.Kind = fetch.KindNone
	}
	m.ETag = h.Get("ETag")
	if modified := h.Get("Last-Modified"); modified != "" { // or ParseTime would make three errors
		if t, err := http.ParseTime(modified); err == nil {
			m.ModTime = t
		}
	}
	return m
}

// content returns the body. R and total give its position in the resource.
func (ex *exchange) content(r fetch.Range, total int64) (*fetch.Response, error) {
	m := ex.meta()
	m.Range, m.Total = r, total
	if r.Length > 0 {
		m.Size = r.Length
	}
	if ex.endsByClose() {
		m.Framing = fetch.FramedByClose
	}
	b := newBody(ex)
	codings := knownCodings(ex.resp.Header)
	decoded := len(codings) > 0 && (ex.target.coded || ex.isPage())
	partial := ex.resp.StatusCode == http.StatusPartialContent
	m.Digests = ex.digests(partial, decoded)
	b.trailer = ex.trailerDigests(partial)
	out := &fetch.Response{Meta: m, Body: b}
	if decoded {
		out.Size = -1
		out.ETag = weak(m.ETag) // it identifies the encoded bytes
		out.Decoded = true
		out.Body = newDecoder(b, codings, fetch.VerifyDigests(m.Digests))
	}
	return out, nil
}

// isPage reports whether the response is a document that links are read from. Its content coding is
// removed even if it was not requested, unless the caller handles codings or the URL names a compressed
// file.
func (ex *exchange) isPage() bool {
	if ex.target.ranged || ex.target.header.Get("Accept-Encoding") != "identity" {
		return false
	}
	media, _, _ := mime.ParseMediaType(contentType(ex.resp.Header))
	switch media {
	case "text/html", "application/xhtml+xml", "text/css":
		switch path.Ext(ex.req.URL.Path()) {
		case ".gz", ".br", ".zst":
			return false
		}
		return true
	}
	return false
}

// endsByClose reports whether the end of the body looks like a lost connection. Over HTTP/1.1 this
// is a close-delimited body; with TLS the client distinguishes them (RFC 9112, section 9.8). Over
// HTTP/3 it is a body without a length, because quic-go reports a truncated stream as complete.
func (ex *exchange) endsByClose() bool {
	r := ex.resp
	return (r.ProtoMajor == 1 || r.ProtoMajor == 3) && r.ContentLength < 0 && len(r.TransferEncoding) == 0
}

// weak makes an entity tag weak, so that it cannot guard a range.
func weak(tag string) string {
	if isStrong(tag) {
		return "W/" + tag
	}
	return tag
}
