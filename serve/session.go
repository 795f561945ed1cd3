package serve

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

func (s *Server) isSession(scheme string) bool {
	known, ok := s.Client.Scheme(scheme)
	return ok && known.State() == "session"
}

type dialog struct {
	Host, Scheme string
	Command      string // the shell command that opens the session
	From         string // the page with the link; "" if the user entered the URL
	User         string // the user name in the URL
	Fields       []field
	Off, Only    bool
	Ticket       string // "" until the user confirms
	Keys         []key
	Static       string // path of the script
}

func (p *page) dialog() dialog {
	a := p.address
	user, _ := a.url.User()
	d := dialog{Command: "urlget " + shellQuoted(a.url), Host: fetch.Printable(hostPort(a.url)),
		Scheme: a.url.Scheme(), User: fetch.Printable(user), Fields: p.s.hiddenFields(a),
		Off: p.s.Sessions == nil, Only: p.s.ArchiveOnly, Static: staticFiles().path}
	if !a.from.IsZero() {
		d.From = fetch.Printable(a.from.Redacted())
	}
	return d
}

// shellQuoted returns a URL for a command that the user copies into a shell. A quote is escaped as in
// URLs, because shells escape it in different ways.
func shellQuoted(u uri.URI) string {
	return "'" + strings.ReplaceAll(fetch.Printable(u.Redacted()), "'", "%27") + "'"
}

func hostPort(u uri.URI) string {
	if port := u.Port(0); port != 0 {
		return net.JoinHostPort(u.Host(), strconv.Itoa(int(port)))
	}
	return u.Host()
}

func (p *page) offer() {
	title := titleOf(p.address.url, p.s.Client.Traits(p.address.url))
	p.begin(http.StatusOK, title)
	p.putVisit(title)
	p.put("offer", p.dialog())
	p.end(nil)
}

// session serves the terminal page of a session. Its script opens the session with a single-use
// ticket.
func (s *Server) session(w http.ResponseWriter, r *http.Request) {
	if !parseForm(w, r, "session form") {
		return
	}
	p, ok := s.signedPage(w, r, r.PostForm)
	if !ok {
		return
	}
	a := p.address
	if s.Sessions == nil || !s.isSession(a.url.Scheme()) {
		p.offer()
		return
	}
	files, h := origin(r)+staticFiles().path, w.Header()
	h.Set("Content-Security-Policy", strings.NewReplacer(
		"script-src ", "connect-src "+socketOrigin(r)+"/terminal; "+
			"script-src "+files+"terminal.js "+files+"screen.js ",
		"style-src ", "style-src "+files+"terminal.css ").Replace(h.Get("Content-Security-Policy")))
	d := p.dialog()
	d.Ticket, d.Keys = s.tickets.add(a), keysOf(s.Client.Traits(a.url))
	p.begin(http.StatusOK, titleOf(a.url, s.Client.Traits(a.url)))
	p.put("terminal", d)
	p.end(nil)
}

type key struct{ Name, Label string }

func keysOf(t fetch.Traits) []key {
	if !t.Screens {
		return []key{{"Escape", "Esc"}, {"Tab", "Tab"}, {"Interrupt", "Ctrl-C"},
			{"ArrowUp", "↑"}, {"ArrowDown", "↓"}, {"ArrowLeft", "←"}, {"ArrowRight", "→"}}
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
