// Package ni retrieves ni URLs (RFC 6920), which name content by its digest. It requests the
// content over https from the authority in the URL and verifies the digest.
package ni

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"io"
	"mime"
	"net/url"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// Load registers the driver.
func Load(env fetch.Env, reg *fetch.Registry) {
	reg.Register(fetch.Scheme{Name: "ni", Ops: []fetch.Op{fetch.OpGet, fetch.OpStat},
		Summary: "content named by its digest, from the authority in the URL", Driver: &opener{env}})
}

type opener struct{ env fetch.Env }

type name struct {
	location    uri.URI // the https URL at the authority
	digest      []byte  // SHA-256, possibly truncated
	contentType string
}

// lengths returns the lengths of digests in bytes, by algorithm (RFC 6920, section 9.4).
func lengths() map[string]int {
	return map[string]int{
		"sha-256": 32, "sha-256-128": 16, "sha-256-120": 15, "sha-256-96": 12, "sha-256-64": 8,
		"sha-256-32": 4,
	}
}

// parse decodes "ni://AUTHORITY/ALGORITHM;DIGEST?PARAMETERS".
func parse(u uri.URI) (*name, error) {
	path, err := uri.Unescape(strings.TrimPrefix(u.Path(), "/"))
	if err != nil {
		return nil, err
	}
	algorithm, text, ok := strings.Cut(path, ";")
	length, known := lengths()[algorithm]
	digest, err := base64.RawURLEncoding.Strict().DecodeString(text)
	switch {
	case !ok:
		return nil, fetch.ErrURL.Errorf("%q does not have the form ALGORITHM;DIGEST", path)
	case !known:
		return nil, fetch.ErrURL.Errorf("digest algorithm %q is not supported, only sha-256", algorithm)
	case err != nil || len(digest) != length:
		return nil, fetch.ErrURL.Errorf("%q is not a %s digest", text, algorithm)
	case u.Host() == "":
		return nil, &fetch.Error{Code: fetch.ErrNotRetrievable,
			Err:    errors.New("the URL has no authority to retrieve the content from"),
			Reason: fetch.Reason{Kind: fetch.ReasonNoDriver, Scheme: "ni"},
			Hint:   "a gateway could serve it"}
	}
	n := &name{digest: digest}
	query, some := u.Query()
	if values, err := url.ParseQuery(query); err == nil {
		if ct := values.Get("ct"); isMediaType(ct) { // section 3.1
			n.contentType = ct
		}
	}
	if some {
		query = "?" + query
	}
	n.location, err = uri.Parts{Scheme: "https", Host: u.Host(), Port: u.Port(0),
		Path: "/.well-known/ni/" + algorithm + "/" + text, Query: query}.URI() // section 4
	return n, err
}

func isMediaType(s string) bool {
	_, _, err := mime.ParseMediaType(s)
	return err == nil && !strings.ContainsAny(s, "\r\n\x00")
}

// Open implements fetch.Driver. It ignores ranges, because a part cannot be verified.
func (d *opener) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	n, err := parse(req.URL)
	if err != nil {
		return nil, err
	}
	if req.Op != fetch.OpGet && req.Op != fetch.OpStat {
		return nil, fetch.ErrNotRetrievable.Errorf("a digest has no members: %w", errors.ErrUnsupported)
	}
	resp, err := d.env.Open(ctx, &fetch.Request{URL: n.location, Op: req.Op, Accept: req.Accept})
	if err != nil {
		return nil, err
	}
	if n.contentType != "" {
		resp.ContentType = n.contentType
	}
	resp.Validator = fetch.Validator{ETag: fmt.Sprintf("%x", n.digest)}
	if req.Op == fetch.OpGet {
		resp.Body = &body{ReadCloser: resp.Body, sum: sha256.New(), want: n.digest}
	}
	return resp, nil
}

func (d *opener) Explain(req *fetch.Request) ([]string, error) {
	n, err := parse(req.URL)
	if err != nil {
		return nil, err
	}
	return []string{
		"open " + n.location.Redacted(),
		fmt.Sprintf("check that the SHA-256 of the content begins with %x", n.digest),
	}, nil
}

// A body verifies its content at the end.
type body struct {
	io.ReadCloser
	sum  hash.Hash
	want []byte
}

// errDigest is returned at the end of content with a different digest. The content itself has been
// returned by then.
var errDigest = fetch.ErrProtocol.Errorf("digest mismatch")

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.sum.Write(p[:n])
	if err == io.EOF && !bytes.HasPrefix(b.sum.Sum(nil), b.want) {
		err = errDigest
	}
	return n, err
}
