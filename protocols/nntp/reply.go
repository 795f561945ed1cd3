package nntp

import (
	"errors"

	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/driver/wire"
)

// Reply codes of RFC 3977 (appendix C), RFC 4642 and RFC 4643 that the driver handles specially.
const (
	replyCapabilities  = 101
	replyPosting       = 200
	replyNoPosting     = 201
	replyGroup         = 211
	replyList          = 215
	replyArticle       = 220
	replyHead          = 221
	replyOverview      = 224
	replyLoggedIn      = 281
	replyPassword      = 381
	replyStartTLS      = 382
	replySASLContinue  = 383
	replyDiscontinued  = 400
	replyNoArticles    = 420
	replyNoNumber      = 423
	replyNoArticle     = 430
	replyLoginRequired = 480
	replyTLSRequired   = 483
	replyUnknown       = 500
	replySyntax        = 501
	replyUnavailable   = 503
)

// failure returns the error for a negative reply.
func failure(desc string, r wire.Reply) *driver.Error {
	e := &driver.Error{Reply: driver.Reply{Code: r.Code, Text: r.Text()}}
	if desc != "" {
		e.Err = errors.New(desc)
	}
	switch r.Code {
	case replyDiscontinued, 403:
		e.Code, e.Retry = driver.ErrBusy, true
	case 411, 412, 420, 421, 422, 423, 430:
		e.Code = driver.ErrNotFound
	case 480, 481, 482:
		e.Code = driver.ErrAuth
	case 483:
		e.Code = driver.ErrTLS
	case 502:
		e.Code = driver.ErrRefused
	case 500, 501, 503, 504:
		e.Code = driver.ErrServer
	default:
		switch {
		case r.Code >= 500:
			e.Code = driver.ErrServer
		case r.Code >= 400:
			e.Code, e.Retry = driver.ErrServer, true
		default:
			e.Code = driver.ErrProtocol
		}
	}
	return e
}

// replyCode returns the code of the reply that caused err, or 0.
func replyCode(err error) int {
	var e *driver.Error
	if errors.As(err, &e) {
		return e.Reply.Code
	}
	return 0
}

// unsupported reports whether the reply code means that the server does not support a command or one
// of its arguments.
func unsupported(code int) bool {
	return code == replyUnknown || code == replySyntax || code == replyUnavailable
}
