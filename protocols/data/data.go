// Package data decodes data URLs, which contain their content (RFC 2397).
package data

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// Load registers the driver.
func Load(_ fetch.Env, reg *fetch.Registry) {
	reg.Register(fetch.Scheme{
		Name:    "data",
		Ops:     []fetch.Op{fetch.OpGet, fetch.OpStat},
		Ranges:  true,
		Summary: "data in the URL itself (RFC 2397)",
		Driver:  opener{},
	})
}

type opener struct{}

// constant is the entity tag of all content, because that of a given URL never changes.
const constant = `"constant"`

// Open decodes the URL.
func (opener) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	mediaType, content, err := parse(req.URL)
	if err != nil {
		return nil, &fetch.Error{Code: fetch.ErrURL, Err: err}
	}
	meta := fetch.Meta{ContentType: mediaType}
	meta.ETag = constant
	if req.IfChanged.ETag == constant && req.Range.IsZero() {
		return nil, &fetch.Error{Code: fetch.ErrNotModified}
	}
	if r := req.Range; !r.IsZero() && (req.IfChanged.IsZero() || req.IfChanged.ETag == constant) {
		total := int64(len(content))
		if r.Offset < 0 || r.Length < 0 || r.Offset >= total {
			return nil, fetch.ErrRange.Errorf("the content has %d bytes", total)
		}
		content = content[r.Offset:]
		if r.Length > 0 {
			content = content[:min(r.Length, int64(len(content)))]
		}
		meta.Range = fetch.Range{Offset: r.Offset, Length: int64(len(content))}
		meta.Total = total
	}
	meta.Size = int64(len(content))
	if req.Op == fetch.OpStat {
		return &fetch.Response{Meta: meta, Body: http.NoBody}, nil
	}
	return &fetch.Response{Meta: meta, Body: &reader{ctx: ctx, Reader: bytes.NewReader(content)}}, nil
}

// A reader is the body of a response. It ends when its context is done, as other bodies do.
type reader struct {
	*bytes.Reader
	ctx context.Context
}

func (b *reader) Read(p []byte) (int, error) {
	if b.ctx.Err() != nil {
		return 0, context.Cause(b.ctx)
	}
	return b.Reader.Read(p)
}

func (*reader) Close() error { return nil }

const defaultType = "text/plain;charset=US-ASCII"

// parse splits a data URL: data:[mediatype][;base64],data.
func parse(u uri.URI) (mediaType string, content []byte, err error) {
	_, text, _ := strings.Cut(u.WithoutFragment().String(), ":")
	head, data, ok := strings.Cut(text, ",")
	if !ok {
		return "", nil, errors.New("no comma before the data")
	}
	encoded := false
	if i := strings.LastIndexByte(head, ';'); i >= 0 {
		last := strings.TrimSpace(uri.UnescapeRaw(head[i+1:]))
		if encoded = strings.EqualFold(last, "base64"); encoded {
			head = head[:i]
		}
	}
	if mediaType, err = parseType(uri.UnescapeRaw(head)); err != nil {
		return "", nil, err
	}
	content = []byte(uri.UnescapeRaw(data))
	if encoded {
		content, err = decodeBase64(content)
	}
	return mediaType, content, err
}

// parseType returns a media type in canonical form. If only parameters are given, the type is
// text/plain.
func parseType(s string) (string, error) {
	switch {
	case s == "":
		s = defaultType
	case s[0] == ';':
		s = "text/plain" + s
	}
	name, params, err := mime.ParseMediaType(s)
	if err != nil || !strings.Contains(name, "/") {
		return "", fmt.Errorf("invalid media type %q", s)
	}
	return mime.FormatMediaType(name, params), nil
}

// decodeBase64 decodes base64 (RFC 2045), ignoring white space. Like browsers, it tolerates missing
// padding.
func decodeBase64(text []byte) ([]byte, error) {
	text = bytes.Join(bytes.Fields(text), nil)
	if len(text)%4 == 0 {
		text = bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("=")), []byte("="))
	}
	out := make([]byte, base64.RawStdEncoding.DecodedLen(len(text)))
	n, err := base64.RawStdEncoding.Decode(out, text)
	if err != nil {
		return nil, fmt.Errorf("invalid base64: %w", err)
	}
	return out[:n], nil
}

var _ io.WriterTo = (*reader)(nil)
