package gopher

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/uri"
)

// expected returns what kind of answer a request for g should get.
func expected(g uri.Gopher) itemType {
	switch {
	case strings.HasPrefix(g.Plus, "!"):
		return itemType{media: attributesMedia}
	case strings.HasPrefix(g.Plus, "$"):
		return itemType{media: plusMenuMedia, text: true}
	case len(g.Plus) > 1:
		media := parseView(g.Plus[1:]).media
		return itemType{media: media, text: strings.HasPrefix(media, "text/") || isMenu(media)}
	}
	return itemTypes[g.Type]
}

func isMenu(media string) bool { return media == menuMedia || media == plusMenuMedia }

// reply makes a response of what the server sends.
func (d *opener) reply(c *conn, req *driver.Request, g uri.Gopher) (*driver.Response, error) {
	what, h, plus := expected(g), plain, false
	if g.Plus != "" {
		var err error
		if h, plus, err = c.plusHeader(); err != nil {
			return nil, err
		}
	}
	switch {
	case plus && h.failed:
		return nil, d.plusFailure(c, h, g)
	case plus:
		c.received(h.String())
	default:
		if err := c.failure(); err != nil {
			return nil, err
		}
		if what.media == attributesMedia {
			if _, err := c.Peek(1); err == io.EOF {
				return nil, &driver.Error{Code: driver.ErrTruncated, Retry: true, Err: errors.New("the connection ended without an answer")}
			}
			return nil, &driver.Error{Code: driver.ErrNotRetrievable, Err: errors.New("the server gives no Gopher+ attributes")}
		}
		what = itemTypes[g.Type]
	}
	if what.text || h.size == untilDot {
		c.net.PieceLines()
	}
	content := c.content(h)
	if what.text && h.size == untilClose {
		content = &textReader{r: c.Reader}
	}
	if what.media == attributesMedia {
		return attributesReply(c, req, g, content)
	}
	head, err := c.head(h)
	if err != nil {
		return nil, err
	}
	resp := &driver.Response{URL: req.URL, Body: c}
	if content != c.Reader {
		resp.Body = &itemBody{content, c}
	}
	resp.ContentType = what.contentType(head)
	resp.Name = driver.SafeName(g.Selector)
	resp.Text = what.text
	resp.Size, resp.Framing = h.size, driver.FramedByProtocol
	if h.size < 0 {
		resp.Size = -1
	}
	if h.size == untilClose {
		resp.Framing = driver.FramedByClose
	}
	if isMenu(what.media) {
		resp.Kind = driver.KindListing
		if m := newMenu(g); what.media == plusMenuMedia {
			resp.Parse = m.entriesWithAttributes
		} else {
			resp.Parse = m.entries
		}
	}
	return resp, nil
}

// head returns the first bytes after the header without reading them: at least one, unless there is
// none.
func (c *conn) head(h header) ([]byte, error) {
	if h.size == 0 {
		return nil, nil
	}
	if _, err := c.Peek(1); err != nil {
		return nil, notEOF(err)
	}
	head, _ := c.Peek(c.Buffered())
	if h.size > 0 && h.size < int64(len(head)) {
		head = head[:h.size]
	}
	return head, nil
}

// attributesReply is the response to a request for the attributes of one item, which are few and
// are delivered both as they came and in the header.
func attributesReply(c *conn, req *driver.Request, g uri.Gopher, content io.Reader) (*driver.Response, error) {
	data, err := io.ReadAll(io.LimitReader(content, maxAttributes+1))
	if err != nil {
		return nil, err
	}
	list, err := parseAttributes(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	resp := described(req, g, list)
	resp.Name = attributesName(resp.Name)
	resp.ContentType, resp.Size = attributesMedia+charset(data), int64(len(data))
	resp.Body = io.NopCloser(bytes.NewReader(data))
	c.Close()
	return resp, nil
}

// attributesName returns a file name for attributes that is not to be taken for that of the item.
func attributesName(item string) string {
	if item == "" {
		return ""
	}
	return item + ".attributes"
}

// described returns a response with the metadata in the attributes of g.
func described(req *driver.Request, g uri.Gopher, list []Attribute) *driver.Response {
	resp := &driver.Response{URL: req.URL}
	resp.Size, resp.Name = -1, driver.SafeName(g.Selector)
	resp.Header, resp.ModTime = fields(list), modTime(list)
	if form, ok := parseForm(list); ok {
		resp.Form = &form
	}
	g.Plus = strings.TrimPrefix(g.Plus, "?")
	what := expected(g)
	resp.ContentType = what.media
	if v := views(list); len(v) > 0 && len(g.Plus) < 2 {
		resp.ContentType = v[0].media
	}
	if isMenu(what.media) {
		resp.Kind = driver.KindListing
	}
	return resp
}

// An itemBody is the content of an item, and the connection that it is a part of.
type itemBody struct {
	io.Reader
	io.Closer
}
