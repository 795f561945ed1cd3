package main

import (
	"context"
	"iter"
	"time"

	"github.com/urlget/urlget/fetch"
)

// relMatch marks the entries of a listing that the user asked for by a
// pattern, and so wants to have, not to see. With -O the listing is written
// as any other.
const relMatch = "match"

// listing prints a listing, or keeps what a pattern matched for later: the
// connection is still busy with the listing.
func (a *app) listing(resp *fetch.Response, matches *[]fetch.Entry) error {
	if resp.Entries == nil {
		return a.printListing(resp)
	}
	next, stop := iter.Pull2(resp.Entries)
	defer stop()
	first, err, ok := next()
	if !ok || err != nil || first.Rel != relMatch {
		resp.Entries = func(yield func(fetch.Entry, error) bool) {
			for e, err := first, err; ok; e, err, ok = next() {
				if !yield(e, err) {
					return
				}
			}
		}
		return a.printListing(resp)
	}
	for e := first; ok; e, err, ok = next() {
		if err != nil {
			return err
		}
		*matches = append(*matches, e)
	}
	return nil
}

// getMatches retrieves what a pattern matched. What fails is told, and the
// rest retrieved.
func (a *app) getMatches(ctx context.Context, pattern *job, matches []fetch.Entry) {
	for _, e := range matches {
		j := &job{url: e.URL, from: pattern.url, name: e.URL.Redacted(), started: time.Now()}
		if e.Kind != fetch.EntryObject {
			a.say("%s is a directory: skipped", j.name)
			continue
		}
		if err := a.get(ctx, j); err != nil {
			a.fail(j.name, err)
		}
		if ctx.Err() != nil {
			return
		}
	}
}
