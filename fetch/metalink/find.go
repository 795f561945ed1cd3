package metalink

import (
	"context"
	"errors"
	"mime"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/retry"
	"github.com/urlget/urlget/fetch/uri"
)

// findTimeout limits the time to read documents. The parser limits their size.
const findTimeout = time.Minute

// Find requests a resource and returns the files that the response describes: those of a Metalink
// document, or the resource itself if header fields name mirrors of it. Otherwise it returns none.
//
// Requests are retried as by [download.Retry]. If a document that header fields name cannot be used,
// ignored is called with its URL and the error.
func Find(ctx context.Context, c *fetch.Client, req *fetch.Request, policy retry.Policy,
	ignored func(uri.URI, error)) ([]download.Manifest, error) {
	ctx, cancel := context.WithTimeout(ctx, findTimeout)
	defer cancel()
	files, resp, err := request(ctx, c, req, policy)
	if err != nil || files != nil {
		return manifests(files, resp.URL), err
	}
	f := fromHeader(resp.URL, resp.Header)
	if f == nil {
		return nil, nil
	}
	f.name, f.size = download.Name(req.URL, &resp.Meta), resp.Size
	for _, d := range f.descriptions {
		more, about, err := request(ctx, c, &fetch.Request{URL: d.url, From: resp.URL}, policy)
		switch {
		case err == nil && more == nil:
			err = invalid(about.URL, errors.New("not a Metalink document"))
		case err == nil:
			err = f.describe(more, d.name)
		}
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return nil, err
		}
		ignored(d.url, err)
	}
	return manifests([]file{*f}, resp.URL), nil
}

// request sends a request and returns the files if the response is a Metalink document. It closes the
// body.
func request(ctx context.Context, c *fetch.Client, req *fetch.Request, policy retry.Policy) (
	files []file, resp *fetch.Response, err error) {
	resp = &fetch.Response{URL: req.URL}
	err = download.Retry(ctx, policy, func() error {
		got, err := c.Do(ctx, req)
		if err != nil {
			return err
		}
		defer got.Body.Close()
		resp = got
		kind, _, _ := mime.ParseMediaType(got.ContentType)
		if kind != mediaType && !strings.HasSuffix(got.URL.Path(), ".meta4") {
			return nil
		}
		if files, err = parse(got.Body); err != nil && fetch.CodeOf(err) == "" {
			err = invalid(got.URL, err)
		}
		return err
	})
	return files, resp, err
}

func invalid(u uri.URI, err error) error {
	return &fetch.Error{Op: "get", URL: u.Redacted(), Code: fetch.ErrProtocol, Err: err}
}
