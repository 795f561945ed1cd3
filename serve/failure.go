package serve

import (
	"cmp"
	"errors"
	"net/http"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/fetchhttp"
)

// A failure is an error as a page shows it.
type failure struct {
	Title, Class, Message, Hint string
	Body                        string // the server's own page, as text
	Search                      *searchBox
	Questions                   []question
	Form                        fetch.Form
	Fields                      []field // of the form: the signed address
	Login                       string  // whom to log in to; "" if that does not help
	Retry                       string
	Own                         bool // it is on a page of our own
}

// maxErrorText bounds what is shown of a server's error page, in bytes.
const maxErrorText = 8 << 10

// fail shows what went wrong, and what can be done about it: words, answers or a login.
func (p *page) fail(err error) {
	f := failure{Title: "Not shown", Class: string(fetch.CodeOf(err)), Message: fetch.Printable(err.Error())}
	var e *fetch.Error
	if errors.As(err, &e) {
		f.Message, f.Hint = e.Message(), fetch.Printable(e.Hint)
		f.Title = e.Code.Error()
		if e.Retry {
			f.Retry = p.s.link("/view", p.address)
		}
		f.Body = readable(e.Body[:min(len(e.Body), maxErrorText)])
	}
	form, isForm := asked(err)
	switch code := fetch.CodeOf(err); {
	case p.address.url.IsZero():
		f.Own = true
	case code == fetch.ErrNeedSearch:
		label := "Words to search for"
		if e != nil && e.Reply.Text != "" { // what the server asks
			label = e.Reply.String()
		}
		f.Title, f.Search = "Search", p.s.box(p.address, label, "words")
		f.Hint = ""
	case isForm:
		f.Title, f.Form, f.Questions = cmp.Or(fetch.Printable(form.Title), "A form"), form, questions(form)
		f.Fields = p.s.box(p.address, "", "").Fields
		f.Hint = ""
	case code == fetch.ErrAuth && !p.address.foreign && p.address.url.Host() != "":
		f.Login, f.Fields = p.address.url.Host(), p.s.box(p.address, "", "").Fields
	}
	status := fetchhttp.Status(err)
	if f.Search != nil || f.Form.Fields != nil || status == http.StatusNotModified {
		status = http.StatusOK
	}
	p.begin(status, f.Title)
	p.put("failure", f)
}

// trouble says at the end of a page why it is not complete.
func (p *page) trouble(err error) {
	message := fetch.Printable(err.Error())
	var e *fetch.Error
	if errors.As(err, &e) {
		message = e.Message()
	}
	p.put("trouble", message)
}
