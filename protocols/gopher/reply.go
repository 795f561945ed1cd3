package gopher

import (
	"bytes"
	"io"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/uri"
)

func expectedType(g uri.Gopher) itemType {
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

func (d *opener) reply(c *conn, req *fetch.Request, g uri.Gopher) (*fetch.Response, error) {
	typ, h, err := d.readHeader(c, g)
	if err != nil {
		return nil, err
	}
	if typ.text || h.size == untilDot {
		c.net.PieceLines()
	}
	content := c.content(h, isView(g))
	if typ.text && h.size == untilClose {
		content = &textReader{r: c.Reader}
	}
	if typ.media == attributesMedia {
		return attributesReply(c, req, g, content)
	}
	head, err := c.head(h)
	if err != nil {
		return nil, err
	}
	resp := &fetch.Response{URL: req.URL, Body: c}
	if content != c.Reader {
		resp.Body = driver.Body{Reader: content, Closer: c}
	}
	resp.ContentType = typ.contentType(head)
	resp.Name = fetch.SafeName(g.Selector)
	resp.Text = typ.text
	resp.Size, resp.Framing = max(h.size, -1), fetch.FramedByProtocol
	if h.size == untilClose {
		resp.Framing = fetch.FramedByClose
	}
	if isMenu(typ.media) {
		resp.Kind = fetch.KindListing
		if m := newMenu(g); typ.media == plusMenuMedia {
			resp.Parse = m.entriesWithAttributes
		} else {
			resp.Parse = m.entries
		}
	}
	return resp, nil
}

// readHeader reads the header of a Gopher+ reply, if there is one, and returns the type of the content.
// It returns an error if the reply is one.
func (d *opener) readHeader(c *conn, g uri.Gopher) (itemType, header, error) {
	if g.Plus != "" {
		switch h, plus, err := c.plusHeader(); {
		case err != nil:
			return itemType{}, h, err
		case plus && h.isError:
			return itemType{}, h, d.plusFailure(c, h, g)
		case plus:
			c.traceLine(h.String())
			return expectedType(g), h, nil
		}
	}
	if err := c.failure(); err != nil {
		return itemType{}, plain, err
	}
	if expectedType(g).media != attributesMedia {
		return itemTypes[g.Type], plain, nil
	}
	if _, err := c.Peek(1); err == io.EOF {
		return itemType{}, plain, fetch.ErrTruncated.Retryf(
			"the server closed the connection without a response")
	}
	return itemType{}, plain, fetch.ErrNotRetrievable.Errorf("the server has no Gopher+ attributes")
}

// head peeks at the first bytes after the header. It returns at least one byte unless the content
// is empty.
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

// attributesReply returns the response for the attributes of one item. They are short, and are
// returned both as the body and in the header.
func attributesReply(
	c *conn, req *fetch.Request, g uri.Gopher, content io.Reader,
) (*fetch.Response, error) {
	data, err := io.ReadAll(io.LimitReader(content, maxAttributes+1))
	if err != nil {
		return nil, err
	}
	list, err := parseAttributes(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	resp := metadataResponse(req, g, list)
	resp.Name = attributesName(resp.Name)
	resp.ContentType, resp.Size = attributesMedia+charset(data), int64(len(data))
	resp.Body = io.NopCloser(bytes.NewReader(data))
	c.Close()
	return resp, nil
}

// attributesName returns a file name for attributes that differs from that of the item.
func attributesName(item string) string {
	if item == "" {
		return ""
	}
	return item + ".attributes"
}

func metadataResponse(req *fetch.Request, g uri.Gopher, list []Attribute) *fetch.Response {
	resp := &fetch.Response{URL: req.URL}
	resp.Size, resp.Name = -1, fetch.SafeName(g.Selector)
	resp.Header, resp.ModTime = fields(list), modTime(list)
	if form, ok := parseForm(list); ok {
		resp.Form = &form
	}
	g.Plus = strings.TrimPrefix(g.Plus, "?")
	typ := expectedType(g)
	resp.ContentType = typ.media
	if v := views(list); len(v) > 0 && len(g.Plus) < 2 {
		resp.ContentType = v[0].media
	}
	if isMenu(typ.media) {
		resp.Kind = fetch.KindListing
	}
	return resp
}
