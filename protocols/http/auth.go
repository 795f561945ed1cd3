package http

import (
	"context"
	"errors"
	"net/http"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/httpauth"
)

const maxAttempts = 4

// An authenticator responds to the challenges of one party: the server or the proxy.
type authenticator struct {
	driver         *opener
	status         int    // of a challenge: 401 or 407
	challengeField string // the field of the challenge
	loginField     string // the field of the response to it
	url            uri.URI
	foreign        bool   // another origin led here: logins are neither taken from nor added to the cache
	mechanism      string // for fetch.Challenge; "" selects the authentication scheme
	attempt        int
	login          *login   // in use; nil if none
	known          bool     // login is from the cache
	already        bool     // a login was not sent, because it was refused before
	unasked        bool     // a login was sent before a challenge
	trials         []func() // they end the trials of logins
}

// authenticators returns an authenticator for each party that may request a login. A cached login
// is sent with the first request.
func (d *opener) authenticators(ctx context.Context, req *fetch.Request, t *target) []*authenticator {
	var all []*authenticator
	if t.header.Get("Authorization") == "" && t.cookies != nil {
		x := new(struct { // one allocation
			authenticator
			all [2]*authenticator
		})
		a := &x.authenticator
		all = x.all[:0]
		*a = authenticator{
			driver: d, url: req.URL, foreign: d.env.Foreign(ctx), status: http.StatusUnauthorized,
			challengeField: "WWW-Authenticate", loginField: "Authorization",
		}
		if !a.foreign {
			a.login = d.logins.find(req.URL)
			a.known = a.login != nil
		}
		all = append(all, a)
	}
	if !t.proxy.IsZero() && t.header.Get("Proxy-Authorization") == "" {
		a := &authenticator{
			driver: d, url: t.proxy, mechanism: "proxy", status: http.StatusProxyAuthRequired,
			challengeField: "Proxy-Authenticate", loginField: "Proxy-Authorization",
		}
		if user, ok := t.proxy.User(); ok {
			password, _ := t.proxy.Password()
			a.login = &login{user: user, password: password}
		}
		if l := d.logins.find(t.proxy); l != nil {
			a.login, a.known = l, true
		}
		all = append(all, a)
	}
	return all
}

// claimUnasked removes logins that were refused before from those to send before a challenge.
func claimUnasked(ctx context.Context, auth []*authenticator, t *target) error {
	for _, a := range auth {
		if a.login == nil || a.known {
			continue
		}
		if ok, err := a.try(ctx, a.login, "", t); err != nil {
			return err
		} else if a.unasked = ok; !ok {
			a.login = nil
		}
	}
	return nil
}

// try reports whether a login may be sent: it was not refused before. It waits for the result of other
// requests with that login.
func (a *authenticator) try(ctx context.Context, l *login, realm string, t *target) (bool, error) {
	refused, end, err := a.driver.tried.Try(ctx, a.claim(l, realm))
	if err != nil {
		return false, err
	}
	a.already = refused
	if a.trials = append(a.trials, end); t.body != nil {
		a.endTrials() // an upload takes long
	}
	return !refused, nil
}

func (a *authenticator) endTrials() {
	for _, end := range a.trials {
		end()
	}
	a.trials = nil
}

func (a *authenticator) claim(l *login, realm string) driver.Login {
	return driver.Login{Origin: a.url.Origin(), Foreign: a.foreign, Realm: realm,
		User: l.user, Password: l.password}
}

// logInUnasked takes logins for servers that have not asked, if Options.Unasked is set.
func (d *opener) logInUnasked(ctx context.Context, auth []*authenticator) error {
	for _, a := range auth {
		if !d.Unasked || a.login != nil || a.foreign || a.mechanism != "" {
			continue
		}
		cred, err := d.env.Credential(ctx, fetch.Challenge{URL: a.url, Mechanism: "basic",
			Attempt: 1, Unasked: true})
		switch {
		case err == nil:
			a.login = &login{user: cred.User, password: cred.Password}
		case !errors.Is(err, fetch.ErrAuth):
			return err
		}
	}
	return nil
}

func (a *authenticator) sign(r *http.Request) error {
	value, err := a.login.authorization(r)
	if err != nil {
		return &fetch.Error{Code: fetch.ErrAuth, Err: err}
	}
	r.Header.Set(a.loginField, value)
	return nil
}

// challenged reports whether the response requests a login and one was found. The request is then
// sent again. If no login was found, it returns an error.
func (ex *exchange) challenged(ctx context.Context, auth []*authenticator) (bool, error) {
	for _, a := range auth {
		if a.status != ex.resp.StatusCode {
			if a.login != nil && !a.foreign && ex.resp.StatusCode < 400 {
				a.driver.logins.keep(a.url, a.login)
			}
			if code := ex.resp.StatusCode; a.login != nil && code < 500 &&
				(code < 400 || a.mechanism != "" || a.login.realm != "") {
				a.driver.tried.Record(a.claim(a.login, a.login.realm), true)
			}
			a.endTrials()
			continue
		}
		if err := a.respond(ctx, ex); err != nil {
			return false, err
		}
		return true, nil
	}
	return false, nil
}

func (a *authenticator) respond(ctx context.Context, ex *exchange) error {
	ch, chal := choose(httpauth.Challenges(ex.resp.Header.Values(a.challengeField)))
	if ch == nil {
		return ex.fail(fetch.ErrAuth, "the server offers no supported authentication scheme")
	}
	old := a.login
	if old != nil && chal != nil && (old.digest == nil || chal.Stale) && a.attempt < maxAttempts {
		// The login may be right: it was sent to the proxy before a challenge, or the nonce is
		// stale.
		a.attempt++
		ok := old.digest != nil // the trial goes on
		if !ok {
			var err error
			if ok, err = a.try(ctx, old, chal.Realm, ex.target); err != nil {
				return err
			}
		}
		if ok {
			a.login = &login{user: old.user, password: old.password, realm: chal.Realm, digest: chal}
			return nil
		}
	}
	if old != nil && a.known {
		a.driver.logins.forget(a.url, old)
		a.known = false
		if old.digest != nil || old.realm != ch.Params["realm"] {
			old = nil // the nonce or the realm may have been wrong, not the password
		}
	} else if old != nil && a.mechanism != "" && a.attempt == 0 {
		a.attempt = 1 // the credentials in the proxy URL were refused
	}
	if old != nil && (chal == nil || !chal.Stale) {
		a.driver.tried.Record(a.claim(old, ch.Params["realm"]), false)
		if a.unasked {
			a.driver.tried.Record(a.claim(old, ""), false)
		}
		a.endTrials()
	}
	mechanism := a.mechanism
	if mechanism == "" {
		mechanism = ch.Scheme
	}
	for a.attempt < maxAttempts {
		a.attempt++
		cred, err := a.driver.env.Credential(ctx, fetch.Challenge{URL: a.url, Mechanism: mechanism,
			Realm: ch.Params["realm"], Attempt: a.attempt})
		if err != nil {
			return a.missing(ex, err)
		}
		if old != nil && old.user == cred.User && old.password == cred.Password {
			continue // it was just refused
		}
		l := &login{user: cred.User, password: cred.Password, realm: ch.Params["realm"], digest: chal}
		if ok, err := a.try(ctx, l, l.realm, ex.target); err != nil {
			return err
		} else if ok {
			a.login = l
			return nil
		}
	}
	return a.missing(ex, fetch.ErrAuth)
}

func (a *authenticator) missing(ex *exchange, err error) error {
	if !errors.Is(err, fetch.ErrAuth) {
		return err
	}
	e := ex.fail(fetch.ErrAuth, "")
	switch {
	case a.already:
		e.Err = errors.New("the user name or password was already refused")
	case a.login != nil:
		e.Err = errors.New("the user name or password was not accepted")
	case a.mechanism != "":
		e.Hint = "add the user name and password to the proxy URL"
	default:
		e.Hint = "supply a user name and password"
	}
	return e
}

// choose returns the best supported challenge: Digest before Basic, which reveals the password. Of
// several Digest challenges, the server's first one counts (RFC 7616, section 3.7).
func choose(all []httpauth.Challenge) (*httpauth.Challenge, *httpauth.Digest) {
	var basic *httpauth.Challenge
	for i, c := range all {
		if d := httpauth.NewDigest(c); d != nil {
			return &all[i], d
		}
		if c.Scheme == "basic" && basic == nil {
			basic = &all[i]
		}
	}
	return basic, nil
}
