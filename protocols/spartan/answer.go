package spartan

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"mime"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/gemtext"
	"github.com/urlget/urlget/internal/wire"
)

// The statuses.
const (
	success     = 2
	redirect    = 3
	clientError = 4
	serverError = 5
)

// maxHeader bounds the header of a response, in bytes without CRLF.
const maxHeader = len("2 ") + maxMeta

// defaultType is the media type of a response that gives none.
const defaultType = "text/gemini; charset=utf-8"

// An answer is the header of a response, and a reader for what follows it.
type answer struct {
	*wire.Reader
	io.Closer
	status int
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

// parseHeader parses a header: a digit, a space and the rest, which may be missing.
func parseHeader(line string) (status int, meta string, err error) {
	digit, meta, _ := strings.Cut(line, " ")
	meta = strings.TrimSpace(meta)
	if len(digit) != 1 || digit[0] < '2' || digit[0] > '5' || wire.CheckLine(meta) != nil || len(meta) > maxMeta {
		return 0, "", &fetch.Error{Code: fetch.ErrProtocol, Err: fmt.Errorf("not an answer of Spartan: %s", wire.Text(line[:min(len(line), 80)]))}
	}
	return int(digit[0] - '0'), meta, nil
}

func (a *answer) reply() fetch.Reply { return fetch.Reply{Code: a.status, Text: wire.Text(a.meta)} }

// response returns the answer as a response, or an error.
func (a *answer) response(req *fetch.Request) (*fetch.Response, error) {
	switch a.status {
	case success:
		return a.success(req)
	case redirect:
		to, err := uri.ParseRef(a.meta)
		// A server redirects within itself, so there is no host in it.
		if err != nil || !strings.HasPrefix(a.meta, "/") || strings.HasPrefix(a.meta, "//") {
			return nil, &fetch.Error{Code: fetch.ErrRedirect, Reply: a.reply(), Err: errors.New("the server redirects to what is no path of its own")}
		}
		resp := &fetch.Response{Location: []uri.URI{to}, Body: fetch.NoBody}
		resp.Reply = a.reply()
		return resp, nil
	case serverError:
		return nil, &fetch.Error{Code: fetch.ErrServer, Retry: true, Reply: a.reply()}
	}
	return nil, &fetch.Error{Code: refusal(a.meta), Reply: a.reply()}
}

// absent are words by which servers say that there is no such thing: the protocol has one status for
// all that is wrong with a request.
var absent = []string{"not found", "not exist", "no such", "nothing here", "nonexist", "no route", "gone"}

func refusal(text string) fetch.Code {
	text = strings.ToLower(text)
	for _, words := range absent {
		if strings.Contains(text, words) {
			return fetch.ErrNotFound
		}
	}
	return fetch.ErrRefused
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
	resp.Framing = fetch.FramedByClose
	switch {
	case media == "text/gemini":
		resp.Parse = gemtext.Page{Base: req.URL, Prompts: true}.Links
		if req.Op == fetch.OpList {
			resp.Kind = fetch.KindListing
		}
	case req.Op == fetch.OpList:
		return nil, &fetch.Error{Code: fetch.ErrNotRetrievable, Err: fmt.Errorf("%s, not a page of links: %w", media, errors.ErrUnsupported)}
	}
	return resp, nil
}
