package serve

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/fetchhttp"
)

type failure struct {
	Title, Class, Message, Hint string
	Kicker                      string // above the title, on a page of the server itself
	Advice                      string // a next step; "" if the message is shown instead
	Late                        bool   // the page has another heading
	Request                     string // what the server asks for; "" if it is an error
	Secure, SecureName          string // link to the scheme with TLS, and its text
	Body                        string // body of the server's error response, as text
	Search                      *searchBox
	Questions                   []question
	Form                        fetch.Form
	Fields                      []field       // the signed address, for forms
	Login                       string        // host that requires a login; "" if a login does not help
	Retry, Up, Archive          string        // links
	Identities                  string        // link to the choice of an identity
	Known                       []identityRow // identities to choose with one click
	Server                      string        // that gets the identity
	Suggested                   string        // name of a new identity
	Own                         bool          // on a page of the server itself
}

// maxErrorText limits how much of a server's error page is shown, in bytes.
const maxErrorText = 8 << 10

// fail writes an error. If the request needs search words, a form or a login, it writes the form
// for them.
func (p *page) fail(err error) {
	f := failure{Title: "Error", Class: string(fetch.CodeOf(err)), Message: fetch.Printable(err.Error())}
	var e *fetch.Error
	if errors.As(err, &e) {
		f.Message, f.Hint = e.Message(), fetch.Printable(e.Hint)
		f.Title = capitalized(e.Code.Error())
		f.Body = readable(e.Body[:min(len(e.Body), maxErrorText)])
	}
	if heading, advice := sentenceOf(err, p.address.url); heading != "" {
		p.kicker, f.Title, f.Advice = f.Title, heading, advice
	}
	form, isForm := requiredForm(err)
	switch code := fetch.CodeOf(err); {
	case p.address.url.IsZero():
		f.Own = true
	case code == fetch.ErrNeedSearch:
		label := "Search words"
		if e != nil && e.Reply.Text != "" { // the server's prompt
			label = fetch.Printable(e.Reply.Text)
		}
		p.kicker, f.Title, f.Search = "", "Search", p.s.box(p.address, label, "words")
		f.Hint = ""
	case isForm:
		f.Title, f.Form, f.Questions = cmp.Or(fetch.Printable(form.Title), "Form"), form, questions(form)
		f.Fields = p.s.hiddenFields(p.address)
		f.Hint = ""
	case e != nil && e.Reason.Kind == fetch.ReasonIdentity && p.s.Identities != "":
		f.Identities, _ = p.s.identityLink(p.here)
		if f.Identities != "" {
			f.Known, f.Fields = p.s.identityChoices(p.here), p.s.hiddenFields(p.here)
			p.kicker, f.Server = "", fetch.Printable(p.here.url.Host())
			f.Suggested = "visitor"
			f.Title = fetch.Printable(p.here.url.Host()) + " asks for an identity"
			f.Request = cmp.Or(fetch.Printable(e.Reply.Text), "Choose the identity to send.")
			f.Hint = ""
		}
	case e != nil && e.Reason.Kind == fetch.ReasonPlaintext: // a password entered here is not sent either
		if f.SecureName, f.Secure = p.secure(); f.Secure != "" {
			f.Hint = ""
		}
	case code == fetch.ErrAuth && !p.address.foreign && p.address.url.Host() != "":
		f.Login, f.Fields = p.address.url.Host(), p.s.hiddenFields(p.address)
		if p.kicker = ""; !p.s.logins.has(p.address.url) {
			f.Title = fetch.Printable(f.Login) + " requires a login"
		}
	}
	if !f.Own && f.Login == "" && !p.posted {
		f.Retry, f.Up = p.s.link("/view", p.address), p.s.up(p.here)
		if host := p.address.url.Host(); p.s.Archive != nil && host != "" && f.Identities == "" {
			f.Archive = "/archive?q=" + url.QueryEscape(host)
		}
	}
	f.Kicker, f.Late = p.kicker, p.begun
	p.class = f.Class
	status := fetchhttp.Status(err)
	if f.Search != nil || f.Form.Fields != nil || status == http.StatusNotModified {
		status = http.StatusOK
	}
	p.begin(status, f.Title)
	p.put("failure", f)
}

func capitalized(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

func (p *page) writeTrouble(err error) {
	p.put("trouble", messageOf(err))
}

func (p *page) putError(err error) {
	if err != nil {
		p.put("broken", fetch.Printable(err.Error()))
	}
}

func messageOf(err error) string {
	var e *fetch.Error
	if errors.As(err, &e) {
		return e.Message()
	}
	return fetch.Printable(err.Error())
}
