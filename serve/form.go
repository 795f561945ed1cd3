package serve

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// maxFormSize limits the size of a submitted form with its files, in bytes.
const maxFormSize = 1 << 20

type searchBox struct {
	Action string
	Fields []field
	Label  string
	ID     string
	Words  string // the words of the results on the page
}

// parseForm parses a form with at most a few URLs. Of a malformed one it reports the name to the user.
func parseForm(w http.ResponseWriter, r *http.Request, name string) bool {
	r.Body = http.MaxBytesReader(w, r.Body, 3*maxURL)
	if err := r.ParseForm(); err != nil {
		http.Error(w, "The "+name+" cannot be parsed.", http.StatusBadRequest)
		return false
	}
	return true
}

type field struct{ Name, Value string }

func (p *page) isSearchable() bool {
	if p.s.Client.Traits(p.here.url).Pages { // any web URL can have a query, but few pages search by it
		return false
	}
	_, err := p.here.url.WithSearch("words")
	return err == nil
}

func (s *Server) box(a address, label, id string) *searchBox {
	return &searchBox{Action: "/search", Fields: s.hiddenFields(a), Label: label, ID: id}
}

func (s *Server) hiddenFields(a address) []field {
	var list []field
	q := s.query(a)
	for _, name := range slices.Sorted(maps.Keys(q)) {
		list = append(list, field{name, q.Get(name)})
	}
	return list
}

func (s *Server) search(w http.ResponseWriter, r *http.Request) {
	p, ok := s.signedPage(w, r, r.URL.Query())
	if !ok {
		return
	}
	a, words := p.address, strings.TrimSpace(r.FormValue("words"))
	u, err := a.url.WithSearch(words)
	if err != nil && a.url.Host() != "" && strings.Trim(a.url.Path(), "/") == "" {
		// the service takes the words as its path
		u, err = uri.Parts{Scheme: a.url.Scheme(), Login: a.url.Userinfo(), Host: a.url.Host(),
			Port: a.url.Port(0),
			Path: "/" + uri.Escape(words)}.URI()
	}
	if err != nil {
		p.show(nil, &fetch.Error{Code: fetch.ErrURL, URL: a.url.Redacted(), Err: err})
		return
	}
	a.url = u
	http.Redirect(w, r, s.link("/view", a), http.StatusSeeOther)
}

type question struct {
	ID, Name, Kind string
	Default        string
	Choices        []string
}

func questions(f fetch.Form) []question {
	var list []question
	for i, field := range f.Fields {
		sep := " "
		if field.Kind == fetch.FieldLines {
			sep = "\n"
		}
		q := question{ID: "a" + strconv.Itoa(i), Name: field.Name, Kind: string(field.Kind),
			Default: strings.Join(field.Default, sep), Choices: field.Choices}
		if field.Kind != fetch.FieldSaveAs {
			list = append(list, q)
		}
	}
	return list
}

// submitForm submits a form. Field N has its value in aN, its name in nN and its kind in kN.
func (s *Server) submitForm(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxFormSize)
	if err := r.ParseMultipartForm(maxFormSize); err != nil {
		http.Error(w, "The form cannot be parsed or is longer than 1 MiB.", http.StatusBadRequest)
		return
	}
	p, ok := s.signedPage(w, r, r.PostForm)
	if !ok {
		return
	}
	req := &fetch.Request{Form: make(map[string][]string)}
	for key, names := range r.PostForm {
		number, ok := strings.CutPrefix(key, "n")
		if n, err := strconv.Atoi(number); !ok || err != nil || n < 0 || len(names) == 0 {
			continue
		}
		values := r.PostForm["a"+number]
		if r.PostForm.Get("k"+number) == string(fetch.FieldLines) && len(values) > 0 {
			values = strings.Split(strings.TrimRight(strings.ReplaceAll(values[0], "\r\n", "\n"), "\n"), "\n")
		}
		if file := r.MultipartForm.File["a"+number]; len(file) > 0 {
			f, err := file[0].Open()
			if err != nil {
				http.Error(w, "The uploaded file cannot be read.", http.StatusBadRequest)
				return
			}
			content, _ := io.ReadAll(f)
			f.Close()
			values = []string{string(content)}
		}
		req.Form[names[0]] = values
	}
	p.respond(r.Context(), req)
}

// attributes returns the link to the Gopher+ attributes of an item, or "" if the URL is not a
// gopher URL. Only Gopher+ has such attributes and views, so that no trait exists for them.
func (s *Server) attributes(a address) string {
	g, err := uri.ParseGopher(a.url)
	if err != nil {
		return ""
	}
	g.Plus, g.HasPlus, g.HasSearch, g.Form = "!", true, true, nil
	u, err := g.URI()
	if err != nil {
		return ""
	}
	a.url = u
	return s.link("/view", a)
}

func (p *page) views(resp *fetch.Response) {
	g, err := uri.ParseGopher(resp.URL)
	if err != nil || !g.HasPlus || len(resp.Header["Views"]) == 0 {
		return
	}
	g.Plus, g.HasPlus, g.Search, g.HasSearch = "", false, "", false
	item, err := g.URI()
	if err != nil {
		return
	}
	var list []choice
	for _, line := range resp.Header["Views"] {
		name, _, _ := strings.Cut(line, ":")
		media, lang, both := strings.Cut(strings.TrimSpace(name), " ")
		if both {
			media += ";lang=" + strings.TrimSpace(lang)
		}
		if media == "" || len(list) == maxViews {
			continue
		}
		a := p.here
		a.url, a.view = item, media
		list = append(list, choice{Name: fetch.Printable(strings.TrimSpace(line)),
			Link: p.s.link("/view", a)})
	}
	p.put("views", list)
}

const maxViews = 50

func requiredForm(err error) (fetch.Form, bool) {
	var e *fetch.FormError
	if !errors.As(err, &e) || errors.Is(err, context.Canceled) {
		return fetch.Form{}, false
	}
	return e.Form, true
}

func wordsOf(u uri.URI) string {
	query, _ := u.Query()
	query, _, _ = strings.Cut(query, ";") // parameters follow the words of Z39.50
	all := []string{uri.UnescapeRaw(strings.ReplaceAll(query, "+", " ")), uri.UnescapeRaw(query)}
	if g, err := uri.ParseGopher(u); err == nil {
		all = append(all, g.Search)
	}
	for _, words := range all {
		if found, err := u.WithSearch(words); words != "" && err == nil && found == u {
			return words
		}
	}
	return ""
}
