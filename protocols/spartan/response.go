package spartan

import (
	"errors"
	"slices"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols/internal/smallnet"
)

// The statuses.
const (
	success     = 2
	redirect    = 3
	clientError = 4
	serverError = 5
)

var headerFormat = smallnet.HeaderFormat{Protocol: "Spartan", Lowest: success, Highest: serverError}

type response struct {
	smallnet.Response
	schemes *fetch.Registry
}

func (r *response) interpret(req *fetch.Request) (*fetch.Response, error) {
	switch r.Status {
	case success:
		return r.Success(req, smallnet.Page{Base: req.URL, Schemes: r.schemes, Prompts: true})
	case redirect:
		to, err := uri.ParseRef(r.Text)
		// Redirects stay on the server, so the target has no host.
		if err != nil || !strings.HasPrefix(r.Text, "/") || strings.HasPrefix(r.Text, "//") {
			return nil, &fetch.Error{Code: fetch.ErrRedirect, Reply: r.Reply(),
				Err: errors.New("the server redirects to an invalid path")}
		}
		resp := &fetch.Response{Location: []uri.URI{to}, Body: fetch.NoBody}
		resp.Reply = r.Reply()
		return resp, nil
	case serverError:
		return nil, &fetch.Error{Code: fetch.ErrServer, Retry: true, Reply: r.Reply()}
	}
	return nil, &fetch.Error{Code: refusal(r.Text), Reply: r.Reply()}
}

// absent lists phrases for a missing resource. The protocol has one status for all errors of a
// request.
var absent = []string{"not found", "not exist", "no such", "nothing here", "nonexist", "no route", "gone"}

func refusal(text string) fetch.Code {
	text = strings.ToLower(text)
	if slices.ContainsFunc(absent, func(words string) bool { return strings.Contains(text, words) }) {
		return fetch.ErrNotFound
	}
	return fetch.ErrRefused
}
