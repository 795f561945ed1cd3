package gemini

import (
	"cmp"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols/internal/smallnet"
)

// The statuses that are treated differently from others of their class.
const (
	sensitiveInput = 11
	slowDown       = 44
)

// maxDelay bounds how long a server may ask the client to wait, in seconds.
const maxDelay = 1 << 31

// headers are what answers begin with.
var headers = smallnet.Form{Protocol: "Gemini", Lowest: 10, Highest: 69}

type answer struct{ smallnet.Answer }

// class returns the first digit of the status, which tells all that a client must know.
func (a *answer) class() int { return a.Status / 10 }

// prompt returns the server's question, which is also the name of the field in the form.
func (a *answer) prompt() string { return cmp.Or(wire.Text(a.Text), "input") }

// filledIn returns the answer that a form gives to the server's question, if there is one.
func (a *answer) filledIn(form map[string][]string) (string, bool) {
	given, ok := form[a.prompt()]
	if !ok || a.class() != 1 {
		return "", false
	}
	return strings.Join(given, "\n"), true
}

// response returns the answer as a response, or an error.
func (a *answer) response(req *driver.Request) (*driver.Response, error) {
	switch a.class() {
	case 2:
		return a.Success(req, smallnet.Page{Base: req.URL}) // over TLS, so the client can detect the end
	case 3:
		to, err := uri.Parse(a.Text)
		if err != nil || to.IsZero() {
			return nil, &driver.Error{Code: driver.ErrRedirect, Reply: a.Reply(), Err: errors.New("the server redirects to an invalid URL")}
		}
		resp := &driver.Response{Location: []uri.URI{to}, Body: driver.NoBody}
		resp.Reply = a.Reply()
		return resp, nil
	}
	return nil, a.failure(req)
}

// failure returns the error that the answer reports.
func (a *answer) failure(req *driver.Request) error {
	e := &driver.Error{Reply: a.Reply()}
	switch a.class() {
	case 1:
		return a.question(req, e)
	case 4:
		e.Code, e.Retry = driver.ErrServer, true
		if a.Status == 41 || a.Status == slowDown {
			e.Code = driver.ErrBusy
		}
		if wait, err := strconv.ParseInt(a.Text, 10, 64); a.Status == slowDown && err == nil && wait > 0 {
			e.RetryAfter = time.Duration(min(wait, maxDelay)) * time.Second
		}
	case 5:
		e.Code = driver.ErrServer
		switch a.Status {
		case 51, 52:
			e.Code = driver.ErrNotFound
		case 53, 59:
			e.Code = driver.ErrRefused
		}
	case 6:
		e.Code = driver.ErrAuth
		switch a.Status {
		case 60:
			e.Err, e.Hint = errors.New("the server wants a client certificate"), "show one that it knows"
		case 61:
			e.Err, e.Hint = errors.New("the client certificate is not authorised for this"), "show another one"
		case 62:
			e.Err, e.Hint = errors.New("the client certificate is not valid"), "show another one: perhaps its dates are wrong"
		default:
			e.Err = errors.New("the server wants another client certificate")
		}
	}
	return e
}

// question completes the error for a URL that expects input.
func (a *answer) question(req *driver.Request, e *driver.Error) error {
	if a.Status == sensitiveInput {
		e.Code, e.Reason = driver.ErrNeedForm, driver.Reason{Kind: driver.ReasonForm, Question: a.prompt()}
		e.Err = &driver.FormError{Form: driver.Form{Fields: []driver.Field{{Name: a.prompt(), Kind: driver.FieldSecret}}}}
		e.Hint = "answer it"
		return e
	}
	e.Code = driver.ErrNeedSearch
	if u, err := req.URL.WithSearch("words"); err == nil {
		e.Hint = "add the words after a question mark: " + u.Redacted()
	}
	return e
}
