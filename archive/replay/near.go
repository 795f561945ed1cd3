package replay

import (
	"context"

	"github.com/urlget/urlget/archive/internal/record"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// A NearError reports that the archive has no capture for a request, but one of the near URL.
type NearError struct {
	URL string // without a password
	err error
}

func (e *NearError) Error() string { return e.err.Error() + ", but " + e.URL + " is" }

// Unwrap returns an error that wraps ErrNoCapture.
func (e *NearError) Unwrap() error { return e.err }

// maxNear limits the number of URLs in which near ones are searched.
const maxNear = 1 << 20

// near returns the captured URL that is nearest to u: of those with its warc.NearKey the first one in
// alphabetical order that has a capture for the request. It returns nil if there is none.
func (a *Archive) near(p *preference) (*preference, *snapshot) {
	key := warc.NearKey(record.Key(p.req.URL))
	if key == "" || a.growing != nil || p.usable != nil {
		return nil, nil
	}
	for _, text := range a.nearURLs()[key] {
		u, err := uri.Parse(text)
		if err != nil || text == record.Key(p.req.URL) {
			continue
		}
		req := *p.req
		req.URL = u
		other := *p
		other.req = &req
		if c := a.find(&other); c != nil {
			return &other, c
		}
	}
	return nil, nil
}

// maxAlike limits the captured URLs with one key.
const maxAlike = 16

// nearURLs returns the captured URLs by their warc.NearKey. The indexes are read once for it.
func (a *Archive) nearURLs() map[string][]string {
	a.nearOnce.Do(func() {
		list, _, _ := a.URLs(func(url string) bool { return warc.NearKey(url) != "" }, maxNear)
		a.nearby = make(map[string][]string, len(list))
		for _, url := range list {
			key := warc.NearKey(url)
			if len(a.nearby[key]) < maxAlike {
				a.nearby[key] = append(a.nearby[key], url)
			}
		}
	})
	return a.nearby
}

// respondNear returns the response for a request without a capture: that of a near URL, if opts allows it,
// or the error that names it. If the path of that URL is another one, the response is a redirect, because
// the links of a page depend on it.
func (a *Archive) respondNear(ctx context.Context, p *preference, opts Options) (*fetch.Response, error) {
	other, c := a.near(p)
	switch {
	case c == nil:
		return nil, nil
	case !opts.Near && !opts.Only:
		return nil, nil
	case !opts.Near:
		err := &NearError{other.req.URL.Redacted(), a.noCaptureError(p)}
		return nil, &fetch.Error{Code: fetch.ErrNotFound, Err: err}
	case other.req.URL.Path() != p.req.URL.Path() && !p.req.Sends() && p.req.Op == fetch.OpGet:
		return &fetch.Response{Location: []uri.URI{other.req.URL}, Body: fetch.NoBody}, nil
	}
	return a.respond(ctx, other.req, c, opts)
}
