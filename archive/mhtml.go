package archive

import (
	"context"
	"fmt"
	"io"
	"net/mail"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/message"
	"github.com/urlget/urlget/fetch/uri"
)

// MHTML imports the parts of a page in one file (RFC 2557) as resources under the URLs of their
// Content-Location. Those without a URL, such as frames that only have a Content-ID, are reported as
// problems. The date is that of the header, else otherwise.
func (m *Importer) MHTML(ctx context.Context, file io.ReadSeeker, name string, otherwise time.Time) error {
	head, err := message.ReadHead(file, maxHead)
	if err != nil {
		return err
	}
	at, err := mail.ParseDate(message.ParseHeader(head).Get("Date"))
	if err != nil {
		at = otherwise
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	for p, err := range message.Parts(file) {
		if err == nil {
			err = fetch.ContextError(ctx)
		}
		if err != nil {
			return err
		}
		u, err := uri.ParseRef(p.Header.Get("Content-Location"))
		if err != nil || !u.IsAbs() || u.Host() == "" && !strings.HasPrefix(u.Path(), "/") {
			m.problem(fmt.Errorf("%s: part %d has no URL", name, p.Number))
			continue
		}
		contentType := p.Header.Get("Content-Type")
		if contentType == "" {
			contentType = p.ContentType
		}
		meta := &fetch.Meta{ContentType: contentType, Size: -1}
		if err := m.add(u, at, meta, p.Body()); err != nil {
			return err
		}
	}
	return nil
}
