package serve

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/message"
	"github.com/urlget/urlget/fetch/uri"
)

const (
	maxNested = 8
	// maxListedParts and maxPictures limit what the page of a message lists and shows.
	maxListedParts = 200
	maxPictures    = 20
)

func isMessage(kind string) bool { return kind == "message/rfc822" || kind == "message/news" }

// openPart replaces a message by one of its parts, decoded. The path has the number of the part, and
// after a dot that of a part of it if it is a message itself.
func openPart(resp *fetch.Response, path string) error {
	kind, _, _ := mime.ParseMediaType(resp.ContentType)
	if resp.Kind != fetch.KindObject || strings.Count(path, ".") >= maxNested {
		return &fetch.Error{Code: fetch.ErrNotFound, Err: message.ErrNoPart}
	}
	content := io.Reader(resp.Body)
	for number := range strings.SplitSeq(path, ".") {
		if !isMessage(kind) {
			return &fetch.Error{Code: fetch.ErrNotFound, Err: message.ErrNoPart}
		}
		p, err := openOne(content, number)
		switch {
		case errors.Is(err, message.ErrNoPart):
			return &fetch.Error{Code: fetch.ErrNotFound, Err: err}
		case errors.Is(err, message.ErrTooManyParts):
			return &fetch.Error{Code: fetch.ErrTooLarge, Err: err}
		case err != nil:
			return err
		}
		kind, content = p.ContentType, p.Body()
		resp.ContentType = cmp.Or(mime.FormatMediaType(kind, p.Params), kind)
		resp.Name = p.Name
	}
	resp.Size, resp.ETag, resp.Header = -1, "", nil
	resp.Body = readCloser{content, resp.Body}
	return nil
}

// openOne opens a part by its number, or by its Content-ID in hexadecimal after an "x".
func openOne(content io.Reader, name string) (*message.Part, error) {
	if text, ok := strings.CutPrefix(name, "x"); ok {
		if id, err := hex.DecodeString(text); err == nil && len(id) > 0 {
			return message.OpenContentID(content, string(id))
		}
	}
	n, err := strconv.Atoi(name)
	if err != nil {
		return nil, message.ErrNoPart
	}
	return message.OpenPart(content, n)
}

// pictureLink returns the link to the part of the same message with the Content-ID of a URL (RFC 2392), or
// "#" for other URLs. Page is the address of a part.
func (s *Server) pictureLink(page address, u uri.URI) string {
	c, err := uri.ParseCID(u)
	if err != nil {
		return "#"
	}
	if own := s.bodies.get(page.cacheID); own != nil && own.part == page.part {
		page.cacheID = "" // that of the page alone
	}
	path := page.part[:strings.LastIndexByte(page.part, '.')+1]
	page.part = path + "x" + hex.EncodeToString([]byte(c.ContentID))
	return s.link("/content", page)
}

type partRow struct {
	Name, Type, Size string
	Link, Download   string
	Picture          string // the link to the picture, "" if it is none
}

func (p *page) parts(text []byte, cut bool) {
	var rows []partRow
	pictures, more := 0, cut
	for part, err := range message.Parts(bytes.NewReader(text)) {
		if err != nil || len(rows) == maxListedParts {
			more = true
			break
		}
		size, err := io.Copy(io.Discard, part.Body())
		a := p.here
		a.part = strconv.Itoa(part.Number)
		if p.address.part != "" {
			a.part = p.address.part + "." + a.part
		}
		row := partRow{Name: fetch.Printable(cmp.Or(part.Name, fmt.Sprintf("part %d", part.Number))),
			Type: fetch.Printable(part.ContentType)}
		row.Link, row.Download = p.s.link("/view", a), p.s.link("/download", a)
		if err == nil {
			row.Size = sizeText(size)
		}
		if strings.HasPrefix(part.ContentType, "image/") && pictures < maxPictures {
			pictures++
			row.Picture = p.s.link("/content", a)
		}
		rows = append(rows, row)
	}
	if len(rows) == 1 && !more && rows[0].Type == "text/plain" {
		return
	}
	p.put("parts", struct {
		Rows []partRow
		More bool
	}{rows, more})
}
