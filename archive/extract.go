package archive

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/urlget/urlget/crawl/mirror"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/retry"
	"github.com/urlget/urlget/fetch/uri"
)

var errNoFile = errors.New("not a file")

// maxDirs limits the directories of an extracted file, as crawls limit listings. The time to create
// them grows with the square of their number.
const maxDirs = 100

// extractPath returns the path that a mirror would use, with what distinguishes URLs that the mirror
// would number: the paths must not depend on the other files. If that has too many directories, the file
// is in the directory of the server, with a digest of the path before its name.
func extractPath(u uri.URI, t fetch.Traits) string {
	layout := mirror.Layout{Distinct: true}
	whole := layout.Path(u, t)
	if strings.Count(whole, "/") <= maxDirs {
		return whole
	}
	return flatPath(whole)
}

// flatPath returns the path of a file in the directory of the server, for one that cannot have its own path.
func flatPath(whole string) string {
	host, _, _ := strings.Cut(whole, "/")
	sum := sha256.Sum256([]byte(whole))
	return fmt.Sprintf("%s/%x-%s", host, sum[:16], path.Base(whole))
}

// isBlocked reports whether a file cannot have a path because there is a directory, or because a file has
// the path of a directory above it.
func isBlocked(root *os.Root, name string) bool {
	if info, err := root.Lstat(name); err == nil {
		return info.IsDir()
	}
	for name = path.Dir(name); name != "."; name = path.Dir(name) {
		if info, err := root.Lstat(name); err == nil {
			return info.Mode().IsRegular()
		}
	}
	return false
}

// Extract saves u below the root of d, at the path that a mirror would use. If that path has more than 100
// directories, or a file is where it has a directory, or the reverse, u is saved directly in the directory
// of the server. The client of d must replay an archive (see package replay). Extract returns false for a
// response that a mirror would not save: a redirect, or a listing without a document.
func Extract(ctx context.Context, d *download.Downloader, u uri.URI) (saved bool, err error) {
	name := extractPath(u, d.Client.Traits(u))
	saved, err = extract(ctx, d, u, name)
	if err != nil && d.Root != nil && isBlocked(d.Root, name) {
		return extract(ctx, d, u, flatPath(name))
	}
	return saved, err
}

func extract(ctx context.Context, d *download.Downloader, u uri.URI, name string) (saved bool, err error) {
	traits := d.Client.Traits(u)
	_, err = d.Do(ctx, &fetch.Request{URL: u}, name, &download.Options{
		Exists: download.Overwrite,
		Retry:  retry.Policy{Tries: 1},
		Response: func(resp *fetch.Response) error {
			if resp.Kind == fetch.KindListing && !traits.HasLinks() || resp.URL.Key() != u.Key() {
				return errNoFile
			}
			return nil
		},
	})
	if errors.Is(err, errNoFile) {
		return false, nil
	}
	return err == nil, err
}
