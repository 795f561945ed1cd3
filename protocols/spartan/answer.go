package spartan

import (
	"errors"
	"strings"

	"github.com/urlget/urlget/fetch/driver"
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

// headers are what answers begin with.
var headers = smallnet.Form{Protocol: "Spartan", Lowest: success, Highest: serverError}

type answer struct{ smallnet.Answer }

// response returns the answer as a response, or an error.
func (a *answer) response(req *driver.Request) (*driver.Response, error) {
	switch a.Status {
	case success:
		return a.Success(req, smallnet.Page{Base: req.URL, Prompts: true})
	case redirect:
		to, err := uri.ParseRef(a.Text)
		// A server redirects within itself, so there is no host in it.
		if err != nil || !strings.HasPrefix(a.Text, "/") || strings.HasPrefix(a.Text, "//") {
			return nil, &driver.Error{Code: driver.ErrRedirect, Reply: a.Reply(), Err: errors.New("the server redirects to what is no path of its own")}
		}
		resp := &driver.Response{Location: []uri.URI{to}, Body: driver.NoBody}
		resp.Reply = a.Reply()
		return resp, nil
	case serverError:
		return nil, &driver.Error{Code: driver.ErrServer, Retry: true, Reply: a.Reply()}
	}
	return nil, &driver.Error{Code: refusal(a.Text), Reply: a.Reply()}
}

// absent are words by which servers say that there is no such thing: the protocol has one status for
// all that is wrong with a request.
var absent = []string{"not found", "not exist", "no such", "nothing here", "nonexist", "no route", "gone"}

func refusal(text string) driver.Code {
	text = strings.ToLower(text)
	for _, words := range absent {
		if strings.Contains(text, words) {
			return driver.ErrNotFound
		}
	}
	return driver.ErrRefused
}
