package serve

import (
	"net/http"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

const (
	maxListed = 1000
	maxMonths = 120
)

type month struct {
	Name  string
	Weeks [][]day
}

type day struct {
	Number int
	Link   string // first capture of the day
	Count  int
	Label  string
}

type captureRow struct {
	Time, Link, What, Wrong string
	Failed, Now             bool
}

func (s *Server) captures(w http.ResponseWriter, r *http.Request) {
	a, err := s.verify(r.URL.Query())
	p := s.newPage(w, r, a)
	if err != nil || s.Archive == nil {
		p.refuseUnsigned(err)
		return
	}
	list := s.Archive.Captures(a.url, maxListed)
	p.begin(http.StatusOK, "Captures")
	var shots []captureRow
	var times []time.Time
	for _, c := range list {
		times = append(times, c.Time.UTC())
		b := a
		b.at = c.Time
		one := captureRow{Time: c.Time.UTC().Format(timeForm), Link: s.link("/view", b),
			What: fetch.Printable(c.Text()), Now: c.Time.Equal(a.at)}
		if c.Failure != nil {
			one.Failed, one.Wrong = true, c.Failure.Message()
			if c.Failure.Hint != "" {
				one.Wrong += " – " + fetch.Printable(c.Failure.Hint)
			}
		}
		shots = append(shots, one)
	}
	p.put("captures", struct {
		URL   string
		Shots []captureRow
		Most  int
		Full  bool
		Month []month
	}{fetch.Printable(a.url.Redacted()), shots, maxListed, len(shots) == maxListed, s.calendar(a, times)})
	p.end(nil)
}

type band struct{ Time, Live, Earlier, Later, All string }

func (p *page) putBand() {
	p.conversation.mu.Lock()
	captured := p.conversation.captured
	p.conversation.mu.Unlock()
	if captured.IsZero() || p.s.Archive == nil {
		return
	}
	a := p.address
	b := band{Time: captured.UTC().Format(timeForm)}
	if !p.s.ArchiveOnly {
		a.live, a.at = true, time.Time{}
		b.Live = p.s.link("/view", a)
		a.live = false
	}
	for _, c := range p.s.Archive.Captures(a.url, maxListed) { // sorted by time
		a.at = c.Time
		switch {
		case c.Time.Before(captured):
			b.Earlier = p.s.link("/view", a)
		case c.Time.After(captured) && b.Later == "":
			b.Later = p.s.link("/view", a)
		}
	}
	a.at = captured
	b.All = p.s.link("/captures", a)
	p.put("band", b)
}

func (s *Server) calendar(a address, times []time.Time) []month {
	var list []month
	for len(times) > 0 && len(list) < maxMonths {
		first := time.Date(times[0].Year(), times[0].Month(), 1, 0, 0, 0, 0, time.UTC)
		next := first.AddDate(0, 1, 0)
		m := month{Name: first.Format("January 2006")}
		week := make([]day, (int(first.Weekday())+6)%7) // weeks begin on Monday
		for d := first; d.Before(next); d = d.AddDate(0, 0, 1) {
			one := day{Number: d.Day()}
			for ; len(times) > 0 && times[0].Before(d.AddDate(0, 0, 1)); times = times[1:] {
				if one.Count++; one.Count == 1 {
					b := a
					b.at = times[0]
					one.Link = s.link("/view", b)
					one.Label = d.Format("2 January 2006")
				}
			}
			if week = append(week, one); len(week) == 7 {
				m.Weeks = append(m.Weeks, week)
				week = nil
			}
		}
		if len(week) > 0 {
			m.Weeks = append(m.Weeks, append(week, make([]day, 7-len(week))...))
		}
		list = append(list, m)
	}
	return list
}

type archivedHost struct {
	Name string
	URLs []archivedURL
}

type archivedURL struct {
	Path, Link, Captures, Time, What string
	Count                            int
}

const maxCounted = 100

func (s *Server) archivedHosts(urls []string) []archivedHost {
	var hosts []archivedHost
	for _, text := range urls {
		u, err := uri.Parse(text)
		if err != nil {
			continue
		}
		name, path := u.Scheme(), fetch.Printable(text)
		if server, rest, ok := strings.Cut(strings.TrimPrefix(text, name+"://"), "/"); ok && u.Host() != "" {
			name, path = fetch.Printable(name+"://"+server), "/"+fetch.Printable(rest)
		}
		if len(hosts) == 0 || hosts[len(hosts)-1].Name != name {
			hosts = append(hosts, archivedHost{Name: name})
		}
		a := address{url: u}
		one := archivedURL{Path: path, Link: s.link("/view", a), Captures: s.link("/captures", a)}
		if list := s.Archive.Captures(u, maxCounted); len(list) > 0 {
			last := list[len(list)-1]
			one.Count, one.What = len(list), fetch.Printable(last.Text())
			one.Time = last.Time.UTC().Format(minuteForm)
		}
		h := &hosts[len(hosts)-1]
		h.URLs = append(h.URLs, one)
	}
	return hosts
}

func (s *Server) archive(w http.ResponseWriter, r *http.Request) {
	if s.Archive == nil {
		http.NotFound(w, r)
		return
	}
	p := s.newPage(w, r, address{})
	filter := strings.ToLower(r.URL.Query().Get("q"))
	matches := func(u string) bool { return strings.Contains(strings.ToLower(u), filter) }
	found, more, err := s.Archive.URLs(matches, maxListed)
	p.begin(http.StatusOK, "Archive")
	p.putError(err)
	var damage []string
	for _, err := range s.Archive.Damage() {
		damage = append(damage, fetch.Printable(err.Error()))
	}
	p.put("archive", struct {
		Filter string
		Words  string // of the search in the text
		Hosts  []archivedHost
		More   bool
		Damage []string
		Gate   string // the URL of the TimeGate
	}{r.URL.Query().Get("q"), "", s.archivedHosts(found), more, damage, s.timeGate(r.Host)})
	p.end(nil)
}
