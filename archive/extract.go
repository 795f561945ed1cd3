package archive

import (
	"context"
	"errors"

	"github.com/urlget/urlget/crawl/mirror"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/retry"
	"github.com/urlget/urlget/fetch/uri"
)

// errNoFile is returned for a response that a mirror would not save.
var errNoFile = errors.New("not a file")

// Extract saves u below the root of d, at the path that a mirror would use. The client of d must
// replay an archive (see package replay). Extract returns false for a response that a mirror would
// not save: a redirect, or a listing without a document.
func Extract(ctx context.Context, d *download.Downloader, u uri.URI) (saved bool, err error) {
	var layout mirror.Layout
	traits := d.Client.Traits(u)
	_, err = d.Do(ctx, &fetch.Request{URL: u}, layout.Path(u, traits), &download.Options{Exists: download.Overwrite, Retry: retry.Policy{Tries: 1},
		Response: func(resp *fetch.Response) error {
			if resp.Kind == fetch.KindListing && !traits.HasLinks() || resp.URL.Key() != u.Key() {
				return errNoFile
			}
			return nil
		}})
	if errors.Is(err, errNoFile) {
		return false, nil
	}
	return err == nil, err
}
