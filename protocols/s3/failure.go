package s3

import (
	"errors"
	"net/textproto"

	"github.com/urlget/urlget/fetch"
)

// classOf returns the class of a code that a status of HTTP does not determine, or "" ("Error responses" in
// the Amazon S3 API Reference).
func classOf(code string) fetch.Code {
	switch code {
	case "NoSuchKey", "NoSuchBucket", "NoSuchVersion":
		return fetch.ErrNotFound
	case "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken",
		"TokenRefreshRequired", "RequestTimeTooSkewed", "AuthorizationHeaderMalformed",
		"MissingSecurityHeader", "AccountProblem", "NotSignedUp":
		return fetch.ErrAuth
	case "SlowDown", "ServiceUnavailable", "RequestTimeout", "RequestLimitExceeded", "TooManyRequests",
		"Busy":
		return fetch.ErrBusy
	case "InternalError":
		return fetch.ErrServer
	}
	return ""
}

const maxMessage = 400 // bytes

// failure adds the words of the store to an error of HTTP.
func (x *exchange) failure(err error) error {
	var own *fetch.Error
	if !errors.As(err, &own) || own.Reply.Code < 300 {
		return err
	}
	e := *own
	f, ok := readRefusal(string(e.Body))
	if ok {
		e.Reply.Text = f.code
		if f.message != "" {
			e.Reply.Text += ": " + f.message[:min(len(f.message), maxMessage)]
		}
	}
	if code := classOf(f.code); code != "" {
		e.Code = code
		e.Retry = e.Retry || code == fetch.ErrBusy || code == fetch.ErrServer
	}
	signed := x.place.key.ID != ""
	switch {
	case !signed && e.Reply.Code == 403 && e.Code == fetch.ErrRefused && (!ok || f.code == "AccessDenied"):
		e.Code, e.Hint = fetch.ErrAuth, "the request had no access key: see \"s3\" in docs/schemes.md"
	case f.code == "RequestTimeTooSkewed":
		e.Hint = "set the clock of this machine"
	case e.Code == fetch.ErrAuth:
		e.Hint = "check the access key of " + x.place.source
	}
	if f.code == "SignatureDoesNotMatch" {
		e.Body = nil // repeats the signed fields, which may have a session token
	}
	return &e
}

// regionOf returns the region that the store names for the bucket, or "".
func regionOf(resp *fetch.Response, err error) string {
	var h textproto.MIMEHeader
	var e *fetch.Error
	region := ""
	switch {
	case err == nil:
		h = resp.Header
	case errors.As(err, &e):
		h = e.Header
		if f, ok := readRefusal(string(e.Body)); ok && f.code == "AuthorizationHeaderMalformed" {
			region = f.region
		}
	}
	if name := h.Get("X-Amz-Bucket-Region"); name != "" {
		region = name
	}
	if !isRegion(region) {
		return ""
	}
	return region
}
