package archive

import (
	"context"
	"errors"

	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/crawl/mirror"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/retry"
	"github.com/urlget/urlget/fetch/uri"
)

// errNoFile is for what an archive has that is no file.
var errNoFile = errors.New("it is no file")

// Extract saves what u names below the root of d, whose client an archive answers (see package
// replay), where a mirror would. It reports false for what would be no file of a mirror: a
// redirect, and a listing that is but names.
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

// IsRecordID reports whether u is the identifier of a record (a URN) and names no resource.
func IsRecordID(u uri.URI) bool { return warc.IsRecordID(u.Scheme()) }
