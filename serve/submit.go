package serve

import (
	"bytes"
	"io"
	"mime"
	"net/http"
	"net/textproto"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// A submitted form is one of a web page with its answers, as the browser wrote them.
type submitted struct {
	kind string // the media type
	data []byte
}

// sender returns where the forms of a page send their answers: to us, which send them on. What a
// page has asked for is never sent with logins of the user, even if the page was retrieved with
// them.
func (s *Server) sender(a address) func(fetch.Entry, string) (string, bool) {
	return func(action fetch.Entry, method string) (string, bool) {
		if scheme, _ := s.Client.Scheme(action.URL.Scheme()); !scheme.Bodies {
			return "", false
		}
		to := a.to(action.URL.WithoutFragment())
		to.foreign = true
		return s.link("/submit", to) + "&m=" + method, true
	}
}

// submit takes the answers to a form of a page. It comes from a frame without origin and cookies, so
// that the signature alone tells that the page is one that we have shown; what is sent, and what
// comes back, is the affair of another request, which has the cookie.
func (s *Server) submit(w http.ResponseWriter, r *http.Request) {
	if dest := r.Header.Get("Sec-Fetch-Dest"); dest != "" && dest != "document" {
		http.Error(w, "This is for forms.", http.StatusForbidden)
		return
	}
	a, err := s.verify(r.URL.Query())
	if err != nil || !a.foreign || a.from.IsZero() {
		http.Error(w, errSignature.Error(), http.StatusForbidden)
		return
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxAnswer))
	if err != nil {
		http.Error(w, "The answers cannot be read, or are longer than 1 MiB.", http.StatusRequestEntityTooLarge)
		return
	}
	kind := r.Header.Get("Content-Type")
	name, _, _ := mime.ParseMediaType(kind)
	switch {
	case name != "application/x-www-form-urlencoded" && name != "multipart/form-data" && name != "text/plain":
		http.Error(w, "No form sends this.", http.StatusUnsupportedMediaType)
	case r.URL.Query().Get("m") == "post":
		a.kept = s.answered.add(submitted{kind, data})
		http.Redirect(w, r, s.link("/sent", a), http.StatusSeeOther)
	default: // the answers become part of the URL
		before, _, _ := strings.Cut(a.url.WithoutFragment().String(), "?")
		if a.url, err = uri.Parse(before + "?" + string(data)); err != nil {
			http.Error(w, "The answers make no URL.", http.StatusBadRequest)
			return
		}
		http.Redirect(w, r, s.link("/view", a), http.StatusSeeOther)
	}
}

// send sends the answers to a form of a page, once, and shows what comes back.
func (s *Server) send(w http.ResponseWriter, r *http.Request) {
	a, err := s.verify(r.URL.Query())
	id := a.kept
	a.kept = ""
	p := s.newPage(w, r, a)
	if err != nil || !a.foreign {
		p.unsigned(a, err)
		return
	}
	answers, ok := s.answered.take(id)
	if !ok {
		p.begin(http.StatusGone, "Not sent")
		from := a
		from.url, from.from = a.from, uri.URI{}
		p.put("sentBefore", s.link("/view", from))
		p.end(nil)
		return
	}
	done, err := s.turn(r.Context())
	if err != nil {
		p.fail(err)
		p.end(nil)
		return
	}
	defer done()
	p.posted = true
	resp, err := p.fetch(r.Context(), &fetch.Request{Method: http.MethodPost, ContentLength: int64(len(answers.data)),
		Header:  textproto.MIMEHeader{"Content-Type": {answers.kind}},
		GetBody: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(answers.data)), nil }})
	p.show(resp, err)
}
