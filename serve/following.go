package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

const (
	maxSources    = 200 // pages that the user can follow
	maxItems      = 40  // items of one that are kept
	maxNews       = 400 // items that the page shows
	maxUpdates    = 8   // pages that are retrieved at once
	updateTimeout = 30 * time.Second
)

const follows, unfollows = "yes", "no"

// A source is a page that the user follows: a feed, a gemlog, a newsgroup or a menu.
type source struct {
	title   string
	address address
	since   time.Time
	known   map[string]knownItem // of the last update, by item.key; nil before the first

	// Of the last update since the program started:
	items   []item // newest first
	updated time.Time
	problem string // a sentence
}

type knownItem struct {
	Seen time.Time `json:"seen,omitzero"` // when it was new; zero if it was there at the first update
	Read bool      `json:"read,omitempty"`
}

func (src *source) line() []byte {
	return historyLine{Title: src.title, Follow: follows, Items: src.known}.at(src.since, src.address)
}

func (h *history) find(u uri.URI) int {
	return slices.IndexFunc(h.sources, func(src *source) bool { return src.address.url == u })
}

func (h *history) follow(src *source) {
	if i := h.find(src.address.url); i >= 0 {
		h.sources[i] = src
	} else if len(h.sources) < maxSources {
		h.sources = append(h.sources, src)
	}
}

func (h *history) unfollow(u uri.URI) {
	h.sources = slices.DeleteFunc(h.sources, func(src *source) bool { return src.address.url == u })
}

func (h *history) isFollowed(u uri.URI) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.load() // the pages of the history report its error
	return h.find(u) >= 0
}

func (h *history) setFollowed(a address, title string, on bool) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	err := h.load()
	switch {
	case err != nil || on == (h.find(a.url) >= 0):
		return err
	case !on:
		h.unfollow(a.url)
		return h.append(historyLine{Follow: unfollows}.at(time.Now(), a))
	case len(h.sources) == maxSources:
		return fmt.Errorf("%d pages are followed, and there may not be more", maxSources)
	}
	src := &source{title: title, address: a, since: time.Now()}
	h.follow(src)
	return h.append(src.line())
}

// followed returns copies of the sources, and the URLs that were visited.
func (h *history) followed() (list []source, visited map[uri.URI]bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	err = h.load()
	for _, src := range h.sources {
		list = append(list, *src)
	}
	return list, h.visited(), err
}

func (h *history) visited() map[uri.URI]bool {
	visited := make(map[uri.URI]bool)
	for _, v := range h.list {
		visited[v.address.url] = true
	}
	return visited
}

func (h *history) update(u uri.URI, items []item, problem string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := h.find(u)
	if i < 0 {
		return nil // no longer followed
	}
	src, now := h.sources[i], time.Now().UTC().Truncate(time.Second)
	src.updated, src.problem = now, problem
	if problem != "" && len(items) == 0 {
		return nil
	}
	visited, known := h.visited(), make(map[string]knownItem)
	for i, it := range items {
		k, ok := src.known[it.key()]
		if !ok && src.known != nil {
			k.Seen = now
		}
		k.Read = k.Read || visited[it.address.url]
		known[it.key()] = k
		if it.date.IsZero() {
			items[i].date = k.Seen
		}
	}
	newestFirst(items)
	changed := src.known == nil || !maps.Equal(src.known, known)
	src.items, src.known = items, known
	if !changed {
		return nil
	}
	return h.append(src.line())
}

// makeDue makes the next update retrieve all sources.
func (h *history) makeDue() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, src := range h.sources {
		src.updated = time.Time{}
	}
}

func (h *history) readAll() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.load(); err != nil {
		return err
	}
	var lines [][]byte
	for _, src := range h.sources {
		src.known = maps.Clone(src.known) // the other one is shared with copies
		for key, k := range src.known {
			k.Read = true
			src.known[key] = k
		}
		lines = append(lines, src.line())
	}
	return h.append(lines...)
}

// update retrieves the sources that are due. It calls progress for each, and ends all retrievals before it
// returns.
func (s *Server) update(ctx context.Context, progress func(done, total int)) error {
	list, _, err := s.history.followed()
	list = slices.DeleteFunc(list, func(src source) bool { return !src.updated.IsZero() })
	ctx, cancel := context.WithCancel(ctx)
	due, updated := make(chan address, len(list)), make(chan error, len(list))
	for _, src := range list {
		due <- src.address
	}
	close(due)
	var workers sync.WaitGroup
	defer workers.Wait()
	defer cancel()
	for range min(maxUpdates, len(list)) {
		workers.Go(func() {
			for a := range due {
				updated <- s.updateSource(ctx, a)
			}
		})
	}
	for i := range list {
		progress(i, len(list))
		err = errors.Join(err, <-updated)
	}
	return err
}

func (s *Server) updateSource(ctx context.Context, a address) error {
	limited, cancel := context.WithTimeout(ctx, updateTimeout)
	defer cancel()
	done, err := s.acquire(limited)
	var items []item
	if err == nil {
		items, err = s.itemsOf(limited, a)
		done()
	}
	if ctx.Err() != nil {
		return nil // the reader left; the source stays due
	}
	problem := ""
	if err != nil {
		problem = problemOf(err, a.url)
	}
	return s.history.update(a.url, items, problem)
}

func problemOf(err error, u uri.URI) string {
	cause, _ := sentenceOf(err, u)
	return cmp.Or(cause, "The update failed: "+messageOf(err)) + "."
}

type newsRow struct {
	Title, Link, Date, Source string
	Unread                    bool
	date                      time.Time
}

type sourceRow struct {
	Title, URL, Link, Problem string
	Unread                    int
	Hue                       string
	Fields                    []field // the signed address
}

// showFollowing serves what is new on the pages that the user follows. It retrieves those that are due,
// unless another site led to the request.
func (s *Server) showFollowing(w http.ResponseWriter, r *http.Request) {
	p := s.newPage(w, r, address{})
	p.begin(http.StatusOK, "Following")
	p.put("followinghead", nil)
	var wrong error
	if !isCrossSite(r) && !s.ArchiveOnly {
		wrong = s.update(r.Context(), func(done, total int) {
			p.put("reading", fmt.Sprintf("Updating: %d of %d", done, total))
			p.flush()
		})
	}
	news, sources, err := s.news()
	unread := 0
	for _, src := range sources {
		unread += src.Unread
	}
	p.put("following", struct {
		News    []newsRow
		Sources []sourceRow
		Unread  int
		File    string
	}{news, sources, unread, fetch.Printable(s.History)})
	p.putError(errors.Join(err, wrong))
	p.end(nil)
}

func (s *Server) news() (news []newsRow, sources []sourceRow, err error) {
	list, visited, err := s.history.followed()
	for _, src := range list {
		row := sourceRow{Title: fetch.Printable(src.title), URL: fetch.Printable(src.address.url.Redacted()),
			Link: s.link("/view", src.address), Problem: src.problem, Hue: hue(src.address.url),
			Fields: s.hiddenFields(src.address)}
		for _, it := range src.items {
			unread := !src.known[it.key()].Read && !visited[it.address.url]
			if unread {
				row.Unread++
			}
			day, _, _ := strings.Cut(dateText(it.date), " ")
			news = append(news, newsRow{it.title, s.linkTo(it.address), day, row.Title, unread, it.date})
		}
		sources = append(sources, row)
	}
	slices.SortStableFunc(news, func(a, b newsRow) int { return b.date.Compare(a.date) })
	return news[:min(len(news), maxNews)], sources, err
}

func (s *Server) changeFollowing(w http.ResponseWriter, r *http.Request) {
	if !parseForm(w, r, "form") {
		return
	}
	var err error
	if r.PostForm.Has("read") {
		err = s.history.readAll()
	} else {
		s.history.makeDue()
	}
	s.afterChange(w, r, err, "/following")
}

func (s *Server) setFollowed(w http.ResponseWriter, r *http.Request, on bool) {
	s.changeMarks(w, r, func(a address) error {
		a = address{url: a.url.WithoutPassword(), from: a.from, foreign: a.foreign}
		return s.history.setFollowed(a, r.PostForm.Get("title"), on)
	})
}

type followForm struct {
	Followed bool
	Title    string
	Fields   []field
}

func (p *page) followForm(resp *fetch.Response) *followForm { return p.followFormOf(p.address, resp) }

// followFormOf returns the form to follow an address that the page of resp is at or leads to, or nil.
func (p *page) followFormOf(a address, resp *fetch.Response) *followForm {
	if here := p.address; p.s.ArchiveOnly || resp.Capture != nil || !here.at.IsZero() || here.part != "" ||
		here.view != "" || p.posted {
		return nil
	}
	followed := p.s.history.isFollowed(a.url.WithoutPassword())
	return &followForm{followed, fetch.Printable(p.title), p.s.hiddenFields(a)}
}
