package serve

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/codec/marc"
)

// marc writes MARC records (ISO 2709), as returned by Z39.50 servers, as lists of fields. A link
// downloads the original bytes.
func (p *page) marc(r io.Reader, name string, size int64) error {
	content, err := io.ReadAll(io.LimitReader(r, maxText+1))
	text, rest := marcText(content[:min(len(content), maxText)])
	p.putFile(name, "application/marc", size)
	if text != "" {
		if err := p.text(strings.NewReader(text), "", fixedWidth); err != nil {
			return err
		}
	}
	switch {
	case err != nil:
		return err
	case len(content) > maxText:
		p.putCut()
	case len(rest) > 0:
		return &fetch.Error{Code: fetch.ErrProtocol, Err: errors.New("the rest is not a MARC record")}
	}
	return nil
}

func marcText(content []byte) (text string, rest []byte) {
	var b strings.Builder
	for len(content) >= 5 {
		length, err := strconv.ParseUint(string(content[:5]), 10, 32)
		if err != nil || length < 5 || length > uint64(len(content)) {
			break
		}
		rec, err := marc.Parse(content[:length])
		if err != nil {
			break
		}
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		b.WriteString(rec.Text(func(s string) string { return readable([]byte(s)) }))
		content = bytes.TrimLeft(content[length:], "\r\n") // some files have line breaks between records
	}
	return b.String(), content
}
