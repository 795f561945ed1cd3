package http

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/icholy/digest"

	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/uri"
)

// maxAttempts bounds the answers to challenges in one exchange.
const maxAttempts = 4

// An authenticator answers the challenges of one party: the server or the proxy.
type authenticator struct {
	driver    *opener
	status    int    // that asks
	challenge string // the field that asks
	answer    string // the field that answers
	url       uri.URI
	foreign   bool   // its login is neither remembered nor one that is
	mechanism string // for the Challenge; "" means the scheme's name
	attempt   int
	login     *login // in use; nil if none
	known     bool   // login is from an earlier exchange
}

// authenticators returns an authenticator for each party that may ask for a login. The login of an
// earlier exchange is sent from the start where it applies.
func (d *opener) authenticators(ctx context.Context, req *driver.Request, t *target) []*authenticator {
	var all []*authenticator
	if t.header.Get("Authorization") == "" && t.cookies != nil {
		a := &authenticator{driver: d, status: http.StatusUnauthorized, challenge: "WWW-Authenticate",
			answer: "Authorization", url: req.URL, foreign: d.env.Foreign(ctx)}
		if !a.foreign {
			a.login = d.logins.find(req.URL)
			a.known = a.login != nil
		}
		all = append(all, a)
	}
	if !t.proxy.IsZero() && t.header.Get("Proxy-Authorization") == "" {
		a := &authenticator{driver: d, status: http.StatusProxyAuthRequired, challenge: "Proxy-Authenticate",
			answer: "Proxy-Authorization", url: t.proxy, mechanism: "proxy"}
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

// sign adds the answer to a request.
func (a *authenticator) sign(r *http.Request) error {
	if a.login == nil {
		return nil
	}
	value, err := a.login.answer(r)
	if err != nil {
		return &driver.Error{Code: driver.ErrAuth, Err: err}
	}
	r.Header.Set(a.answer, value)
	return nil
}

// challenged reports whether the answer asks for a login, and one was found, so that the request
// should be sent again. The error says that there is none.
func (ex *exchange) challenged(ctx context.Context, auth []*authenticator) (bool, error) {
	for _, a := range auth {
		if a.status != ex.resp.StatusCode {
			if a.login != nil && !a.foreign && ex.resp.StatusCode < 400 {
				a.driver.logins.keep(a.url, a.login)
			}
			continue
		}
		if err := a.respond(ctx, ex); err != nil {
			return false, err
		}
		return true, nil
	}
	return false, nil
}

// respond finds the login that answers the challenges.
func (a *authenticator) respond(ctx context.Context, ex *exchange) error {
	ch, chal := choose(parseChallenges(ex.resp.Header.Values(a.challenge)))
	if ch == nil {
		return ex.fail(driver.ErrAuth, "no authentication scheme that is known was offered")
	}
	old := a.login
	if old != nil && chal != nil && (old.digest == nil || chal.Stale) && a.attempt < maxAttempts {
		// The login may be right: the proxy's was sent before a challenge, or the nonce is too old.
		a.attempt++
		a.login = &login{user: old.user, password: old.password, realm: chal.Realm, digest: chal}
		return nil
	}
	if old != nil && a.known {
		a.driver.logins.forget(a.url, old)
		a.known = false
		if old.digest != nil || old.realm != ch.params["realm"] {
			old = nil // the nonce or the realm may have been wrong, not the password
		}
	} else if old != nil && a.mechanism != "" && a.attempt == 0 {
		a.attempt = 1 // what the proxy's URL holds was refused
	}
	mechanism := a.mechanism
	if mechanism == "" {
		mechanism = ch.scheme
	}
	for a.attempt < maxAttempts {
		a.attempt++
		cred, err := a.driver.env.Credential(ctx, driver.Challenge{URL: a.url, Mechanism: mechanism,
			Realm: ch.params["realm"], Attempt: a.attempt})
		if err != nil {
			return a.missing(ex, err)
		}
		if old != nil && old.user == cred.User && old.password == cred.Password {
			continue // it was just refused
		}
		a.login = &login{user: cred.User, password: cred.Password, realm: ch.params["realm"], digest: chal}
		return nil
	}
	return a.missing(ex, driver.ErrAuth)
}

// missing says that there is no login, or no other one.
func (a *authenticator) missing(ex *exchange, err error) error {
	if !errors.Is(err, driver.ErrAuth) {
		return err
	}
	e := ex.fail(driver.ErrAuth, "")
	switch {
	case a.login != nil:
		e.Err = errors.New("the user name or password was not accepted")
	case a.mechanism != "":
		e.Hint = "put user and password into the proxy's URL"
	default:
		e.Hint = "give a user name and password"
	}
	return e
}

// choose returns the best challenge that can be answered: Digest before Basic, which reveals the
// password. Of several Digest challenges the server's first counts (RFC 7616, section 3.7).
func choose(all []challenge) (*challenge, *digest.Challenge) {
	var basic *challenge
	for i, c := range all {
		switch c.scheme {
		case "digest":
			if d := digestChallenge(c); digest.CanDigest(d) {
				return &all[i], d
			}
		case "basic":
			if basic == nil {
				basic = &all[i]
			}
		}
	}
	return basic, nil
}

func digestChallenge(c challenge) *digest.Challenge {
	d := &digest.Challenge{
		Realm:     c.params["realm"],
		Nonce:     c.params["nonce"],
		Opaque:    c.params["opaque"],
		Algorithm: c.params["algorithm"],
		Charset:   c.params["charset"],
		Stale:     strings.EqualFold(c.params["stale"], "true"),
		Userhash:  strings.EqualFold(c.params["userhash"], "true"),
	}
	for q := range strings.SplitSeq(c.params["qop"], ",") {
		if q = strings.ToLower(strings.TrimSpace(q)); q != "" {
			d.QOP = append(d.QOP, q)
		}
	}
	return d
}
