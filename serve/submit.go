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

type submitted struct {
	kind string // the media type
	data []byte
}

// sender returns the function that rewrites form actions to /submit. Such requests count as
// foreign, so that they never use the user's credentials.
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

// submit accepts a form of a web page and redirects to the page that sends it. The frame has no
// origin and no cookies, so that only the signature proves that a page of ours showed the form. The
// redirect target requires the cookie.
func (s *Server) submit(w http.ResponseWriter, r *http.Request) {
	if dest := r.Header.Get("Sec-Fetch-Dest"); dest != "" && dest != "document" {
		http.Error(w, "Only forms may be submitted here.", http.StatusForbidden)
		return
	}
	a, err := s.verify(r.URL.Query())
	if err != nil || !a.foreign || a.from.IsZero() {
		http.Error(w, errSignature.Error(), http.StatusForbidden)
		return
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxFormSize))
	if err != nil {
		http.Error(w, "The form cannot be parsed or is longer than 1 MiB.", http.StatusRequestEntityTooLarge)
		return
	}
	kind := r.Header.Get("Content-Type")
	name, _, _ := mime.ParseMediaType(kind)
	switch {
	case name != "application/x-www-form-urlencoded" && name != "multipart/form-data" && name != "text/plain":
		http.Error(w, "The content type is not one of HTML forms.", http.StatusUnsupportedMediaType)
	case r.URL.Query().Get("m") == "post":
		a.cacheID = s.submissions.add(submitted{kind, data})
		http.Redirect(w, r, s.link("/sent", a), http.StatusSeeOther)
	default: // GET: the fields become the query
		before, _, _ := strings.Cut(a.url.WithoutFragment().String(), "?")
		if a.url, err = uri.Parse(before + "?" + string(data)); err != nil {
			http.Error(w, "The form does not produce a valid URL.", http.StatusBadRequest)
			return
		}
		http.Redirect(w, r, s.link("/view", a), http.StatusSeeOther)
	}
}

func (s *Server) send(w http.ResponseWriter, r *http.Request) {
	a, err := s.verify(r.URL.Query())
	id := a.cacheID
	a.cacheID = ""
	p := s.newPage(w, r, a)
	if err != nil || !a.foreign {
		p.refuseUnsigned(err)
		return
	}
	form, ok := s.submissions.take(id)
	if !ok {
		p.begin(http.StatusGone, "Form not sent")
		from := a
		from.url, from.from = a.from, uri.URI{}
		p.put("sentBefore", s.link("/view", from))
		p.end(nil)
		return
	}
	p.posted = true
	p.respond(r.Context(), &fetch.Request{Method: http.MethodPost, ContentLength: int64(len(form.data)),
		Header:  textproto.MIMEHeader{"Content-Type": {form.kind}},
		GetBody: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(form.data)), nil }})
}
