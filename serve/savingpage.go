package serve

import (
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// A savingRow is a download in the form that the template shows.
type savingRow struct {
	ID, Name, URL, Page string
	Link                string // to the file, once it is complete
	State               string
	Done, Total         string // bytes; Total is "" if unknown
	Active, CanResume   bool
	Wrong               string
}

// row returns the row of a download.
func (s *Server) row(d *saving, now time.Time) savingRow {
	r := savingRow{ID: d.id, Name: fetch.Printable(d.name), URL: fetch.Printable(d.address.url.Redacted()), Page: s.link("/view", d.address),
		State: string(d.state), Active: d.active(), Wrong: d.message}
	r.CanResume = !r.Active && d.state != saveDone
	amount := sizeText(d.done)
	if d.total >= 0 && d.state != saveDone {
		amount += " of " + sizeText(d.total)
	}
	switch {
	case d.state == saveDone:
		r.State = amount
		if u, err := (uri.File{Path: filepath.ToSlash(filepath.Join(s.savings.dir, d.name))}).URI(); err == nil {
			r.Link = s.link("/view", address{url: u})
		}
	case d.state == saveRunning:
		r.Done = fmt.Sprint(d.done)
		if d.total > 0 {
			r.Total = fmt.Sprint(d.total)
		}
		r.State = amount + speed(d.done-d.before, d.total-d.done, now.Sub(d.started))
	case d.done > 0:
		r.State += ", " + amount
	}
	return r
}

// speed describes the speed of a transfer and the time that the rest takes.
func speed(done, rest int64, since time.Duration) string {
	if since < time.Second || done <= 0 {
		return ""
	}
	perSecond := float64(done) / since.Seconds()
	text := ", " + sizeText(int64(perSecond)) + "/s"
	if rest > 0 {
		text += ", " + time.Duration(float64(rest)/perSecond*float64(time.Second)).Round(time.Second).String() + " left"
	}
	return text
}

// showSavings serves the list of downloads. It is loaded again every two seconds while one is active,
// unless the user stopped that.
func (s *Server) showSavings(w http.ResponseWriter, r *http.Request) { s.putSavings(w, r, nil) }

func (s *Server) putSavings(w http.ResponseWriter, r *http.Request, wrong error) {
	l := &s.savings
	l.mu.Lock()
	err := errors.Join(wrong, l.load())
	data := struct {
		Dir           string
		Rows          []savingRow
		Active, Still bool
	}{Dir: fetch.Printable(l.dir), Still: r.URL.Query().Has("still")}
	now := time.Now()
	for _, d := range slices.Backward(l.list) {
		row := s.row(d, now)
		data.Active = data.Active || row.Active
		data.Rows = append(data.Rows, row)
	}
	l.mu.Unlock()
	p := s.newPage(w, r, address{})
	p.refresh = data.Active && !data.Still
	p.begin(http.StatusOK, "Downloads")
	p.put("downloads", data)
	if err != nil {
		p.put("broken", messageOf(err))
	}
	p.end(nil)
}

// save starts the download of an address.
func (s *Server) save(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 3*maxURL)
	if err := r.ParseForm(); err != nil {
		http.Error(w, "The form cannot be parsed.", http.StatusBadRequest)
		return
	}
	a, err := s.verify(r.PostForm)
	if err != nil || s.savings.dir == "" {
		s.newPage(w, r, a).refuseUnsigned(a, err)
		return
	}
	d, err := s.savings.add(a, nameFor(a, r.PostForm.Get("name")))
	if err != nil {
		s.putSavings(w, r, err)
		return
	}
	s.startSaving(d)
	http.Redirect(w, r, "/downloads", http.StatusSeeOther)
}

// changeSaving cancels, resumes or removes a download.
func (s *Server) changeSaving(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxURL)
	id, l := r.PostFormValue("id"), &s.savings
	l.mu.Lock()
	err := l.load()
	d := l.find(id)
	l.mu.Unlock()
	switch action := r.PostFormValue("action"); {
	case err != nil || d == nil: // removed on another page
	case action == "resume":
		s.startSaving(d)
	case action == "cancel":
		l.mu.Lock()
		if d.cancel != nil {
			d.cancel()
		}
		l.mu.Unlock()
	case action == "remove":
		err = l.remove(id)
	}
	if err != nil {
		s.putSavings(w, r, err)
		return
	}
	http.Redirect(w, r, "/downloads", http.StatusSeeOther)
}
