package http

import (
	"context"
	"net/http"
	"net/textproto"
	"slices"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/httpauth"
)

func (d *opener) Variant(ctx context.Context, req *fetch.Request, withLogin bool) (*fetch.Variant, error) {
	t, err := d.newTarget(ctx, req, http.MethodGet)
	if err != nil {
		return nil, err
	}
	auth := d.authenticators(ctx, req, t)
	if err := d.logInUnasked(ctx, auth); err != nil {
		return nil, err
	}
	for _, a := range auth {
		if a.login != nil || a.status != http.StatusUnauthorized || !withLogin {
			continue
		}
		cred, err := d.env.Credential(ctx, fetch.Challenge{URL: a.url, Mechanism: "basic", Attempt: 1})
		if err != nil {
			return nil, err
		}
		a.login = &login{user: cred.User, password: cred.Password}
	}
	r := &http.Request{}
	if err := d.request(ctx, r, req, t, nil); err != nil {
		return nil, err
	}
	return d.variant(r, req, auth), nil
}

// variant returns the variant of a request. Its login are the secret fields and the client certificate,
// but not the cookies that servers set in this run, if the program has no jar of its own: each run has
// others.
func (d *opener) variant(r *http.Request, req *fetch.Request, auth []*authenticator) *fetch.Variant {
	h := textproto.MIMEHeader(r.Header.Clone())
	h.Del("Proxy-Authorization")
	h.Set("Host", r.Host)
	for _, a := range auth {
		if l := a.login; l != nil && a.status == http.StatusUnauthorized { // that of Digest is never the same
			h.Set("Authorization", httpauth.Basic(l.user, l.password))
		}
	}
	given := textproto.MIMEHeader{}
	for name, values := range req.Header {
		given[textproto.CanonicalMIMEHeaderKey(name)] = values
	}
	var names []string
	for name := range h {
		secret := fetch.IsSecretField(name) && (name != "Cookie" || d.ownJar || given["Cookie"] != nil)
		if secret || name == "Host" && given["Host"] != nil {
			names = append(names, name)
		}
	}
	if r.URL.Scheme == "https" {
		for _, c := range d.env.TLSConfig(r.Context(), r.URL.Hostname()).Certificates {
			h.Add("Client-Cert", string(slices.Concat(c.Certificate...))) // the name is that of RFC 9440
			names = append(names, "Client-Cert")
		}
	}
	return fetch.NewVariant(h, names)
}
