package http

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"golang.org/x/net/http/httpguts"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/protocols/internal/httphead"
)

func methodOf(req *fetch.Request) (string, error) {
	if req.Method == "" && (req.Body != nil || req.GetBody != nil) {
		return http.MethodPost, nil
	}
	method := cmp.Or(req.Method, http.MethodGet)
	switch {
	// The rule is that of tokens too.
	case !httpguts.ValidHeaderFieldName(method):
		return "", &fetch.Error{Code: fetch.ErrRequest, Err: errors.New("the method is not a valid token")}
	case method == http.MethodHead, method == http.MethodConnect, method == http.MethodTrace && !req.Relay:
		return "", &fetch.Error{Code: fetch.ErrRequest,
			Err: fmt.Errorf("the method %s is not supported", method)}
	}
	return method, nil
}

// isRepeatable reports whether a request may reach the server twice within one attempt. As in
// net/http, that is narrower than isIdempotent, and includes a request with an idempotency key.
func isRepeatable(req *http.Request) bool {
	return httphead.IsSafe(req.Method) ||
		req.Header["Idempotency-Key"] != nil || req.Header["X-Idempotency-Key"] != nil
}

// isIdempotent is the rule of RFC 9110, section 9.2.2.
func isIdempotent(method string) bool {
	return httphead.IsSafe(method) || method == http.MethodPut || method == http.MethodDelete
}

// clearRetry clears Retry in an error about the connection, if the server may have performed a request
// that is not idempotent. Errors with a status are not changed: the server has reported the outcome.
func (t *target) clearRetry(err error) error {
	if isIdempotent(t.method) || t.unsent ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var own *fetch.Error
	switch {
	case !errors.As(err, &own):
		code := fetch.CodeOf(err)
		if code == "" && errors.Is(err, io.ErrUnexpectedEOF) {
			code = fetch.ErrTruncated
		}
		return &fetch.Error{Code: cmp.Or(code, fetch.ErrNetwork), Err: err}
	case !own.Retry || !own.Reply.IsZero():
		return err
	}
	dup := *own
	dup.Retry = false
	return &dup
}

func (t *target) reopen(req *fetch.Request) error {
	switch {
	case t.body == nil:
		return nil
	case req.GetBody == nil:
		return &fetch.Error{Code: fetch.ErrAuth,
			Err: errors.New("the server requires a login, but the request body can be sent only once")}
	}
	body, err := req.GetBody()
	if err != nil {
		return &fetch.Error{Code: fetch.ErrFile, Err: err}
	}
	t.body = body
	return nil
}
