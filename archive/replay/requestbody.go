package replay

import (
	"bytes"
	"crypto/sha256"
	"io"
	"mime"
	"strings"

	"github.com/urlget/urlget/archive/internal/record"
	"github.com/urlget/urlget/fetch"
)

// maxBody limits the request bodies that are held in memory, in bytes.
const maxBody = 8 << 20

// unknownBody is in place of the digest of a request body that is not known. It matches nothing.
const unknownBody = "unknown"

// bodyDigest returns the digest of a request body, or "" if it is empty. Clients choose a new boundary
// for each multipart body, so the digest of one is without it, unless the body is longer than maxBody.
func bodyDigest(contentType string, body io.Reader) string {
	kind, params, err := mime.ParseMediaType(contentType)
	if err == nil && strings.HasPrefix(kind, "multipart/") && params["boundary"] != "" {
		begin, err := io.ReadAll(io.LimitReader(body, maxBody+1))
		if err != nil {
			return unknownBody
		}
		if len(begin) <= maxBody {
			begin = bytes.ReplaceAll(begin, []byte("--"+params["boundary"]), []byte("--"))
		}
		body = io.MultiReader(bytes.NewReader(begin), body)
	}
	sum := sha256.New()
	switch n, err := io.Copy(sum, body); {
	case err != nil:
		return unknownBody
	case n == 0:
		return ""
	}
	return string(sum.Sum(nil))
}

// requestDigest returns the bodyDigest of a request. A body that can be read only once is unknown.
func requestDigest(req *fetch.Request) string {
	switch {
	case req.GetBody == nil && req.Body == nil:
		return ""
	case req.GetBody == nil:
		return unknownBody
	}
	body, err := req.GetBody()
	if err != nil {
		return unknownBody
	}
	defer body.Close()
	return bodyDigest(req.Header.Get("Content-Type"), body)
}

func (c *snapshot) hasBody(digest string) bool {
	return c.bodyDigest == digest && digest != unknownBody
}

// WithBody returns a request that the archive can compare with those that it has. If the body of req can
// be read only once, and the archive has requests of its method and URL, the body is read into memory and
// the result has GetBody. A body of more than 8 MiB can still be sent, but not compared.
func (a *Archive) WithBody(req *fetch.Request) (*fetch.Request, error) {
	if req.Body == nil || req.GetBody != nil || !a.hasMethod(req) {
		return req, nil
	}
	begin, err := io.ReadAll(io.LimitReader(req.Body, maxBody+1))
	if err != nil {
		return nil, fetch.ErrRequest.Errorf("read the request body: %w", err)
	}
	dup := *req
	content := io.Reader(bytes.NewReader(begin))
	if len(begin) > maxBody {
		content = io.MultiReader(content, req.Body)
	} else {
		dup.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(begin)), nil }
	}
	dup.Body = struct {
		io.Reader
		io.Closer
	}{content, req.Body}
	return &dup, nil
}

func (a *Archive) hasMethod(req *fetch.Request) bool {
	for _, c := range a.capturesOf(record.Key(req.URL)) {
		if c.kind != exchangeRecord && c.hasMethod(req) {
			return true
		}
	}
	return false
}
