package gemini

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"mime"
	"strconv"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/gemtext"
	"github.com/urlget/urlget/internal/wire"
)

// The statuses that are treated differently from others of their class.
const (
	sensitiveInput = 11
	slowDown       = 44
)

// maxHeader bounds the header of a response, in bytes without CRLF.
const maxHeader = len("20 ") + maxMeta

// defaultType is the media type of a successful response that gives none.
const defaultType = "text/gemini; charset=utf-8"

// maxDelay bounds how long a server may ask the client to wait, in seconds.
const maxDelay = 1 << 31

// An answer is the header of a response, and a reader for what follows it.
type answer struct {
	*wire.Reader
	io.Closer
	status int    // two digits
	meta   string // the text after the status
}

// readAnswer reads the header of the answer on conn.
func readAnswer(conn *fetch.Conn) (*answer, error) {
	a := &answer{Reader: wire.NewReader(conn, maxHeader), Closer: conn}
	line, err := a.Line()
	switch {
	case err == io.EOF:
		return nil, &fetch.Error{Code: fetch.ErrNetwork, Retry: true, Err: errors.New("the server closed the connection without an answer")}
	case err != nil:
		return nil, err
	}
	if trace := conn.Trace(); trace != nil {
		trace(false, wire.Text(string(line)))
	}
	if a.status, a.meta, err = parseHeader(string(line)); err != nil {
		return nil, err
	}
	return a, nil
}

// parseHeader parses a header: two digits, a space and the rest, which may be missing.
func parseHeader(line string) (status int, meta string, err error) {
	malformed := &fetch.Error{Code: fetch.ErrProtocol, Err: fmt.Errorf("not an answer of Gemini: %s", wire.Text(line[:min(len(line), 80)]))}
	digits, meta, _ := strings.Cut(line, " ")
	if len(digits) != 2 || digits[0] < '1' || digits[0] > '6' || digits[1] < '0' || digits[1] > '9' {
		return 0, "", malformed
	}
	meta = strings.TrimSpace(meta)
	if wire.CheckLine(meta) != nil || len(meta) > maxMeta {
		return 0, "", malformed
	}
	status, _ = strconv.Atoi(digits)
	return status, meta, nil
}

// class returns the first digit of the status, which tells all that a client must know.
func (a *answer) class() int { return a.status / 10 }

// prompt returns the server's question, which is also the name of the field in the form.
func (a *answer) prompt() string { return cmp.Or(wire.Text(a.meta), "input") }

// filledIn returns the answer that a form gives to the server's question, if there is one.
func (a *answer) filledIn(form map[string][]string) (string, bool) {
	given, ok := form[a.prompt()]
	if !ok || a.class() != 1 {
		return "", false
	}
	return strings.Join(given, "\n"), true
}

func (a *answer) reply() fetch.Reply { return fetch.Reply{Code: a.status, Text: wire.Text(a.meta)} }

// response returns the answer as a response, or an error.
func (a *answer) response(req *fetch.Request) (*fetch.Response, error) {
	switch a.class() {
	case 2:
		return a.success(req)
	case 3:
		to, err := uri.Parse(a.meta)
		if err != nil || to.IsZero() {
			return nil, &fetch.Error{Code: fetch.ErrRedirect, Reply: a.reply(), Err: errors.New("the server redirects to an invalid URL")}
		}
		resp := &fetch.Response{Location: []uri.URI{to}, Body: fetch.NoBody}
		resp.Reply = a.reply()
		return resp, nil
	}
	return nil, a.failure(req)
}

func (a *answer) success(req *fetch.Request) (*fetch.Response, error) {
	contentType := cmp.Or(a.meta, defaultType)
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) || !strings.Contains(media, "/") {
		return nil, &fetch.Error{Code: fetch.ErrProtocol, Err: fmt.Errorf("the server names the media type %q", contentType)}
	}
	resp := &fetch.Response{URL: req.URL, Body: a}
	resp.ContentType, resp.Size, resp.Reply = contentType, -1, a.reply()
	resp.Name = fetch.SafeName(req.URL.LastSegment())
	resp.Framing = fetch.FramedByClose // over TLS, so the client can detect the end
	switch {
	case media == "text/gemini":
		resp.Parse = gemtext.Page{Base: req.URL}.Links
		if req.Op == fetch.OpList {
			resp.Kind = fetch.KindListing
		}
	case req.Op == fetch.OpList:
		return nil, &fetch.Error{Code: fetch.ErrNotRetrievable, Err: fmt.Errorf("%s, not a page of links: %w", media, errors.ErrUnsupported)}
	}
	return resp, nil
}

// failure returns the error that the answer reports.
func (a *answer) failure(req *fetch.Request) error {
	e := &fetch.Error{Reply: a.reply()}
	switch a.class() {
	case 1:
		return a.question(req, e)
	case 4:
		e.Code, e.Retry = fetch.ErrServer, true
		if a.status == 41 || a.status == slowDown {
			e.Code = fetch.ErrBusy
		}
		if wait, err := strconv.ParseInt(a.meta, 10, 64); a.status == slowDown && err == nil && wait > 0 {
			e.RetryAfter = time.Duration(min(wait, maxDelay)) * time.Second
		}
	case 5:
		e.Code = fetch.ErrServer
		switch a.status {
		case 51, 52:
			e.Code = fetch.ErrNotFound
		case 53, 59:
			e.Code = fetch.ErrRefused
		}
	case 6:
		e.Code = fetch.ErrAuth
		switch a.status {
		case 60:
			e.Err, e.Hint = errors.New("the server wants a client certificate"), "show one that it knows"
		case 61:
			e.Err, e.Hint = errors.New("the client certificate is not authorised for this"), "show another one"
		case 62:
			e.Err, e.Hint = errors.New("the client certificate is not valid"), "show another one: perhaps its dates are wrong"
		default:
			e.Err = errors.New("the server wants another client certificate")
		}
	}
	return e
}

// question completes the error for a URL that expects input.
func (a *answer) question(req *fetch.Request, e *fetch.Error) error {
	if a.status == sensitiveInput {
		e.Code, e.Reason = fetch.ErrNeedForm, fetch.Reason{Kind: fetch.ReasonForm, Question: a.prompt()}
		e.Err = &fetch.FormError{Form: fetch.Form{Fields: []fetch.Field{{Name: a.prompt(), Kind: fetch.FieldSecret}}}}
		e.Hint = "answer it"
		return e
	}
	e.Code = fetch.ErrNeedSearch
	if u, err := req.URL.WithSearch("words"); err == nil {
		e.Hint = "add the words after a question mark: " + u.Redacted()
	}
	return e
}
