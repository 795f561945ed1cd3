package replay

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"strings"

	"github.com/urlget/urlget/archive/internal/digest"
	"github.com/urlget/urlget/archive/internal/record"
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
		return nil, fetch.ErrRequest.Errorf("not a SHA-256 in hexadecimal")
	}
	sum := [sha256.Size]byte(decoded)
	resp, err := a.openCaptureOf(ctx, req, sum, opts)
	if resp != nil || err != nil {
		return resp, err
	}
	if text, ok := a.digests()[sumKey(digest.Digest{Algorithm: "sha256", Sum: sum[:]})]; ok {
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
	return nil, fetch.ErrNotFound.Errorf("no content with the SHA-256 %x is in the archive", sum)
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

// profileDigest ends the WARC-Profile of a revisit whose content is that of another record with the same
// payload digest (WARC 1.1, section 6.7.2).
const profileDigest = "/identical-payload-digest"

// withDigest returns the place of a record with the payload digest of a revisit that names no record, or a
// missing one. Its URL may be another one.
func (a *Archive) withDigest(revisit *warc.Record) place {
	want, ok := digest.Parse(revisit.Get("WARC-Payload-Digest"))
	if !ok || !strings.HasSuffix(revisit.Get("WARC-Profile"), profileDigest) {
		return place{}
	}
	key := record.KeyOf(a.digests()[sumKey(want)])
	if key == "" {
		return place{}
	}
	list := a.capturesOf(key)
	for _, c := range list[:min(len(list), maxDigested)] {
		if c.kind == warc.Revisit || c.incomplete {
			continue
		}
		rec, done, err := a.read(c.place)
		if err != nil {
			continue
		}
		have, ok := digest.Parse(rec.Get("WARC-Payload-Digest"))
		done()
		if ok && sumKey(have) == sumKey(want) {
			return c.place
		}
	}
	return place{}
}

// sumKey is the key of a digest in Archive.bySum.
func sumKey(d digest.Digest) string { return d.Algorithm + ":" + string(d.Sum) }

// digests returns a URL for each digest that records and indexes state: of a record with the content, if
// there is one, otherwise of a revisit. The files are read once for it. Damaged records were reported
// before.
func (a *Archive) digests() map[string]string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.bySum != nil {
		return a.bySum
	}
	a.bySum = make(map[string]string)
	add := func(text, url string, revisits bool) {
		if !strings.Contains(text, ":") {
			text = "sha1:" + text // as in indexes of other programs
		}
		d, ok := digest.Parse(text)
		if !ok || len(a.bySum) >= maxRecords {
			return
		}
		if key := sumKey(d); !revisits || a.bySum[key] == "" {
			a.bySum[key] = url
		}
	}
	for _, x := range a.indexes {
		x.each(func(e warc.IndexEntry) error {
			add(e.Digest, e.URL, e.Mime == "warc/revisit")
			return nil
		})
	}
	for _, p := range a.scannedFiles {
		r, err := p.open()
		if err != nil {
			continue
		}
		for rec, err := range r.Records() {
			if err != nil {
				continue
			}
			switch rec.Type() {
			case warc.Response, warc.Resource, warc.Revisit:
				add(rec.Get("WARC-Payload-Digest"), rec.TargetURI(), rec.Type() == warc.Revisit)
			}
		}
		r.Close()
	}
	return a.bySum
}
