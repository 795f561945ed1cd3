package replay

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"

	"github.com/urlget/urlget/archive/internal/digest"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// maxDigested limits the captures of one URL whose content is read for its digest.
const maxDigested = 100

func (a *Archive) openDigest(
	ctx context.Context, req *fetch.Request, opts Options, next fetch.Driver,
) (*fetch.Response, error) {
	text := opts.SHA256[:min(len(opts.SHA256), 2*sha256.Size)]
	decoded, err := hex.DecodeString(text)
	if err != nil || len(decoded) != sha256.Size {
		return nil, fail(fetch.ErrRequest, "not a SHA-256 in hexadecimal")
	}
	sum := [sha256.Size]byte(decoded)
	resp, err := a.openCaptureOf(ctx, req, sum, opts)
	if resp != nil || err != nil {
		return resp, err
	}
	if text, ok := a.digests()[sum]; ok {
		other := *req
		if other.URL, err = uri.ParseRef(text); err == nil {
			resp, err = a.openCaptureOf(ctx, &other, sum, opts)
		}
		if resp != nil {
			resp.URL = uri.URI{} // the requested one
		}
	}
	switch {
	case resp != nil || err != nil:
		return resp, err
	case !opts.Only:
		return next.Open(ctx, req)
	}
	return nil, fail(fetch.ErrNotFound, "no content with the SHA-256 %x is in the archive", sum)
}

// openCaptureOf returns the response of a capture of the URL whose content has a digest, or nil if there
// is none.
func (a *Archive) openCaptureOf(
	ctx context.Context, req *fetch.Request, sum [sha256.Size]byte, opts Options,
) (*fetch.Response, error) {
	whole := *req
	whole.Range, whole.IfChanged = fetch.Range{}, fetch.Validator{}
	list := a.alternatives(newPreference(&whole, opts.At, nil), nil)
	for _, c := range list[:min(len(list), maxDigested)] {
		if err := fetch.ContextError(ctx); err != nil {
			return nil, err
		}
		resp, err := a.open(ctx, &whole, c, opts.Compressed)
		if err != nil || resp.Location != nil || resp.Kind != fetch.KindObject {
			if err == nil {
				resp.Body.Close()
			}
			continue
		}
		have := sha256.New()
		_, err = io.Copy(have, resp.Body)
		resp.Body.Close()
		if err == nil && [sha256.Size]byte(have.Sum(nil)) == sum {
			return a.open(ctx, req, c, opts.Compressed)
		}
	}
	return nil, fetch.ContextError(ctx)
}

// A scannedFile is a WARC file, or its end, that no index covers.
type scannedFile struct {
	io.ReaderAt
	from int64
}

// digests returns a URL for each SHA-256 that records and indexes state. The files are read once for it.
// Damaged records were reported before.
func (a *Archive) digests() map[[sha256.Size]byte]string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.bySum != nil {
		return a.bySum
	}
	a.bySum = make(map[[sha256.Size]byte]string)
	add := func(text, url string) {
		if d, ok := digest.Parse(text); ok && d.Algorithm == "sha256" && len(a.bySum) < maxRecords {
			a.bySum[[sha256.Size]byte(d.Sum)] = url
		}
	}
	for _, x := range a.indexes {
		x.each(func(e warc.IndexEntry) { add(e.Digest, e.URL) })
	}
	for _, f := range a.scannedFiles {
		r, err := warc.NewReader(f)
		if err != nil {
			continue
		}
		if f.from > 0 && r.SeekRecord(f.from, 0) != nil {
			r.Close()
			continue
		}
		for {
			rec, err := r.Next()
			if damage := (*warc.DamageError)(nil); errors.As(err, &damage) {
				continue
			}
			if err != nil {
				break
			}
			switch rec.Type() {
			case warc.Response, warc.Resource, warc.Revisit:
				add(rec.Get("WARC-Payload-Digest"), rec.TargetURI())
			}
		}
		r.Close()
	}
	return a.bySum
}
