package nntp

import (
	"errors"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
)

// Reply codes of RFC 3977 (appendix C), RFC 4642 and RFC 4643.
const (
	replyCapabilities  = 101 // capability list follows
	replyPosting       = 200 // service available, posting allowed
	replyNoPosting     = 201 // service available, posting prohibited
	replyGroup         = 211 // group selected
	replyList          = 215 // information follows
	replyArticle       = 220 // article follows
	replyHead          = 221 // headers follow
	replyOverview      = 224 // overview information follows
	replyLoggedIn      = 281 // authentication accepted
	replyPassword      = 381 // password required
	replyStartTLS      = 382 // continue with TLS negotiation
	replySASLContinue  = 383 // continue with SASL exchange
	replyDiscontinued  = 400 // service not available or no longer available
	replyInternalFault = 403 // internal fault
	replyNoSuchGroup   = 411 // no such newsgroup
	replyNoGroup       = 412 // no newsgroup selected
	replyNoArticles    = 420 // current article number is invalid
	replyNoNext        = 421 // no next article
	replyNoPrevious    = 422 // no previous article
	replyNoNumber      = 423 // no article with that number or in that range
	replyNoArticle     = 430 // no article with that message-id
	replyLoginRequired = 480 // authentication required
	replyLoginFailed   = 481 // authentication failed
	replyLoginSequence = 482 // authentication commands out of sequence
	replyTLSRequired   = 483 // encryption required
	replyUnknown       = 500 // unknown command
	replySyntax        = 501 // syntax error
	replyNotPermitted  = 502 // command or service not permitted
	replyNotSupported  = 503 // feature not supported
)

// codes are the classes of replies. Of others, the first digit decides.
var codes = map[int]fetch.Code{
	replyDiscontinued: fetch.ErrBusy, replyInternalFault: fetch.ErrBusy,
	replyNoSuchGroup: fetch.ErrNotFound, replyNoGroup: fetch.ErrNotFound, replyNoArticles: fetch.ErrNotFound,
	replyNoNext: fetch.ErrNotFound, replyNoPrevious: fetch.ErrNotFound, replyNoNumber: fetch.ErrNotFound,
	replyNoArticle: fetch.ErrNotFound, replyLoginRequired: fetch.ErrAuth, replyLoginFailed: fetch.ErrAuth,
	replyLoginSequence: fetch.ErrAuth, replyTLSRequired: fetch.ErrTLS, replyNotPermitted: fetch.ErrRefused,
}

func failure(desc string, r wire.Reply) *fetch.Error {
	e := &fetch.Error{Code: codes[r.Code], Reply: fetch.Reply{Code: r.Code, Text: r.Text()}}
	if desc != "" {
		e.Err = errors.New(desc)
	}
	switch {
	case e.Code != "":
		e.Retry = e.Code == fetch.ErrBusy
	case r.Code < 400:
		e.Code = fetch.ErrProtocol
	default:
		e.Code, e.Retry = fetch.ErrServer, r.Code < 500
	}
	return e
}

func replyCode(err error) int {
	var e *fetch.Error
	if errors.As(err, &e) {
		return e.Reply.Code
	}
	return 0
}

// The command or one of its arguments may be unsupported.
func unsupported(code int) bool {
	return code == replyUnknown || code == replySyntax || code == replyNotSupported
}
