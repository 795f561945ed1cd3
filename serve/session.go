package serve

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/uri"
)

// isSession reports whether URLs of a scheme are sessions.
func (s *Server) isSession(scheme string) bool {
	known, ok := s.Client.Scheme(scheme)
	return ok && known.State() == driver.StateSession
}

// A dialog is a session as a page shows it.
type dialog struct {
	Host, Scheme string
	Command      string // that opens it elsewhere
	From         string // what led there; "" if the user named it
	User         string // whom the URL suggests
	Fields       []field
	Off, Only    bool
	Ticket       string // "" if it has not begun
	Keys         []key
}

func (p *page) dialog() dialog {
	a := p.address
	user, _ := a.url.User()
	quoted := strings.ReplaceAll(fetch.Printable(a.url.Redacted()), "'", "%27") // people copy it into a shell
	d := dialog{Command: "urlget '" + quoted + "'", Host: fetch.Printable(hostPort(a.url)), Scheme: a.url.Scheme(),
		User: fetch.Printable(user), Fields: p.s.box(a, "", "").Fields, Off: p.s.Sessions == nil, Only: p.s.ArchiveOnly}
	if !a.from.IsZero() {
		d.From = fetch.Printable(a.from.Redacted())
	}
	return d
}

// hostPort returns the host of a URL as people read it, with the port if it is not the usual one.
func hostPort(u uri.URI) string {
	if port := u.Port(0); port != 0 {
		return net.JoinHostPort(u.Host(), strconv.Itoa(int(port)))
	}
	return u.Host()
}

// offer shows what a session is with, and asks whether to begin it. Nothing is sent before.
func (p *page) offer() {
	title := titleOf(p.address.url)
	p.s.history.add(visit{Title: fetch.Printable(title), URL: fetch.Printable(p.address.url.Redacted()), Link: p.s.link("/view", p.address)})
	p.begin(http.StatusOK, title)
	p.put("offer", p.dialog())
	p.end(nil)
}

// session shows the terminal of a session that the user wants to begin. Its script begins it, with a
// ticket that no other page has.
func (s *Server) session(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 3*maxURL)
	if err := r.ParseForm(); err != nil {
		http.Error(w, "The address cannot be read.", http.StatusBadRequest)
		return
	}
	a, err := s.verify(r.PostForm)
	p := s.newPage(w, r, a)
	switch {
	case err != nil:
		p.unsigned(a, err)
		return
	case s.Sessions == nil || !s.isSession(a.url.Scheme()):
		p.offer()
		return
	}
	o, h := origin(r), w.Header()
	h.Set("Content-Security-Policy", strings.NewReplacer(
		"script-src ", "connect-src "+socketOrigin(r)+"/terminal; script-src "+o+"/static/terminal.js "+o+"/static/screen.js ",
		"style-src ", "style-src "+o+"/static/terminal.css ").Replace(h.Get("Content-Security-Policy")))
	d := p.dialog()
	d.Ticket, d.Keys = s.tickets.add(a), keysOf(s.Client.Traits(a.url))
	p.begin(http.StatusOK, titleOf(a.url))
	p.put("terminal", d)
	p.end(nil)
}

// A key is one that a page has as a button, for those whose keyboard lacks it.
type key struct{ Name, Label string }

// keysOf returns the buttons for the sessions of a scheme with these traits.
func keysOf(t fetch.Traits) []key {
	if !t.Screens {
		return []key{{"Escape", "Esc"}, {"Tab", "Tab"}, {"Interrupt", "Ctrl-C"}, {"ArrowUp", "↑"}, {"ArrowDown", "↓"},
			{"ArrowLeft", "←"}, {"ArrowRight", "→"}}
	}
	list := []key{{"Clear", "Clear"}, {"Reset", "Reset"}, {"Tab", "Tab"}}
	for i := range 3 {
		list = append(list, key{fmt.Sprintf("PA%d", i+1), fmt.Sprintf("PA%d", i+1)})
	}
	for i := range 12 {
		list = append(list, key{fmt.Sprintf("F%d", i+1), fmt.Sprintf("PF%d", i+1)})
	}
	return list
}
