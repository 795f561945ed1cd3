package smallnet

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"mime"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/driver/wire"
)

const (
	// MaxText bounds the text after the status of an answer, in bytes. It is Gemini's limit; Spartan
	// has none.
	MaxText = 1024
	// defaultType is the media type of a success that gives none.
	defaultType = "text/gemini; charset=utf-8"
)

// A Form says what the headers of a protocol's answers look like.
type Form struct {
	Protocol        string // for errors
	Lowest, Highest int    // the statuses, which have the same number of digits
}

// An Answer is a header, which is a line of a status and a text, and a reader for what follows it.
type Answer struct {
	*wire.Reader
	io.Closer
	Status int
	Text   string // as it was sent, without blanks around it
}

// Read reads the header of the answer on conn.
func (f Form) Read(conn *driver.Conn) (Answer, error) {
	a := Answer{Reader: wire.NewReader(conn, f.digits()+len(" ")+MaxText), Closer: conn}
	line, err := a.Line()
	switch {
	case err == io.EOF:
		return Answer{}, &driver.Error{Code: driver.ErrNetwork, Retry: true, Err: errors.New("the server closed the connection without an answer")}
	case err != nil:
		return Answer{}, err
	}
	if trace := conn.Trace(); trace != nil {
		trace(false, wire.Text(string(line)))
	}
	if a.Status, a.Text, err = f.Parse(string(line)); err != nil {
		return Answer{}, err
	}
	return a, nil
}

func (f Form) digits() int { return len(strconv.Itoa(f.Highest)) }

// Parse parses a header: the digits of the status, a space and the text, which may be missing.
func (f Form) Parse(line string) (status int, text string, err error) {
	digits, text, _ := strings.Cut(line, " ")
	text = strings.TrimSpace(text)
	n, err := strconv.ParseUint(digits, 10, 16)
	status = int(n)
	if err != nil || len(digits) != f.digits() || status < f.Lowest || status > f.Highest || wire.CheckLine(text) != nil || len(text) > MaxText {
		return 0, "", &driver.Error{Code: driver.ErrProtocol, Err: fmt.Errorf("not an answer of %s: %s", f.Protocol, wire.Text(line[:min(len(line), 80)]))}
	}
	return status, text, nil
}

// Reply returns the header as it may be shown.
func (a *Answer) Reply() driver.Reply { return driver.Reply{Code: a.Status, Text: wire.Text(a.Text)} }

// Success returns the response of an answer whose text is a media type and whose body ends with the
// connection. If that is gemtext, it has the links of page.
func (a *Answer) Success(req *driver.Request, page Page) (*driver.Response, error) {
	contentType := cmp.Or(a.Text, defaultType)
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) || !strings.Contains(media, "/") {
		return nil, &driver.Error{Code: driver.ErrProtocol, Err: fmt.Errorf("the server names the media type %q", contentType)}
	}
	resp := &driver.Response{URL: req.URL, Body: a}
	resp.ContentType, resp.Size, resp.Reply = contentType, -1, a.Reply()
	resp.Name = driver.SafeName(req.URL.LastSegment())
	resp.Framing = driver.FramedByClose
	switch {
	case media == "text/gemini":
		resp.Parse = page.Links
		if req.Op == driver.OpList {
			resp.Kind = driver.KindListing
		}
	case req.Op == driver.OpList:
		return nil, &driver.Error{Code: driver.ErrNotRetrievable, Err: fmt.Errorf("%s, not a page of links: %w", media, errors.ErrUnsupported)}
	}
	return resp, nil
}

// Respond returns the response that interpret makes of the answer to req. It closes the answer unless
// its body is to be read.
func (a *Answer) Respond(req *driver.Request, interpret func(*driver.Request) (*driver.Response, error)) (*driver.Response, error) {
	resp, err := interpret(req)
	if err != nil {
		a.Close()
		return nil, err
	}
	if req.Op == driver.OpStat || len(resp.Location) > 0 {
		a.Close()
		resp.Body, resp.Parse = driver.NoBody, nil
	}
	return resp, nil
}
