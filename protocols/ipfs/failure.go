package ipfs

import (
	"errors"
	"fmt"

	"github.com/urlget/urlget/fetch"
)

func unsupported(format string, args ...any) error {
	return fetch.ErrNotRetrievable.Errorf(format, args...)
}

// damaged returns the error for data of the gateway that does not match its name.
func damaged(format string, args ...any) error {
	return fetch.ErrProtocol.Errorf(format, args...)
}

// malformed returns the error for a verified block that its author did not encode correctly.
func malformed(id cid, err error) error {
	return fetch.ErrProtocol.Errorf("block %s: %w", id, err)
}

// gatewayError returns the error for a request to the gateway for what.
func gatewayError(what string, err error) error {
	var e *fetch.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("%s: %w", what, err)
	}
	dup := &fetch.Error{Code: e.Code, Reply: e.Reply, Retry: e.Retry, RetryAfter: e.RetryAfter,
		Reason: e.Reason, Hint: e.Hint, Err: errors.New(what)}
	if e.Err != nil {
		dup.Err = fmt.Errorf("%s: %w", what, e.Err)
	}
	if e.Code == fetch.ErrAuth {
		dup.Reason, dup.Hint = fetch.Reason{}, "put the user and the password into the URL of the gateway"
	}
	return dup
}
