package ws

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"slices"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/httpauth"
	"github.com/urlget/urlget/protocols/internal/httphead"
)

// refused returns the error for a response that opens no WebSocket, or nil if there is a login to
// try next. Redirects are not followed, as in browsers.
func (d *opener) refused(ctx context.Context, h *handshake, resp *http.Response, body []byte) error {
	e := &fetch.Error{Reply: httphead.Reply(resp), Header: textproto.MIMEHeader(resp.Header), Body: body}
	switch code := resp.StatusCode; {
	case code == http.StatusUnauthorized:
		e.Code = fetch.ErrAuth
		return d.login(ctx, h, resp, e)
	case code/100 == 3:
		e.Code, e.Err = fetch.ErrRedirect, errors.New("the server redirects to another URL")
		if place, err := uri.ParseRef(resp.Header.Get("Location")); err == nil && !place.IsZero() {
			e.Err = fmt.Errorf("the server redirects to %s", place.Redacted())
		}
	case code/100 < 4:
		e.Code, e.Err = fetch.ErrRefused, errors.New("the server returned a page instead of a WebSocket")
		e.Hint = "check the path of the URL"
	case code == http.StatusNotFound, code == http.StatusGone:
		e.Code = fetch.ErrNotFound
	case code == http.StatusTooManyRequests, code == http.StatusServiceUnavailable:
		e.Code, e.Retry, e.RetryAfter = fetch.ErrBusy, true, httphead.RetryAfter(resp.Header)
	case code/100 == 5:
		e.Code, e.Retry = fetch.ErrServer, code == http.StatusBadGateway || code == http.StatusGatewayTimeout
	default:
		e.Code = fetch.ErrRefused
	}
	return e
}

// login returns nil if there is another login to try, and otherwise refusal.
func (d *opener) login(ctx context.Context, h *handshake, resp *http.Response, refusal *fetch.Error) error {
	if h.req.Header.Get("Authorization") != "" {
		return refusal
	}
	challenges := httpauth.Challenges(resp.Header.Values("Www-Authenticate"))
	basic := slices.IndexFunc(challenges, func(c httpauth.Challenge) bool { return c.Scheme == "basic" })
	if basic < 0 {
		refusal.Err = errors.New("the server offers no supported authentication scheme")
		return refusal
	}
	if h.logins++; h.logins > maxLogins {
		refusal.Err = errors.New("the user name or password was not accepted")
		return refusal
	}
	cred, err := d.env.Credential(ctx, fetch.Challenge{URL: h.req.URL, Mechanism: "basic",
		Realm: challenges[basic].Params["realm"], Attempt: h.logins})
	switch {
	case err == nil:
		h.header.Set("Authorization", httpauth.Basic(cred.User, cred.Password))
		return nil
	case !errors.Is(err, fetch.ErrAuth):
		return err
	case h.logins > 1:
		refusal.Err = errors.New("the user name or password was not accepted")
	default:
		refusal.Hint = "supply a user name and password"
	}
	return refusal
}
