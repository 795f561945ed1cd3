package gemini

import (
	"cmp"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols/internal/smallnet"
)

// Statuses that are handled differently from others of their class (Gemini network protocol, section
// "Status codes").
const (
	sensitiveInput           = 11
	serverUnavailable        = 41
	slowDown                 = 44
	notFound                 = 51
	gone                     = 52
	proxyRequestRefused      = 53
	badRequest               = 59
	certificateRequired      = 60
	certificateNotAuthorized = 61
	certificateNotValid      = 62
)

// maxDelay limits the delay that a server may request, in seconds.
const maxDelay = 1 << 31

var headerFormat = smallnet.HeaderFormat{Protocol: "Gemini", Lowest: 10, Highest: 69}

type response struct {
	smallnet.Response
	schemes *fetch.Registry
}

func (r *response) class() int { return r.Status / 10 }

// prompt returns the server's question, which is also the name of the field in the form.
func (r *response) prompt() string { return cmp.Or(wire.Text(r.Text), "input") }

func (r *response) formAnswer(form map[string][]string) (string, bool) {
	values, ok := form[r.prompt()]
	if !ok || r.class() != 1 {
		return "", false
	}
	return strings.Join(values, "\n"), true
}

func (r *response) interpret(req *fetch.Request) (*fetch.Response, error) {
	switch r.class() {
	case 2:
		return r.Success(req, smallnet.Page{Base: req.URL, Schemes: r.schemes})
	case 3:
		to, err := uri.ParseRef(r.Text)
		if err != nil || to.IsZero() {
			return nil, &fetch.Error{Code: fetch.ErrRedirect, Reply: r.Reply(),
				Err: errors.New("the server redirects to an invalid URL")}
		}
		resp := &fetch.Response{Location: []uri.URI{to}, Body: fetch.NoBody}
		resp.Reply = r.Reply()
		return resp, nil
	}
	return nil, r.failure(req)
}

func (r *response) failure(req *fetch.Request) error {
	e := &fetch.Error{Reply: r.Reply()}
	switch r.class() {
	case 1:
		return r.inputError(req, e)
	case 4:
		e.Code, e.Retry = fetch.ErrServer, true
		if r.Status == serverUnavailable || r.Status == slowDown {
			e.Code = fetch.ErrBusy
		}
		if wait, err := strconv.ParseInt(r.Text, 10, 64); r.Status == slowDown && err == nil && wait > 0 {
			e.RetryAfter = time.Duration(min(wait, maxDelay)) * time.Second
		}
	case 5:
		e.Code = fetch.ErrServer
		switch r.Status {
		case notFound, gone:
			e.Code = fetch.ErrNotFound
		case proxyRequestRefused, badRequest:
			e.Code = fetch.ErrRefused
		}
	case 6:
		e.Code, e.Reason = fetch.ErrAuth, fetch.Reason{Kind: fetch.ReasonIdentity, Host: req.URL.Host()}
		switch r.Status {
		case certificateRequired:
			e.Err = errors.New("the server requires a client certificate")
			e.Hint = "use a client certificate that the server accepts"
		case certificateNotAuthorized:
			e.Err = errors.New("the client certificate is not authorized")
			e.Hint = "use another client certificate"
		case certificateNotValid:
			e.Err = errors.New("the client certificate is not valid")
			e.Hint = "use another client certificate; the validity period of this one may be wrong"
		default:
			e.Err = errors.New("the server requires a different client certificate")
		}
	}
	return e
}

func (r *response) inputError(req *fetch.Request, e *fetch.Error) error {
	if r.Status == sensitiveInput {
		e.Code, e.Reason = fetch.ErrNeedForm, fetch.Reason{Kind: fetch.ReasonForm, Question: r.prompt()}
		field := fetch.Field{Name: r.prompt(), Kind: fetch.FieldSecret}
		e.Err = &fetch.FormError{Form: fetch.Form{Fields: []fetch.Field{field}}}
		e.Hint = "answer it"
		return e
	}
	e.Code = fetch.ErrNeedSearch
	if u, err := req.URL.WithSearch("words"); err == nil {
		e.Hint = "add the words after a question mark: " + u.Redacted()
	}
	return e
}
