package smallnet

import (
	"cmp"
	"errors"
	"io"
	"mime"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
)

const (
	// MaxText limits the text after the status of a response, in bytes. It is Gemini's limit;
	// Spartan has none.
	MaxText = 1024
	// defaultType is the media type of a success without one.
	defaultType = "text/gemini; charset=utf-8"
)

// A HeaderFormat describes the headers of a protocol's responses.
type HeaderFormat struct {
	Protocol        string // for errors
	Lowest, Highest int    // the statuses, which have the same number of digits
}

// A Response is a header, which is a line with a status and a text, and a reader of the body.
type Response struct {
	*wire.Reader
	io.Closer
	Status int
	Text   string // as received, without surrounding blanks
}

// Read reads the header of the response on conn.
func (f HeaderFormat) Read(conn *fetch.Conn) (Response, error) {
	r := Response{Reader: wire.NewReader(conn, f.digits()+len(" ")+MaxText), Closer: conn}
	line, err := r.Line()
	switch {
	case err == io.EOF:
		return Response{}, fetch.ErrNetwork.Retryf("the server closed the connection without a response")
	case err != nil:
		return Response{}, err
	}
	if trace := conn.Line(); trace != nil {
		trace(false, wire.Text(string(line)))
	}
	if r.Status, r.Text, err = f.Parse(string(line)); err != nil {
		return Response{}, err
	}
	return r, nil
}

func (f HeaderFormat) digits() int { return len(strconv.Itoa(f.Highest)) }

// Parse parses a header: the digits of the status, a space and the text, which may be missing.
func (f HeaderFormat) Parse(line string) (status int, text string, err error) {
	digits, text, _ := strings.Cut(line, " ")
	text = strings.TrimSpace(text)
	n, err := strconv.ParseUint(digits, 10, 16)
	status = int(n)
	if err != nil || len(digits) != f.digits() || status < f.Lowest || status > f.Highest ||
		wire.CheckLine(text) != nil || len(text) > MaxText {
		return 0, "", fetch.ErrProtocol.Errorf("not a %s response: %s", f.Protocol,
			wire.Text(line[:min(len(line), 80)]))
	}
	return status, text, nil
}

// Reply returns the header for display.
func (r *Response) Reply() fetch.Reply { return fetch.Reply{Code: r.Status, Text: wire.Text(r.Text)} }

// Success returns the response for a success. The text is a media type, and the body ends with the
// connection. A gemtext body has the links of page.
func (r *Response) Success(req *fetch.Request, page Page) (*fetch.Response, error) {
	contentType := cmp.Or(r.Text, defaultType)
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) || !strings.Contains(media, "/") {
		return nil, fetch.ErrProtocol.Errorf("the server sent an invalid media type %q", contentType)
	}
	resp := &fetch.Response{URL: req.URL, Body: r}
	resp.ContentType, resp.Size, resp.Reply = contentType, -1, r.Reply()
	resp.Name = fetch.SafeName(req.URL.LastSegment())
	resp.Framing = fetch.FramedByClose
	switch {
	case media == "text/gemini":
		resp.Parse = page.Links
		if req.Op == fetch.OpList {
			resp.Kind = fetch.KindListing
		}
	case req.Op == fetch.OpList:
		return nil, fetch.ErrNotRetrievable.Errorf("%s, not a page of links: %w", media,
			errors.ErrUnsupported)
	}
	return resp, nil
}

// Respond returns the response that interpret returns for req. It closes the connection if there is
// no body to read.
func (r *Response) Respond(
	req *fetch.Request, interpret func(*fetch.Request) (*fetch.Response, error),
) (*fetch.Response, error) {
	resp, err := interpret(req)
	if err != nil {
		r.Close()
		return nil, err
	}
	if req.Op == fetch.OpStat || len(resp.Location) > 0 {
		r.Close()
		resp.Body, resp.Parse = fetch.NoBody, nil
	}
	return resp, nil
}
