package http

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/textproto"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/protocols/internal/sigv4"
)

// sign signs a request as Options.AWSSigV4 says, if there is a login for its server.
func (d *opener) sign(ctx context.Context, req *fetch.Request, t *target) error {
	if d.AWSSigV4 == "" || req.Relay || t.cookies == nil || t.header.Get("Authorization") != "" {
		return nil
	}
	scope, err := sigv4.Parse(d.AWSSigV4)
	if err == nil {
		scope, err = scope.At(req.URL.Host())
	}
	if err != nil {
		return &fetch.Error{Code: fetch.ErrRequest, Err: err}
	}
	cred, err := d.env.Credential(ctx, fetch.Challenge{URL: req.URL, Mechanism: "aws4-hmac-sha256",
		Attempt: 1, Unasked: true})
	if errors.Is(err, fetch.ErrAuth) {
		return nil
	}
	if err != nil {
		return err
	}
	payload, err := payloadOf(req, t, scope)
	if err != nil {
		return err
	}
	query, _ := req.URL.Query()
	scope.Sign(sigv4.Request{Method: t.method, Host: t.host, Path: req.URL.Path(), Query: query,
		Payload: payload, Header: textproto.MIMEHeader(t.header)},
		sigv4.Key{ID: cred.User, Secret: cred.Password}, time.Now())
	return nil
}

// payloadOf returns the digest of the body. S3 accepts uploads without it, except from forms.
func payloadOf(req *fetch.Request, t *target, scope sigv4.Scope) (string, error) {
	switch {
	case t.body == nil:
		return sigv4.Empty, nil
	case scope.Service == sigv4.S3 && (t.method != http.MethodPost || req.GetBody == nil):
		return sigv4.Unsigned, nil
	case req.GetBody == nil:
		return "", &fetch.Error{Code: fetch.ErrRequest,
			Err: errors.New("the signature covers the body, which can be read only once")}
	}
	body, err := req.GetBody()
	if err != nil {
		return "", &fetch.Error{Code: fetch.ErrFile, Err: err}
	}
	defer body.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, body); err != nil {
		return "", &fetch.Error{Code: fetch.ErrFile, Err: err}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
