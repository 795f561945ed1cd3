package queue

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/links"
	"github.com/urlget/urlget/fetch/uri"
)

// A spooledLink is a link of a listing, spooled until the listing is complete.
type spooledLink struct {
	URL  uri.URI         `json:"url"`
	Rel  string          `json:"rel,omitempty"`
	Kind fetch.EntryKind `json:"kind,omitempty"`
}

// spoolListing spools the entries of a listing. They are queued when the listing is complete.
func spoolListing(w io.Writer, entries iter.Seq2[fetch.Entry, error]) error {
	out := bufio.NewWriter(w)
	to := json.NewEncoder(out)
	for e, err := range entries {
		if err != nil {
			return err
		}
		if e.URL.IsZero() {
			continue
		}
		if err := to.Encode(spooledLink{e.URL.WithoutUserinfo(), e.Rel, e.Kind}); err != nil {
			return err
		}
	}
	return out.Flush()
}

func (v *visit) links(res *job.Result, spool Spool) (iter.Seq2[fetch.Entry, error], error) {
	r, err := spool.Reader()
	if err != nil {
		return nil, &fetch.Error{Code: fetch.ErrFile, Err: err}
	}
	switch {
	case res.Outcome == job.Listed:
		return func(yield func(fetch.Entry, error) bool) {
			in := json.NewDecoder(bufio.NewReader(r))
			for {
				var n spooledLink
				err := in.Decode(&n)
				if err == io.EOF ||
					!yield(fetch.Entry{URL: n.URL, Rel: n.Rel, Kind: n.Kind, Size: -1}, err) || err != nil {
					return
				}
			}
		}, nil
	case v.page.Rel == "sitemap":
		return links.Sitemap(r, v.resp.URL), nil
	case v.resp.Entries != nil:
		return v.resp.Parse(r), nil
	}
	contentType, whole := links.Sniff(r, v.resp.ContentType, v.page.Rel)
	entries, ok := links.Read(whole, contentType, v.resp.URL)
	if !ok {
		return func(func(fetch.Entry, error) bool) {}, nil
	}
	return entries, nil
}

// follow queues the links of the page and records that. A failure of the page is in the returned
// result; the error is one of the engine.
func (v *visit) follow(ctx context.Context, res *job.Result, spool Spool) (*job.Result, error) {
	n := int64(0)
	all := func() error {
		entries, err := v.links(res, spool)
		if err == nil {
			n, err = v.followAll(ctx, entries)
		}
		return err
	}
	err := all()
	if err == nil {
		err = v.recordFollowed(ctx, all)
	}
	switch {
	case errors.As(err, new(*crawl.StoreError)):
		return nil, err
	case err != nil:
		return v.failed(err), nil
	}
	res.Depth = v.page.Depth
	if res.Outcome == job.Saved && !v.keeps(v.resp) {
		res.Outcome = job.Listed
	}
	if res.Outcome == job.Listed {
		res.Entries = n
	}
	return res, nil
}

func (v *visit) followAll(ctx context.Context, entries iter.Seq2[fetch.Entry, error]) (n int64, err error) {
	var group sync.WaitGroup
	var mu sync.Mutex
	var failed error
	room := make(chan struct{}, linksAtOnce)
	seen := map[string]bool{}
	for e, err := range entries {
		if err != nil {
			group.Wait()
			return n, err
		}
		if e.URL.IsZero() {
			continue
		}
		n++
		key := fmt.Sprint(e.URL.Key(), " ", links.Requisite(e.Rel)) // page requisites may have a lower depth
		if seen[key] {
			continue
		}
		if len(seen) >= maxSeenLinks {
			clear(seen)
		}
		seen[key] = true
		room <- struct{}{}
		mu.Lock()
		stop := failed != nil
		mu.Unlock()
		if stop {
			break
		}
		group.Go(func() {
			defer func() { <-room }()
			if err := v.page.AddLink(ctx, e); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = fmt.Errorf("a link of %s: %w", v.sub.Job.URL.Redacted(), err)
			}
		})
	}
	group.Wait()
	return n, failed
}

const (
	linksAtOnce  = 16     // concurrent engine requests for links
	maxSeenLinks = 10_000 // links of a page in the duplicate filter
)
