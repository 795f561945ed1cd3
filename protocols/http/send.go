package http

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"golang.org/x/net/http/httpguts"

	"github.com/urlget/urlget/fetch/driver"
)

// methodOf returns the method of a request for content.
func methodOf(req *driver.Request) (string, error) {
	if req.Method == "" && (req.Body != nil || req.GetBody != nil) {
		return http.MethodPost, nil
	}
	method := cmp.Or(req.Method, http.MethodGet)
	switch {
	case !httpguts.ValidHeaderFieldName(method): // which is a token too
		return "", &driver.Error{Code: driver.ErrRequest, Err: errors.New("the method is no word of HTTP")}
	case method == http.MethodHead, method == http.MethodConnect, method == http.MethodTrace:
		return "", &driver.Error{Code: driver.ErrRequest, Err: fmt.Errorf("the method %s brings no content", method)}
	}
	return method, nil
}

// isSafe reports whether a method only asks (RFC 9110, section 9.2.1).
func isSafe(method string) bool {
	return slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodOptions}, method)
}

// isIdempotent reports whether to send a request twice is as good as once (RFC 9110, section
// 9.2.2).
func isIdempotent(method string) bool {
	return isSafe(method) || method == http.MethodPut || method == http.MethodDelete
}

// once takes the permission to try again from an error about the connection, if the server may have
// done already what the request says and must not do it twice. What the server answered stays as it
// is: it knows what it did.
func (t *target) once(err error) error {
	if isIdempotent(t.method) || t.unsent || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var own *driver.Error
	switch {
	case !errors.As(err, &own):
		code := driver.CodeOf(err)
		if code == "" && errors.Is(err, io.ErrUnexpectedEOF) {
			code = driver.ErrTruncated
		}
		return &driver.Error{Code: cmp.Or(code, driver.ErrNetwork), Err: err}
	case !own.Retry || !own.Reply.IsZero():
		return err
	}
	dup := *own
	dup.Retry = false
	return &dup
}

// reopen makes the body ready to be sent once more.
func (t *target) reopen(req *driver.Request) error {
	switch {
	case t.body == nil:
		return nil
	case req.GetBody == nil:
		return &driver.Error{Code: driver.ErrAuth, Err: errors.New("the login would need the content once more, which can be sent but once")}
	}
	body, err := req.GetBody()
	if err != nil {
		return &driver.Error{Code: driver.ErrFile, Err: err}
	}
	t.body = body
	return nil
}
