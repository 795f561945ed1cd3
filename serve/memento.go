package serve

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/urlget/urlget/archive/replay"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/fetchhttp"
	"github.com/urlget/urlget/fetch/uri"
)

const (
	// mementoTime is the layout of the time in the URL of a capture. A fraction follows if there are
	// several captures in a second.
	mementoTime = "20060102150405"
	linkFormat  = "application/link-format"
)

// newMementoPath returns the path below which other programs find the captures of the archive, without a
// cookie. It is secret: it depends on the token.
func newMementoPath(token string) string {
	h := hmac.New(sha256.New, []byte(token))
	h.Write([]byte("memento"))
	return "/" + base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:18])
}

// timeGate returns the URL of the TimeGate for the archive (RFC 7089, section 4). It contains a secret
// that grants access to the captures.
func (s *Server) timeGate(host string) string {
	return plainWeb + host + s.mementoPath + "/timegate/"
}

type mementos struct {
	base  string // origin and secret path
	of    uri.URI
	times []time.Time // of the captures, oldest first
}

// serveMemento serves the resources of RFC 7089 below mementoPath: /timegate/URL, /timemap/URL and
// /TIME/URL. The path of the request is used as it was sent, because it contains a URL.
func (s *Server) serveMemento(w http.ResponseWriter, r *http.Request, rest string) {
	setUntrustedHeaders(w, r)
	what, target, ok := strings.Cut(rest, "/")
	u, err := uri.Parse(target)
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		http.Error(w, "Only GET and HEAD are supported.", http.StatusMethodNotAllowed)
		return
	case !ok || err != nil || !u.IsAbs() || len(target) > maxURL:
		http.Error(w, "The path must end with a URL.", http.StatusBadRequest)
		return
	}
	m := mementos{base: origin(r) + s.mementoPath, of: u.WithoutFragment().WithoutUserinfo()}
	if m.times = s.Archive.Times(&fetch.Request{URL: m.of}); m.times == nil {
		http.Error(w, "The archive has no capture of this URL.", http.StatusNotFound)
		return
	}
	switch what {
	case "timegate":
		m.timeGate(w, r)
		return
	case "timemap":
		m.timeMap(w)
		return
	}
	when, err := time.Parse(mementoTime, what)
	if err != nil {
		http.Error(w, "The path must be that of a TimeGate, a TimeMap or a capture.", http.StatusNotFound)
		return
	}
	at := m.nearest(when)
	if m.name(at) != what { // an intermediate resource (RFC 7089, section 4.5.7)
		m.redirect(w, at)
		return
	}
	s.memento(w, r, &m, at)
}

// nearest returns the index of the capture nearest to a time. A time without a fraction means any in
// the second.
func (m *mementos) nearest(at time.Time) int {
	best, second := 0, at.Nanosecond() == 0
	distance := func(i int) time.Duration {
		t := m.times[i]
		if second {
			t = t.Truncate(time.Second)
		}
		return t.Sub(at).Abs()
	}
	for i := range m.times {
		if distance(i) <= distance(best) {
			best = i
		}
	}
	return best
}

func (m *mementos) name(i int) string {
	t, form := m.times[i].UTC(), mementoTime
	for _, j := range []int{i - 1, i + 1} {
		if j >= 0 && j < len(m.times) && m.times[j].Unix() == t.Unix() {
			form = mementoTime + ".999999999"
		}
	}
	return t.Format(form)
}

func (m *mementos) url(i int) string { return m.base + "/" + m.name(i) + "/" + m.of.String() }

func (m *mementos) stated(i int) string { return m.times[i].UTC().Format(http.TimeFormat) }

// link returns a link to a capture, as in a Link field and in a TimeMap (RFC 7089, section 2.2).
func (m *mementos) link(i int, rel string) string {
	return fmt.Sprintf(`<%s>; rel="%s"; datetime="%s"`, m.url(i), rel, m.stated(i))
}

func (m *mementos) originals() []string {
	return []string{fmt.Sprintf(`<%s>; rel="original"`, m.of),
		fmt.Sprintf(`<%s/timegate/%s>; rel="timegate"`, m.base, m.of)}
}

func (m *mementos) setLinks(h http.Header, at int) {
	last := len(m.times) - 1
	links := append(m.originals(),
		fmt.Sprintf(`<%s/timemap/%s>; rel="timemap"; type="%s"`, m.base, m.of, linkFormat),
		m.link(0, "first memento"), m.link(last, "last memento"))
	if at > 0 {
		links = append(links, m.link(at-1, "prev memento"))
	}
	if at >= 0 && at < last {
		links = append(links, m.link(at+1, "next memento"))
	}
	h.Set("Link", strings.Join(links, ", "))
}

func (m *mementos) redirect(w http.ResponseWriter, at int) {
	m.setLinks(w.Header(), -1)
	w.Header().Set("Location", m.url(at))
	w.WriteHeader(http.StatusFound)
}

// timeGate redirects to the capture nearest to the date of Accept-Datetime (RFC 7089, section 4.1), or to
// the last one without a date.
func (m *mementos) timeGate(w http.ResponseWriter, r *http.Request) {
	at := len(m.times) - 1
	w.Header().Set("Vary", "accept-datetime")
	if asked := r.Header.Get("Accept-Datetime"); asked != "" {
		when, err := time.Parse(http.TimeFormat, asked) // no other form (RFC 7089, section 4.5.3)
		if err != nil {
			http.Error(w, "Accept-Datetime is not a date in the form of RFC 1123.", http.StatusBadRequest)
			return
		}
		at = m.nearest(when)
	}
	m.redirect(w, at)
}

// timeMap lists the captures (RFC 7089, section 5).
func (m *mementos) timeMap(w http.ResponseWriter) {
	last := len(m.times) - 1
	w.Header().Set("Content-Type", linkFormat)
	out := bufio.NewWriter(w)
	links := append(m.originals(),
		fmt.Sprintf(`<%s/timemap/%s>; rel="self"; type="%s"; from="%s"; until="%s"`,
			m.base, m.of, linkFormat, m.stated(0), m.stated(last)))
	out.WriteString(strings.Join(links, ",\n"))
	for i := range m.times {
		rel := "memento"
		switch i {
		case 0:
			rel = "first memento"
		case last:
			rel = "last memento"
		}
		fmt.Fprintf(out, ",\n%s", m.link(i, rel))
	}
	fmt.Fprintln(out)
	out.Flush()
}

type redirection struct{ to uri.URI }

func (r redirection) Error() string { return "redirected to " + r.to.Redacted() }

// memento serves a capture without changes. Like other untrusted content, it has no origin and no
// scripts in a browser.
func (s *Server) memento(w http.ResponseWriter, r *http.Request, m *mementos, at int) {
	done, err := s.acquire(r.Context())
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	defer done()
	req := &fetch.Request{URL: m.of, Redirect: func(to uri.URI) error { return redirection{to} }}
	fetchhttp.Ask(req, r.Header)
	ctx := context.WithValue(r.Context(), captureKey{}, capture{at: m.times[at], only: true})
	resp, err := s.Client.Do(ctx, req)
	if err == nil && resp.Capture != nil && !resp.Capture.Time.Equal(m.times[at]) {
		// the content is that of another one
		at = m.nearest(resp.Capture.Time)
	}
	if err != nil {
		m.failure(w, r, s.Archive, at, err)
		return
	}
	defer resp.Body.Close()
	m.setCaptured(w.Header(), at)
	w.WriteHeader(fetchhttp.Describe(w.Header(), resp))
	if r.Method != http.MethodHead {
		pass(w, resp.Body)
	}
}

func (m *mementos) setCaptured(h http.Header, at int) {
	m.setLinks(h, at)
	h.Set("Memento-Datetime", m.stated(at))
}

// failure serves a captured redirect or failure with its own status (RFC 7089, sections 4.5.4 and 4.5.5).
// A redirect leads to the capture of its target, if there is one.
func (m *mementos) failure(w http.ResponseWriter, r *http.Request, a *replay.Archive, at int, err error) {
	var e *fetch.Error
	var moved redirection
	switch {
	case !errors.As(err, &e), e.Code == fetch.ErrPolicy, e.Reply == (fetch.Reply{}):
		// not what the server said
		refuse(w, err)
		return
	case errors.As(err, &moved):
		to := moved.to.WithoutFragment().WithoutUserinfo()
		location := to.String()
		if a.Times(&fetch.Request{URL: to}) != nil {
			location = m.base + "/" + m.times[at].UTC().Format(mementoTime) + "/" + location
		}
		status := e.Reply.Code
		if status/100 != 3 { // of another protocol
			status = http.StatusFound
		}
		m.setCaptured(w.Header(), at)
		w.Header().Set("Location", location)
		w.WriteHeader(status)
		return
	}
	m.setCaptured(w.Header(), at)
	kind, status := e.Header.Get("Content-Type"), fetchhttp.Status(err)
	if e.Header != nil {
		status = e.Reply.Code
	}
	if e.Body == nil || kind == "" || e.Header.Get("Content-Encoding") != "" {
		http.Error(w, fetch.Printable(err.Error()), status)
		return
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	if r.Method == http.MethodHead {
		return
	}
	if w.Write(e.Body); e.Partial {
		panic(http.ErrAbortHandler) // lets the client detect the truncation
	}
}
