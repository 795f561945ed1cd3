package serve

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"mime"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/message"
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
		n, err := strconv.Atoi(number)
		if err != nil || !isMessage(kind) {
			return &fetch.Error{Code: fetch.ErrNotFound, Err: message.ErrNoPart}
		}
		p, err := message.OpenPart(content, n)
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
	resp.Body = struct {
		io.Reader
		io.Closer
	}{content, resp.Body}
	return nil
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
