package serve

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/links"
)

// maxEntries limits the entries of a followed listing. Newsgroups begin with the oldest.
const maxEntries = 20_000

type item struct {
	title   string
	address address // its url is zero if the item has no page
	date    time.Time
}

// key identifies an item in the history, which need not have its URL.
func (i item) key() string {
	sum := sha256.Sum256([]byte(cmp.Or(i.address.url.String(), "\x00"+i.title)))
	return base64.RawURLEncoding.EncodeToString(sum[:9])
}

func newestFirst(items []item) {
	slices.SortStableFunc(items, func(a, b item) int { return b.date.Compare(a.date) })
}

// itemsOf retrieves the newest items of a page. Items before an error are returned with it.
func (s *Server) itemsOf(ctx context.Context, a address) ([]item, error) {
	a.live = s.Archive != nil
	resp, err := s.do(ctx, a, &fetch.Request{})
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	items, err := readItems(resp, a.after(resp))
	for i, it := range items {
		if it.date.After(time.Now().Add(24 * time.Hour)) {
			items[i].date = time.Time{} // it would be the newest for ever
		}
	}
	newestFirst(items)
	return items[:min(len(items), maxItems)], err
}

func readItems(resp *fetch.Response, here address) ([]item, error) {
	if resp.Entries != nil { // a listing or gemtext
		return listedItems(resp.Entries, here, resp.Kind == fetch.KindObject)
	}
	kind, body, err := document(resp)
	switch {
	case err != nil:
		return nil, err
	case isFeed(kind, body):
		return feedItems(body, here)
	}
	return nil, &fetch.Error{Code: fetch.ErrNotRetrievable,
		Err: errors.New("the page is neither a feed nor a listing")}
}

func listedItems(entries iter.Seq2[fetch.Entry, error], here address, dated bool) (items []item, err error) {
	read := 0
	for e, err := range entries {
		if err != nil {
			return items, err
		}
		if read++; read > maxEntries {
			return nil, &fetch.Error{Code: fetch.ErrTooLarge,
				Err: fmt.Errorf("the listing has more than %d entries", maxEntries)}
		}
		name, _, _ := strings.Cut(strings.TrimSpace(fetch.Printable(e.Name)), "   ") // servers add columns
		if e.URL.IsZero() || name == ".." || e.Kind != fetch.EntryObject && e.Kind != fetch.EntryListing {
			continue
		}
		it := item{name, here.to(e.URL), dateOf(e)}
		day, title, ok := datedName(it.title)
		if ok && it.date.IsZero() {
			it.date, it.title = day, title
		}
		if ok || !dated {
			items = append(items, it)
		}
	}
	return items, nil
}

func feedItems(r io.Reader, here address) (items []item, err error) {
	f, err := links.ReadFeed(r, here.url)
	for _, i := range f.Items {
		it := item{title: itemTitle(i), date: i.Date}
		if target := i.Page; !target.IsZero() {
			it.address = here.to(target)
		} else if !i.Media.IsZero() {
			it.address = here.to(i.Media)
		}
		items = append(items, it)
	}
	return items, err
}
